"""The entries from a log file: trajectories, skipped records and duplicates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from console.environments import ENVIRONMENTS
from console.trajectory import Trajectory
from console.trajectory.checkpoints import find_critical

Progress = Callable[[int], None]
"""A callback that receives the number of bytes read so far."""


@dataclass(slots=True)
class LeftOut:
    """The number of parts of one kind that an importer cannot interpret, and the line (from 1) of the first."""

    line: int
    count: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """A trajectory, and the line (from 1) at which its record begins.

    `left_out` counts, by kind, the parts that the importer cannot interpret. `pictures` are bytes by digest. `read_as`
    holds (message number, part, step number or 0 for the opening) for each message. `critical` are patterns for calls
    that the log marks as writing.
    """

    line: int
    trajectory: Trajectory
    left_out: Mapping[str, LeftOut] = field(default_factory=dict)
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    read_as: tuple[tuple[int, str, int], ...] = ()
    critical: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A valid record with nothing to review."""

    line: int
    reason: str


class Duplicate(Skipped):
    """A record that repeats an earlier record of the file."""


Entry = Found | Skipped | Duplicate


DECIDED = "decided"
"""The key in a step's `extra` for an imported decision."""
CONTEXT = "context"
"""The key in a trajectory's `extra` for texts in the user's role without a request, such as printed output."""


def build_decision_extra(decision: str, who: str, words: str = "") -> dict[str, dict[str, str]]:
    """Return the `extra` of a step with an imported decision: `approve`, `reject` or `edit`, decider and feedback."""
    return {DECIDED: {"decision": decision, "who": who, "words": words}}


SHELL_TOOLS = (
    *("Bash", "bash", "shell", "local_shell", "exec_command", "command_execution"),
    *("run_shell_command", "run_in_terminal", "execute_command", "run_terminal_cmd"),
)
"""The tools with which coding agents run commands."""


@dataclass(frozen=True, slots=True)
class WrittenCalls:
    """The calls that a format writes as text: the paths of such texts, and the pattern with the call as its group."""

    at: re.Pattern[str]
    call: re.Pattern[str] = re.compile(r"(?s)\A\s*(\S.*)\Z")


@dataclass(frozen=True, slots=True)
class Importer:
    """A log format, recognised by the paths of its records; `read` raises UnreadableFile at the first invalid record.

    `marks` are alternative sets of such paths; the error for an unknown file lists the missing paths. `also` are rarer
    alternatives. `words` must match if other formats have the same paths. If paths and `words` are not enough,
    `recognises` decides by the file's path and first bytes (64 KB or more). `read_whole` reads a session as one
    trajectory, while `read` yields one trajectory per request. `renames`: calls get names that differ from the file.
    `answering`: names of calls that become the agent's final answer. `written`: the places with calls as text.
    `accounts`: the reader keeps and names every unknown field, so coverage needs no second reading. `critical`:
    patterns of the critical actions in such logs, for a run that has no patterns.
    """

    name: str
    title: str
    read: Callable[[Path, Progress | None], Iterator[Entry]]
    marks: tuple[tuple[str, ...], ...] = ()
    also: tuple[tuple[str, ...], ...] = ()
    words: re.Pattern[bytes] | None = None
    recognises: Callable[[Path, bytes], bool] | None = None
    read_whole: Callable[[Path, Progress | None], Iterator[Entry]] | None = None
    renames: bool = False
    answering: frozenset[str] = frozenset()
    written: WrittenCalls | None = None
    accounts: bool = False
    critical: tuple[str, ...] = ()


def with_critical_action(trajectory: Trajectory, further: tuple[str, ...] = ()) -> Trajectory:
    """Return the trajectory with its critical action, if any: the last that its environment or `further` marks."""
    patterns = (*ENVIRONMENTS[trajectory.environment].critical, *further)
    found = find_critical([step.action for step in trajectory.steps], patterns) if patterns else []
    return replace(trajectory, critical_action=trajectory.steps[found[-1]].action) if found else trajectory
