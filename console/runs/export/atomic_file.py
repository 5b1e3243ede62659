"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from console.errors import BadInput


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A stream whose bytes take the file's place at the end; raises BadInput where it cannot be written."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            yield stream
        part.replace(path)
    except OSError as failed:
        raise BadInput(f"{path} cannot be written ({failed.strerror}); choose another --out.") from failed
    finally:
        part.unlink(missing_ok=True)
