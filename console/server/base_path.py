"""The path before all of the console's addresses, from the public URL: https://example.com/inferact."""

from __future__ import annotations

import re
from contextvars import ContextVar

from starlette.datastructures import MutableHeaders
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from console.server.site import Site

_COOKIE_PATH = re.compile(r"(;\s*path=)/", re.IGNORECASE)
_present: ContextVar[str] = ContextVar("base_path", default="")


def base_path() -> str:
    """Return the path before the console's addresses in the request being answered, or an empty text."""
    return _present.get()


class BasePath:
    """ASGI middleware that removes the site's path from requests, and adds the path to redirects and cookies.

    Requests without the path are answered too, for a proxy that removes the path itself, and for health checks.
    """

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app, self._path = app, site.path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request without the site's path."""
        if not self._path or scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        if scope["type"] == "http" and scope["path"] == self._path:
            # Relative addresses of the page need the slash.
            await RedirectResponse(f"{self._path}/")(scope, receive, send)
            return
        if scope["path"].startswith(f"{self._path}/"):
            raw = scope.get("raw_path") or scope["path"].encode()
            scope = {
                **scope,
                "path": scope["path"].removeprefix(self._path),
                "raw_path": raw.removeprefix(self._path.encode()),
            }

        async def send_with_path(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._add_path(MutableHeaders(scope=message))
            await send(message)

        token = _present.set(self._path)
        try:
            await self._app(scope, receive, send_with_path)
        finally:
            _present.reset(token)

    def _add_path(self, headers: MutableHeaders) -> None:
        to = headers.get("location", "")
        if to.startswith("/") and not to.startswith("//"):
            headers["location"] = f"{self._path}{to}"
        cookies = headers.getlist("set-cookie")
        if cookies:
            del headers["set-cookie"]
            for cookie in cookies:
                headers.append("set-cookie", _COOKIE_PATH.sub(rf"\g<1>{self._path}/", cookie, count=1))
