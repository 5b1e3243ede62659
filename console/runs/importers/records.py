"""What an importer says about a file: what it found, what it left out and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from console.environments import environment
from console.trajectory import Trajectory
from console.trajectory.checkpoints import is_critical

Progress = Callable[[int], None]
"""Is told how many bytes of the file were read so far."""


@dataclass(slots=True)
class LeftOut:
    """How much of one kind was not understood, and the line (from 1) on which that was met first."""

    line: int
    count: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """A trajectory, and the line (from 1) on which its record begins.

    `left_out` counts what was not understood by what it is; `pictures` are bytes by digest; `read_as` says of each
    message (its number, what of it, the number of its step, 0 for the opening). `critical` are patterns of the calls
    that the log itself calls writing.
    """

    line: int
    trajectory: Trajectory
    left_out: Mapping[str, LeftOut] = field(default_factory=dict)
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    read_as: tuple[tuple[int, str, int], ...] = ()
    critical: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A sound record with nothing to review in it."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A record that the file lists a second time."""

    line: int
    reason: str


Entry = Found | Skipped | Duplicate


DECIDED = "decided"
"""The key of a step's `extra` under which stands what somebody decided about it elsewhere."""


def decided(decision: str, who: str, words: str = "") -> dict[str, dict[str, str]]:
    """The `extra` of a step that somebody decided elsewhere: `approve`, `reject` or `edit`, who, and their words."""
    return {DECIDED: {"decision": decision, "who": who, "words": words}}


class Reader(Protocol):
    """Reads a file record by record; raises UnreadableFile at the first thing that is not what it should be."""

    def __call__(self, path: Path, progress: Progress | None = None) -> Iterator[Entry]:
        """The entries of the file in order."""
        ...


@dataclass(frozen=True, slots=True)
class Importer:
    """A log format, recognised by the paths that its records have.

    `marks` are those paths, as alternatives, so that a file which nobody knows can be told what it lacks; `also` are
    rarer ones; `words` must stand in a file whose paths other formats have too. Where all this does not tell it,
    `recognises` does, by the path and the beginning of the file (64 KB or more).
    """

    name: str
    title: str
    read: Reader
    marks: tuple[tuple[str, ...], ...] = ()
    also: tuple[tuple[str, ...], ...] = ()
    words: re.Pattern[bytes] | None = None
    recognises: Callable[[Path, bytes], bool] | None = None


def with_critical_action(trajectory: Trajectory, further: tuple[str, ...] = ()) -> Trajectory:
    """The trajectory with its last action that is critical in its environment, or by its log, if there is one."""
    patterns = (*environment(trajectory.environment).critical, *further)
    actions = (step.action for step in reversed(trajectory.steps) if is_critical(step.action, patterns))
    action = next(actions, None) if patterns else None
    return trajectory if action is None else replace(trajectory, critical_action=action)
