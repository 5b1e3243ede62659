"""Tokens that nobody can guess, and what is kept of them: their SHA-256, which opens nothing."""

from __future__ import annotations

import hashlib
import secrets


def new_token() -> str:
    """256 random bits as text that may stand in an address or a cookie."""
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """The SHA-256 (hex) of a token, under which it is stored and looked up."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
