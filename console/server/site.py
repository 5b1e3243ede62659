"""The site: the names under which browsers can reach this console, its links, and its cookie rules."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from console.auth.kept_secrets import path_of
from console.errors import BadInput, Refused
from storage.private_files import private_file

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_ADDRESS = "server.address"
_USUAL_PORT = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Site:
    """The address at which the server listens, and the public URL if it differs (`scheme://host[:port][/path]`)."""

    host: str
    port: int
    public_url: str | None = None

    @property
    def base(self) -> str:
        """The common start of all links, without a final slash."""
        return self.public_url or f"http://{_in_address(self.host)}:{self.port}"

    @property
    def path(self) -> str:
        """The path before all addresses, such as `/inferact`, or an empty text."""
        return urlsplit(self.base).path

    @property
    def is_secure(self) -> bool:
        """Return whether browsers reach the console over HTTPS; if so, cookies are sent over HTTPS only."""
        return self.base.startswith("https:")

    @property
    def origins(self) -> frozenset[str]:
        """The origins of our own pages; a request with any other origin comes from another site's page."""
        names = {*_LOOPBACK, *([_in_address(self.host)] if is_loopback(self.host) else [])}
        local = {f"http://{name}:{self.port}" for name in names}
        if self.port == _USUAL_PORT["http"]:
            local |= {f"http://{name}" for name in names}
        return frozenset(local | ({self.base.removesuffix(self.path)} if self.public_url else set()))

    @property
    def hosts(self) -> frozenset[str]:
        """The accepted values of the `Host` header. Other names are excluded, to prevent DNS rebinding."""
        return frozenset(urlsplit(origin).netloc for origin in self.origins)

    @property
    def names(self) -> frozenset[str]:
        """The names in `hosts` without ports, as Streamlit compares them."""
        return frozenset(urlsplit(origin).hostname or "" for origin in self.origins)


def is_loopback(host: str) -> bool:
    """Return whether the address is a loopback address, which other machines cannot reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def site_at(host: str, port: int, public_url: str | None) -> Site:
    """Return the site; raise BadInput if the address is invalid.

    Raise Refused if the server would be reachable from other machines but the public address is missing.
    """
    if public_url is None and not is_loopback(host):
        raise Refused(
            f"Serving on {host}, beyond this machine, needs a public address. Add --public-url https://console.example."
        )
    return Site(host, port, _origin(public_url) if public_url else None)


@contextmanager
def publish_address(site: Site) -> Iterator[None]:
    """Write the site's address to the data directory while it is served, for the links that commands print."""
    path = path_of(_ADDRESS)
    with private_file(path) as file:
        file.write(site.base.encode())
    try:
        yield
    finally:
        # A server that started later has written its own.
        if running_address() == site.base:
            path.unlink(missing_ok=True)


def running_address() -> str | None:
    """Return the address that the running server of this data directory wrote, or None if no server is running."""
    path = path_of(_ADDRESS)
    return path.read_text("utf-8").strip() or None if path.exists() else None


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise BadInput(_NO_ADDRESS) from None
    if parts.scheme not in _USUAL_PORT or not parts.hostname or parts.query or not _PATH.fullmatch(parts.path):
        raise BadInput(_NO_ADDRESS)
    named = _in_address(parts.hostname)
    shown = f":{port}" if port not in (None, _USUAL_PORT[parts.scheme]) else ""
    return f"{parts.scheme}://{named}{shown}{parts.path.rstrip('/')}"


_NO_ADDRESS = "The public URL is invalid. Give scheme, name, port and path only, for example https://console.example"
_PATH = re.compile(r"(/[A-Za-z0-9_~-]+)*/?")


def _in_address(host: str) -> str:
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host.strip("[]")
    try:
        return f"[{shown}]" if ipaddress.ip_address(shown).version == 6 else shown
    except ValueError:
        return shown
