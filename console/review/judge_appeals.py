"""Appeals to the judge: passages of a record that address a model or its judge, shown to the reviewer.

Pages, tools or the agent may have written these passages. The check reports their presence, not whether a model
followed them. The module is separate from the presentation because its patterns change independently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from console.trajectory.checkpoints import Checkpoint
from console.trajectory.strict_yaml import read_data


@dataclass(frozen=True, slots=True)
class _Appeal:
    """A pattern, and the words of which a matching text contains at least one."""

    needed: tuple[str, ...]
    pattern: str


_APPEALS = read_data(files(__package__) / "judge_appeals.yaml", tuple[_Appeal, ...])
_SEARCHED = tuple((one.needed, re.compile(one.pattern, re.IGNORECASE)) for one in _APPEALS)
_AROUND, _MOST = 60, 3


def find_judge_appeals(checkpoint: Checkpoint) -> tuple[tuple[int, str], ...]:
    """Return the first three appeals in a record with their step numbers; number 0 is the opening."""
    found = []
    for number, text in _texts(checkpoint):
        if appeal := _first(text):
            start, end = max(0, appeal.start() - _AROUND), appeal.end() + _AROUND
            found.append((number, " ".join(text[start:end].split())))
        if len(found) == _MOST:
            break
    return tuple(found)


def _first(text: str) -> re.Match[str] | None:
    """Return the first appeal of any kind; match a pattern only if the text contains one of its required words."""
    lower = text.lower()
    tried = (pattern for needed, pattern in _SEARCHED if any(word in lower for word in needed))
    return next((found for pattern in tried if (found := pattern.search(text))), None)


def _texts(checkpoint: Checkpoint) -> Iterator[tuple[int, str]]:
    """Yield the texts written by the agent, pages and tools, excluding the user's own request."""
    asked = checkpoint.instruction.strip()
    yield 0, _without(checkpoint.opening, asked)
    for number, step in enumerate(checkpoint.steps, start=1):
        yield number, _without("\n".join((step.action, step.thought, step.observation)), asked)
    yield len(checkpoint.steps) + 1, f"{checkpoint.action}\n{checkpoint.thought}"


def _without(text: str, asked: str) -> str:
    return text.replace(asked, " ") if asked else text
