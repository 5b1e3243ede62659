"""The origin of an action: the actor and the entry point. Every event and decision records its origin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum


class Door(StrEnum):
    """The entry points of the console; `import` marks decisions that are imported from a log."""

    BROWSER = "browser"
    CLI = "cli"
    API = "api"
    PYTHON = "python"
    IMPORT = "import"


@dataclass(frozen=True, slots=True)
class By:
    """The origin of an action: a person's or an agent's name, the entry point, and the client's address if known."""

    who: str
    door: Door
    where: str = ""


_present: ContextVar[By | None] = ContextVar("inferact_by", default=None)


@contextmanager
def acting(by: By) -> Iterator[None]:
    """Attribute all records of this thread or task within the block to `by`, unless a record sets another origin."""
    token = _present.set(by)
    try:
        yield
    finally:
        _present.reset(token)


def current_origin() -> By | None:
    """Return the origin set for this thread or task, or None if it is not set."""
    return _present.get()
