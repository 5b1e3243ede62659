"""The actions of a checkpoint that were tried, and what their calls hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from console.environments import environment
from console.trajectory.checkpoints import Call, Checkpoint, calls, is_thought

_FAILED = re.compile(
    r"\s*(?:[\[{\"']{0,3}error|invalid|could not|couldn't|cannot|can't|unable|failed|failure|unknown|not found|"
    r"no more results|no results|nothing happens|exception|traceback|http (?:4|5)\d\d|access denied|permission denied)",
    re.IGNORECASE,
)
_TALKING = frozenset({"respond", "reply", "ask", "say", "message", "answer_user", "ask_user", "talk"})


@dataclass(frozen=True, slots=True)
class Act:
    """An action that was tried: its first call, what came back, and whether that says that it failed."""

    action: str
    call: Call
    observation: str
    failed: bool

    @property
    def talks(self) -> bool:
        """Whether the action speaks to the user, so that the observation is the user's answer."""
        return self.call.name.lower() in _TALKING


def acts(checkpoint: Checkpoint) -> tuple[Act, ...]:
    """The actions before the critical one, thoughts left out."""
    refusals = environment(checkpoint.environment).not_executed or ("\0",)
    return tuple(
        _act(step.action, step.observation, refusals)
        for step in checkpoint.steps
        if step.action and not is_thought(step.action)
    )


def leaves(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each text and number of a call's arguments with the name it stands under; nested ones too."""
    waiting: list[tuple[str, Any]] = list(reversed(list(arguments.items())))
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting.extend(reversed(list(value.items())))
        elif isinstance(value, (list, tuple)):
            waiting.extend((name, part) for part in reversed(value))
        elif isinstance(value, float) and value.is_integer():
            yield str(name), str(int(value))
        elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
            yield str(name), str(value)


def _act(action: str, observation: str, refusals: tuple[str, ...]) -> Act:
    found = calls(action)
    failed = bool(_FAILED.match(observation[:80])) or observation.strip().startswith(refusals)
    return Act(action, found[0] if found else Call(""), observation, failed)
