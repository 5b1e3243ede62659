"""Files and folders that only their user can read."""

import logging
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

PRIVATE_FILE, PRIVATE_FOLDER, _OTHERS = 0o600, 0o700, 0o077

_log = logging.getLogger(__name__)


def make_private(path: Path) -> None:
    """Restrict a database's file and its log files to their user; log a warning if others had access."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        _tighten(path.with_name(name), PRIVATE_FILE)


def make_private_folder(folder: Path) -> None:
    """Create the folder, or restrict an existing one to its user; do not change shared folders."""
    folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    if not folder.stat().st_mode & stat.S_ISVTX and folder != Path.home():
        _tighten(folder, PRIVATE_FOLDER)


def create_private(path: Path) -> None:
    """Create an empty file that only its user can read, unless the file already exists."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE))


def private_file(path: Path) -> BinaryIO:
    """Open a file for writing that only this user can read (0600), even if the file exists with other permissions."""
    handle = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, PRIVATE_FILE)
    os.fchmod(handle, PRIVATE_FILE)
    return os.fdopen(handle, "wb")


def _tighten(path: Path, mode: int) -> None:
    try:
        found = path.stat()
        if not found.st_mode & _OTHERS or found.st_uid != os.getuid():
            return
        path.chmod(mode)
        _log.warning("%s was open to other users of this machine; now only its user can read it.", path)
    except FileNotFoundError:
        return
    except OSError as refused:
        _log.warning(
            "%s is open to other users of this machine, and its permissions cannot be changed (%s).", path, refused
        )
