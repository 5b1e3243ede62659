"""Acts: the executed actions of a trajectory, parsed as input for the evidence in every environment."""

from __future__ import annotations

import re
from dataclasses import dataclass

from console.environments import environment
from console.trajectory.calls import Call, read_action, read_calls
from console.trajectory.checkpoints import Checkpoint, is_thought

_FAILED = re.compile(
    r"\s*(?:API output:\s*)?(?:[\[{\"']{0,3}error|invalid|could not|couldn't|cannot|can't|unable|failed|failure|"
    r"unknown|not found|no more results|no results|nothing happens|exception|traceback|http (?:4|5)\d\d|access denied|"
    r"permission denied)\b",
    re.IGNORECASE,
)
_LONGEST = 100_000
_TALKING = frozenset({"respond", "reply", "ask", "say", "message", "answer_user", "ask_user", "talk"})
_ENDING = frozenset({"finish", "answer", "final_answer", "submit", "submit_answer", "conclude"})


@dataclass(frozen=True, slots=True)
class Act:
    """An executed action: its number, its calls, the observation, and whether the observation reports a failure.

    If the action is a message to the user (`talks`), the observation is the user's reply. `name` (in lower case) and
    `argument` are those of the first call, or "".
    """

    step: int
    action: str
    calls: tuple[Call, ...]
    observation: str
    failed: bool
    talks: bool
    name: str
    argument: str


def list_acts(checkpoint: Checkpoint) -> tuple[Act, ...]:
    """Return the actions before the critical action, without thoughts."""
    refusals = environment(checkpoint.environment).not_executed or ("\0",)
    steps = enumerate(checkpoint.steps, start=1)
    found = ((number, step) for number, step in steps if step.action and not is_thought(step.action))
    return tuple(_act(number, step.action, step.observation, refusals) for number, step in found)


def pending_act(checkpoint: Checkpoint) -> Act:
    """Return the critical action, which has no observation yet."""
    return _act(checkpoint.index + 1, checkpoint.action, "", ("\0",))


def answer_given(act: Act) -> str | None:
    """Return the answer that an action gives to a question, or None if the action is not an answer."""
    return act.argument.strip() if act.name in _ENDING and act.calls else None


def _act(step: int, action: str, observation: str, refusals: tuple[str, ...]) -> Act:
    action = action[:_LONGEST]
    found = read_calls(action)
    failed = bool(_FAILED.match(observation[:80])) or observation.strip().startswith(refusals)
    opening = action.split(None, 1)[:1]
    talks = not found and (
        "\n" in action or len(action.split()) > 8 or opening[0:1] == ["Final"] or ":" in "".join(opening)
    )
    if not found and not talks:
        found = read_action(action)
    name = found[0].name.lower() if found else ""
    argument = str(next(iter(found[0].arguments.values()), "")) if found else ""
    return Act(step, action, found, observation, failed, talks or name in _TALKING, name, argument)
