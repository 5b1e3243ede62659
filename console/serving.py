"""Starts the console: Streamlit on the installed app, every setting of its config passed explicitly."""

from __future__ import annotations

import socket
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


def arguments(host: str, port: int) -> list[str]:
    """What `streamlit run` gets: the app and every setting as a flag."""
    values = config()
    values["server"] |= {"address": host, "port": port}
    return ["run", str(app_file()), *(f"--{name}={_text(value)}" for name, value in _flat(values))]


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
    base = f"http://{shown}:{port}/"
    return base, f"{base}?key={key}"


def serve(host: str, port: int) -> None:
    """Runs the console in this process until it is stopped."""
    from streamlit.web import cli  # takes half a second, which only this command should pay

    cli.main(arguments(host, port), standalone_mode=False)


def _flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
