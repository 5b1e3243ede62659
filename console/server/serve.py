"""The server process: one ASGI app with the console's pages, the sign-in and the API; every setting is explicit.

Streamlit, the API and the pages are imported only when the app is built, because other commands only need an address.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import socket
import tomllib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.middleware import Middleware

from console.auth.agents import settings_token
from console.auth.audit_log import By, Door, acting
from console.auth.kept_secrets import load_secret
from console.database import database_url
from console.errors import Refused
from console.server import log_lines, shutdown
from console.server.site import Site, publish_address

if TYPE_CHECKING:
    from streamlit import App

_ROOT = Path(__file__).resolve().parents[1]
_SECRET = re.compile(r"(?P<before>/invite/|[?&](?:key|invitation)=|Bearer )[\w.-]+|agent_[\w-]{16,}")
_PING_S = 30
_LAST_ANSWERS_S = 5
_WARM = ("console.web.review.actions", "console.web.sign_in", "console.web.runs.forms", "pandas", "pyarrow")
"""Modules that the first page would otherwise import while a user waits."""


def app_file() -> Path:
    """Return the path of the app beside the package, in a checkout or in an installed wheel."""
    return _ROOT.parent / "streamlit_app.py"


def config() -> dict[str, Any]:
    """Return the console's Streamlit config; in a wheel, the config is inside the package."""
    packaged = _ROOT / "streamlit_config.toml"
    path = packaged if packaged.exists() else _ROOT.parent / ".streamlit" / "config.toml"
    return tomllib.loads(path.read_text())


def options(site: Site) -> dict[str, Any]:
    """Return every Streamlit setting by its full name, so that the environment cannot change any setting."""
    pinned = {
        "server.address": site.host,
        "server.port": site.port,
        "server.allowedHosts": sorted(site.names),
        "server.corsAllowedOrigins": [],
        "server.enableCORS": True,
        "server.enableXsrfProtection": True,
        "server.enableAgentApi": False,
        "server.enableStaticServing": False,
        "server.trustedUserHeaders": {},
        "server.cookieSecret": load_secret("cookie.secret"),
        "browser.serverAddress": site.base.removesuffix(site.path).rpartition("//")[2].rsplit(":", 1)[0],
        "secrets.files": [],
    }
    return dict(_flat(config())) | pinned


def arguments(host: str, port: int) -> list[str]:
    """Return the arguments of `streamlit run` that serve only the pages: the app, and every setting as a flag."""
    settings = dict(_flat(config())) | {"server.address": host, "server.port": port}
    texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in settings.items()}
    return ["run", str(app_file()), *(f"--{name}={value}" for name, value in texts.items())]


def refuse_to_serve(host: str, port: int) -> None:
    """Raise Refused if the port is in use, or BadInput if a setting is invalid."""
    # Commands that only ask for an address need neither.
    from console.server import notices
    from console.server.sign_in import organisation

    settings_token()
    notices.check_settings()
    organisation.provider()
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as taken:
            raise Refused(f"Cannot listen on {host}:{port} ({taken.strerror}). Use another --port.") from taken


def mask_tokens(text: str) -> str:
    """Return the text with the tokens of links and agents replaced by `…`."""
    return _SECRET.sub(lambda found: f"{found['before'] or 'agent_'}…", text)


def mask_tokens_in_logs() -> None:
    """Mask the tokens in every log record of this process, whichever library writes the record."""
    make, formatter = logging.getLogRecordFactory(), logging.Formatter()

    def make_masked(*args: Any, **more: Any) -> logging.LogRecord:
        record = make(*args, **more)
        if (masked := mask_tokens(said := record.getMessage())) != said:
            record.msg, record.args = masked, None
        if record.exc_info and (masked := mask_tokens(trace := formatter.formatException(record.exc_info))) != trace:
            record.exc_text = masked
        return record

    logging.setLogRecordFactory(make_masked)


def invitation_link(site: Site, token: str) -> str:
    """Return the address of an invitation."""
    return f"{site.base}/invite/{token}"


def api_address(site: Site) -> str:
    """Return the API's address, followed by the command that gives an agent a token."""
    also = "" if settings_token() is None else "; also the token of INFERACT_API_TOKEN"
    return f"{site.base}/api/v1 (a token each: inferact agent add NAME{also})"


def serve(site: Site, script: Path | None = None) -> None:
    """Serve the console (or the pages of another script) and its HTTP API in this process until it is stopped."""
    # They take half a second, which other commands should not pay.
    import uvicorn
    from streamlit import get_option

    from console.web.streamlit_internals import load_options

    load_options(options(site))
    mask_tokens_in_logs()
    # Requests of the API are not the actions of the user who started the server; pages name the signed-in person.
    with publish_address(site), acting(By("agent", Door.API)):
        # Streamlit's own runner binds a socket on which asyncio leaves Nagle's algorithm on: 40 ms for every answer.
        uvicorn.run(
            console_app(site, script or app_file()),
            host=site.host,
            port=site.port,
            proxy_headers=False,
            forwarded_allow_ips="",
            ws="websockets-sansio",
            ws_max_size=get_option("server.maxMessageSize") * 2**20,
            ws_per_message_deflate=False,
            ws_ping_interval=_PING_S,
            ws_ping_timeout=_PING_S,
            ssl_certfile=get_option("server.sslCertFile"),
            ssl_keyfile=get_option("server.sslKeyFile"),
            timeout_graceful_shutdown=_LAST_ANSWERS_S,
            access_log=False,
            log_level="warning",
            log_config=None if log_lines.set_up_logs() else uvicorn.config.LOGGING_CONFIG,
            use_colors=False,
        )


@asynccontextmanager
async def _lifespan(_app: App) -> AsyncIterator[None]:
    from console.server import notices
    from console.web.live_fragments import stop_watching

    await asyncio.to_thread(database_url)
    for name in _WARM:
        import_module(name)
    # Imported modules stay, so later collections may skip them.
    gc.collect()
    gc.freeze()
    sending = asyncio.create_task(notices.keep_sending())
    try:
        with shutdown.handle_signals():
            yield
    finally:
        await asyncio.to_thread(stop_watching)
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


def console_app(site: Site, script: Path) -> App:
    """Build the ASGI app of this site with the pages of a script; load Streamlit's settings first."""
    from streamlit import App

    from console.server.api.routes import routes
    from console.server.base_path import BasePath
    from console.server.content_security import SafeHeaders
    from console.server.guard import BodyDeadline, Guard
    from console.server.sign_in.sign_in_pages import routes as sign_in_routes

    return App(
        script,
        routes=[*sign_in_routes(site), *routes()],
        middleware=[
            Middleware(BasePath, site=site),
            Middleware(log_lines.RequestLog),
            Middleware(SafeHeaders),
            Middleware(BodyDeadline),
            Middleware(Guard, site=site),
        ],
        lifespan=_lifespan,
    )


def _flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
