"""Who did something, and through which door: what every event and every decision says of where it comes from."""

from __future__ import annotations

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
