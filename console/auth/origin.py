"""Who did something, and through which door: what every event and every decision says of where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum


class Door(StrEnum):
    """The ways into the console; `import` is a log that says that somebody decided elsewhere."""

    BROWSER = "browser"
    CLI = "cli"
    API = "api"
    PYTHON = "python"
    IMPORT = "import"


@dataclass(frozen=True, slots=True)
class By:
    """Who did it (a person's or an agent's name), through which door, and from where (an address, where known)."""

    who: str
    door: Door
    where: str = ""


_present: ContextVar[By | None] = ContextVar("inferact_by", default=None)


@contextmanager
def acting(by: By) -> Iterator[None]:
    """Whatever this thread or task records meanwhile was done by them, unless it says otherwise itself."""
    token = _present.set(by)
    try:
        yield
    finally:
        _present.reset(token)


def present() -> By | None:
    """Who acts just now in this thread or task, None where nobody said so."""
    return _present.get()
