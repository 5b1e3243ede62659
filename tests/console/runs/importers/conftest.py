"""Small logs that a test writes itself, and what is read from them."""

from pathlib import Path

import pytest

from console.runs.importers import read_log
from console.runs.importers.records import Found


@pytest.fixture
def write(tmp_path):
    """A function that writes a file, text as UTF-8 or bytes as they are, and returns its path."""

    def to(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return to


@pytest.fixture
def entries():
    """A function from a path to everything that is read from it, the format recognised unless it is named."""

    def read(path: Path, format: str = "auto"):
        return list(read_log(path, format)[1])

    return read


@pytest.fixture
def trajectories(entries):
    """The same, the trajectories alone."""

    def read(path: Path, format: str = "auto"):
        return [entry.trajectory for entry in entries(path, format) if isinstance(entry, Found)]

    return read
