"""Secrets: files that only their user can read, and random tokens with their hashes."""

from __future__ import annotations

import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from console.settings import settings


def path_of(name: str) -> Path:
    """Return the path of the secret with this name."""
    return settings().data_dir / name


def load_secret(name: str) -> str:
    """Return the secret with this name, equal in every process; create the secret on first use."""
    path = path_of(name)
    if not path.exists():
        _keep(path)
    return path.read_text().strip()


def _keep(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with private_file(fresh) as file:
        file.write(secrets.token_urlsafe(24).encode())
    try:
        # Linked when it is whole: another process never reads half a secret, and the first one stays.
        with suppress(FileExistsError):
            path.hardlink_to(fresh)
    finally:
        fresh.unlink()


def private_file(path: Path) -> BinaryIO:
    """Open a file for writing that only this user can read (0600), even if the file exists with other permissions."""
    handle = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    os.fchmod(handle, 0o600)
    return os.fdopen(handle, "wb")


def new_token() -> str:
    """Return 256 random bits as text for use in an address or a cookie."""
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """Return the SHA-256 (hex) of a token; 256 random bits do not require a slower hash."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
