"""The token of the HTTP API, and when it is asked for."""

from __future__ import annotations

import hmac
import ipaddress

from console.auth.kept_secrets import kept_secret, path_of
from console.errors import BadInput
from console.settings import settings

_FILE = "api.token"
_SHORTEST = 16


def token() -> str:
    """The token of the settings, or one made on first use and kept in the data directory; raises BadInput."""
    given = settings().api_token
    if given is None:
        return kept_secret(_FILE)
    if len(given.get_secret_value()) < _SHORTEST:
        raise BadInput(
            f"INFERACT_API_TOKEN is too short to protect anything; it needs at least {_SHORTEST} characters."
        )
    return given.get_secret_value()


def is_token(text: str) -> bool:
    """Whether it is the token; takes as long for a wrong one."""
    return hmac.compare_digest(text.encode(), token().encode())


def whereabouts() -> str:
    """Where a person finds the token, which is made if there is none."""
    token()
    return "INFERACT_API_TOKEN" if settings().api_token is not None else str(path_of(_FILE))


def is_needed(address: str | None) -> bool:
    """Whether a server at that address asks everybody for the token: it is in the settings, or others can reach it."""
    return settings().api_token is not None or not is_loopback(address)


def is_loopback(host: str | None) -> bool:
    """Whether the address is this machine's own, which no other can reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address((host or "").strip("[]")).is_loopback
    except ValueError:
        return False
