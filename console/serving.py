"""Starts the console: Streamlit and the HTTP door on the installed app, every setting passed explicitly."""

from __future__ import annotations

import socket
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from console import api_token
from console.errors import Refused

_ROOT = Path(__file__).resolve().parent


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
    # Its greeting says less than ours, and asks a server on the internet which address this machine has.
    ours = {"server.address": host, "server.port": port, "logger.hideWelcomeMessage": True}
    return dict(_flat(config())) | ours


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


def door(host: str, port: int) -> str:
    """Where agents that are not in Python knock, and whether they need the token."""
    address = f"{links(host, port, '')[0]}api/v1"
    if api_token.is_needed(host):
        return f"{address} (token: {api_token.whereabouts()})"
    return f"{address} (open to this machine, no token needed)"


def serve(host: str, port: int) -> None:
    """Runs the console and the HTTP door in this process until it is stopped; raises BadInput for a bad webhook."""
    # Streamlit looks for further settings beside whatever was started, and puts that folder on the import path.
    sys.argv = [str(app_file())]
    # Takes half a second, which only this command should pay.
    from console import webhooks
    from console.http import app

    webhooks.receiver()
    app.run(config=options(host, port))


def _flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
