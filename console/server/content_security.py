"""Content security: a browser loads only content from this server, so an agent's text cannot contact other servers."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from importlib.resources import files

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HOST = re.compile(r"[\w.-]+(:\d+)?|\[[0-9a-fA-F:.]+\](:\d+)?")


class SafeHeaders:
    """ASGI middleware that adds the security headers to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        # Computed from the installed page, so that an upgrade of Streamlit keeps its own script allowed.
        page = files("streamlit").joinpath("static", "index.html").read_text("utf-8")
        self._hashes = inline_script_hashes(page)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request and add the headers to its response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        policy = content_policy(self._hashes, Headers(scope=scope).get("host", ""))

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                # A page may set a stricter policy, as the sign-in does.
                headers.setdefault("Content-Security-Policy", policy)
                headers["X-Content-Type-Options"] = "nosniff"
                headers.setdefault("Referrer-Policy", "no-referrer")
            await send(message)

        await self._app(scope, receive, send_safely)


def content_policy(hashes: list[str], host: str) -> str:
    """Return the Content-Security-Policy for a page that the browser requested from this host."""
    sockets = f" ws://{host} wss://{host}" if _HOST.fullmatch(host) else ""
    scripts = " ".join(f"'sha256-{found}'" for found in hashes)
    return "; ".join(
        (
            "default-src 'self'",
            # Streamlit loads the script of a component from a blob of its own, and reads its messages in WebAssembly.
            f"script-src 'self' blob: 'wasm-unsafe-eval' {scripts}".rstrip(),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            # Some browsers do not count the page's own websocket as 'self'.
            f"connect-src 'self'{sockets}",
            "worker-src 'self' blob:",
            "frame-ancestors 'none'",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
        )
    )


def inline_script_hashes(page: str) -> list[str]:
    """Return the SHA-256 (base64) of every inline script of the page."""
    reader = _InlineScripts()
    reader.feed(page)
    return [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in reader.scripts]


class _InlineScripts(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.scripts: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag == "script" and "src" not in dict(attrs)

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.scripts.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._inside = False
