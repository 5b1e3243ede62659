"""Serving the console: Streamlit and the HTTP API as one app, every setting passed explicitly."""

from __future__ import annotations

import socket
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from console.auth import api_token
from console.auth.kept_secrets import kept_secret
from console.auth.origin import By, Door, acting
from console.errors import Refused
from console.server.site import Site

_ROOT = Path(__file__).resolve().parents[1]
_PING_S = 30
_LAST_ANSWERS_S = 5


def app_file() -> Path:
    """The app beside the package, in a checkout and in an installed wheel alike."""
    return _ROOT.parent / "streamlit_app.py"


def config() -> dict[str, Any]:
    """The console's Streamlit config; the wheel carries it inside the package."""
    packaged = _ROOT / "streamlit_config.toml"
    path = packaged if packaged.exists() else _ROOT.parent / ".streamlit" / "config.toml"
    return tomllib.loads(path.read_text())


def options(site: Site) -> dict[str, Any]:
    """Every setting that Streamlit gets, by its full name; none of these is anybody else's to choose."""
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
        "server.cookieSecret": kept_secret("cookie.secret"),
        "browser.serverAddress": site.base.rpartition("//")[2].rsplit(":", 1)[0],
        "secrets.files": [],
    }
    return dict(_flat(config())) | pinned


def arguments(host: str, port: int) -> list[str]:
    """What `streamlit run` would get to serve the pages alone: the app and every setting as a flag."""
    settings = dict(_flat(config())) | {"server.address": host, "server.port": port}
    return ["run", str(app_file()), *(f"--{name}={_text(value)}" for name, value in settings.items())]


def refuse_to_serve(host: str, port: int) -> None:
    """Raises Refused where something listens on the port already, BadInput for settings that cannot be used."""
    # Neither is needed by the commands that only ask for an address.
    from console.server import webhooks
    from console.server.sign_in import organisation

    api_token.token()
    webhooks.receiver()
    organisation.provider()
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as taken:
            raise Refused(f"Cannot listen on {host}:{port} ({taken.strerror}); choose another with --port.") from taken


def invitation_link(site: Site, token: str) -> str:
    """The address that an invitation is given out as."""
    return f"{site.base}/invite/{token}"


def api_address(site: Site) -> str:
    """The API's address for agents that are not in Python, and how they get in."""
    kept = api_token.whereabouts()
    also = "" if kept is None else f"; also the token of {kept}"
    return f"{site.base}/api/v1 (a token each: inferact agent add NAME{also})"


def serve(site: Site, script: Path | None = None) -> None:
    """Runs the console, or the pages of another script, and its HTTP API in this process until it is stopped."""
    # These take half a second, which only this command should pay.
    import uvicorn
    from streamlit import config as streamlit_config
    from streamlit.web import bootstrap

    # What lies in the working or the home directory is somebody else's; the name is private, so a test holds it.
    streamlit_config.get_config_files = lambda file_name: []
    bootstrap.load_config_options(options(site))
    from console.server.app import console_app

    # Whoever typed the command did not do what agents ask of the API; pages name whoever is signed in.
    with acting(By("agent", Door.API)):
        # Streamlit's own runner binds a socket on which asyncio leaves Nagle's algorithm on: 40 ms for every answer.
        uvicorn.run(
            console_app(site, script or app_file()),
            host=site.host,
            port=site.port,
            proxy_headers=False,
            forwarded_allow_ips="",
            ws="websockets-sansio",
            ws_max_size=streamlit_config.get_option("server.maxMessageSize") * 2**20,
            ws_per_message_deflate=False,
            ws_ping_interval=_PING_S,
            ws_ping_timeout=_PING_S,
            ssl_certfile=streamlit_config.get_option("server.sslCertFile"),
            ssl_keyfile=streamlit_config.get_option("server.sslKeyFile"),
            timeout_graceful_shutdown=_LAST_ANSWERS_S,
            access_log=False,
            log_level="warning",
            use_colors=False,
        )


def _flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
