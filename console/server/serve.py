"""Serving the console: Streamlit and the HTTP API as one app, every setting passed explicitly."""

from __future__ import annotations

import socket
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from console.auth import api_token
from console.auth.origin import By, Door, acting
from console.errors import Refused

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


def options(host: str, port: int) -> dict[str, Any]:
    """Every setting that Streamlit gets, by its full name."""
    return dict(_flat(config())) | {"server.address": host, "server.port": port}


def arguments(host: str, port: int) -> list[str]:
    """What `streamlit run` would get to serve the pages alone: the app and every setting as a flag."""
    return ["run", str(app_file()), *(f"--{name}={_text(value)}" for name, value in options(host, port).items())]


def refuse_taken_port(host: str, port: int) -> None:
    """Raises Refused where something listens on the port already."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as taken:
            raise Refused(f"Cannot listen on {host}:{port} ({taken.strerror}); choose another with --port.") from taken


def links(host: str, port: int, key: str) -> tuple[str, str]:
    """(the reviewer's link, the researcher's link)."""
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    base = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"
    return base, f"{base}?key={key}"


def api_address(host: str, port: int) -> str:
    """The API's address for agents that are not in Python, and whether they need the token."""
    address = f"{links(host, port, '')[0]}api/v1"
    if api_token.is_needed(host):
        return f"{address} (token: {api_token.whereabouts()})"
    return f"{address} (open to this machine, no token needed)"


def serve(host: str, port: int) -> None:
    """Runs the console and its HTTP API in this process until it is stopped; raises BadInput for a bad webhook."""
    # These take half a second, which only this command should pay.
    import uvicorn
    from streamlit import config as streamlit_config
    from streamlit.web import bootstrap

    from console.server import webhooks

    webhooks.receiver()
    bootstrap.load_config_options(options(host, port))
    # Whoever typed the command did not do what agents ask of the API; pages name whoever is signed in.
    with acting(By("agent", Door.API)):
        # Streamlit's own runner binds a socket on which asyncio leaves Nagle's algorithm on: 40 ms for every answer.
        uvicorn.run(
            "console.server.app:app",
            host=host,
            port=port,
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
