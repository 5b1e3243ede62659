"""Secrets that the console makes on first use and keeps in its data directory, readable by its own user alone."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from console.settings import settings


def path_of(name: str) -> Path:
    """Where the secret of that name is kept."""
    return settings().data_dir / name


def kept_secret(name: str) -> str:
    """The secret of that name, the same for every process."""
    path = path_of(name)
    if not path.exists():
        _keep(path)
    return path.read_text().strip()


def _keep(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    handle = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_urlsafe(24))
    try:
        # Linked when it is whole: another process never reads half a secret, and the first one stays.
        with suppress(FileExistsError):
            path.hardlink_to(fresh)
    finally:
        fresh.unlink()
