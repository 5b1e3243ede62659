"""The token of the settings for the HTTP API: INFERACT_API_TOKEN, or the file api.token of an earlier console."""

from __future__ import annotations

import hmac
import ipaddress

from console.auth.kept_secrets import path_of
from console.errors import BadInput
from console.settings import settings

_FILE = "api.token"
_SHORTEST = 16


def token() -> str | None:
    """The token, None where none was ever set; raises BadInput for one that protects nothing."""
    given = settings().api_token
    if given is None:
        kept = path_of(_FILE)
        return (kept.read_text().strip() or None) if kept.exists() else None
    if len(given.get_secret_value()) < _SHORTEST:
        raise BadInput(
            f"INFERACT_API_TOKEN is too short to protect anything; it needs at least {_SHORTEST} characters."
        )
    return given.get_secret_value()


def is_token(text: str) -> bool:
    """Whether it is the token; takes as long for a wrong one."""
    known = token()
    return known is not None and hmac.compare_digest(text.encode(), known.encode())


def whereabouts() -> str | None:
    """Where a person finds the token, None where there is none."""
    if token() is None:
        return None
    return "INFERACT_API_TOKEN" if settings().api_token is not None else str(path_of(_FILE))


def is_loopback(host: str | None) -> bool:
    """Whether the address is this machine's own, which no other can reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address((host or "").strip("[]")).is_loopback
    except ValueError:
        return False
