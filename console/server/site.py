"""The site: under which names a browser may ask for this console, and what follows for its links and cookies."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from console.auth import api_token
from console.errors import BadInput, Refused

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_USUAL_PORT = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Site:
    """Where the server listens, and the address that people type where that is another one (`scheme://host[:port]`)."""

    host: str
    port: int
    public_url: str | None = None

    @property
    def base(self) -> str:
        """What every link begins with, without a slash at its end."""
        return self.public_url or f"http://{_in_address(self.host)}:{self.port}"

    @property
    def is_secure(self) -> bool:
        """Whether browsers come by HTTPS, so that a cookie may go no other way."""
        return self.base.startswith("https:")

    @property
    def origins(self) -> frozenset[str]:
        """The origins of our own pages; whoever sends another one is somebody else's page."""
        names = {*_LOOPBACK, *([_in_address(self.host)] if api_token.is_loopback(self.host) else [])}
        local = {f"http://{name}:{self.port}" for name in names}
        if self.port == _USUAL_PORT["http"]:
            local |= {f"http://{name}" for name in names}
        return frozenset(local | ({self.public_url} if self.public_url else set()))

    @property
    def hosts(self) -> frozenset[str]:
        """The values of the header Host that name this console; a name rebound to this machine is none of them."""
        return frozenset(urlsplit(origin).netloc for origin in self.origins)

    @property
    def names(self) -> frozenset[str]:
        """The same without ports, as Streamlit compares them."""
        return frozenset(urlsplit(origin).hostname or "" for origin in self.origins)


def site_at(host: str, port: int, public_url: str | None) -> Site:
    """The site; raises BadInput for an address that is none, Refused beyond this machine without one."""
    if public_url is None and not api_token.is_loopback(host):
        raise Refused(
            f"Beyond this machine ({host}) the console has to know the address that people type: add "
            "--public-url https://console.example; its links, cookies and allowed hosts come from it."
        )
    return Site(host, port, _origin(public_url) if public_url else None)


def _origin(url: str) -> str:
    """The address as a browser sends it in Origin: lower case, the usual port left out."""
    try:
        parts = urlsplit(url.strip().lower())
        port = parts.port
    except ValueError:
        raise BadInput(_NO_ADDRESS) from None
    if parts.scheme not in _USUAL_PORT or not parts.hostname or parts.path not in ("", "/") or parts.query:
        raise BadInput(_NO_ADDRESS)
    named = _in_address(parts.hostname)
    return f"{parts.scheme}://{named}" + (f":{port}" if port not in (None, _USUAL_PORT[parts.scheme]) else "")


_NO_ADDRESS = "The public URL is scheme, name and port and no more, for example https://console.example"


def _in_address(host: str) -> str:
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host.strip("[]")
    try:
        return f"[{shown}]" if ipaddress.ip_address(shown).version == 6 else shown
    except ValueError:
        return shown
