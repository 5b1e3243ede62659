"""Secrets in files that only their user can read, and random tokens with their hashes."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from contextlib import suppress
from pathlib import Path

from console.settings import settings
from storage.private_files import private_file


def path_of(name: str) -> Path:
    """Return the path of the secret with this name."""
    return settings().data_dir / name


def load_secret(name: str) -> str:
    """Return the secret with this name, equal in every process; create the secret on first use."""
    path = path_of(name)
    if not path.exists():
        _keep(path)
    return path.read_text().strip()


def load_secrets(name: str) -> list[str]:
    """Return the secret with this name, preceded by the replaced secret if this one still counts."""
    current, old = load_secret(name), path_of(f"{name}.old")
    until_ms, _, replaced = old.read_text().partition(" ") if old.exists() else ("0", "", "")
    return [*([replaced] if int(until_ms) > time.time() * 1_000 else []), current]


def rotate_secret(name: str, old_until_ms: int) -> None:
    """Replace the secret with this name; the old secret counts until `old_until_ms` for users of `load_secrets`."""
    with private_file(path_of(f"{name}.old")) as file:
        file.write(f"{old_until_ms} {load_secret(name)}".encode())
    fresh = path_of(f"{name}.new")
    with private_file(fresh) as file:
        file.write(secrets.token_urlsafe(24).encode())
    fresh.replace(path_of(name))


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


def new_token() -> str:
    """Return 256 random bits as text for use in an address or a cookie."""
    return secrets.token_urlsafe(32)


def new_signing_secret() -> str:
    """Return a new secret of Standard Webhooks: `whsec_` and the base64 of 256 random bits."""
    return f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"


def token_hash(token: str) -> str:
    """Return the SHA-256 (hex) of a token; 256 random bits do not require a slower hash."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
