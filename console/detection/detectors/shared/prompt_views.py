"""Prompt views: a checkpoint as text for a model, complete or only actions and observations (InferAct, section 3.1).

All lines of a text after its first line are indented, so that only the console's own lines begin with "Step".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from console.trajectory import Step
from console.trajectory.checkpoints import Checkpoint, is_thought

HIDDEN = "(the user's words)"
_INDENT = "\n  "
_SHOP, _FIELD = "webshop", "[SEP]"
_SEARCH = re.compile(r"^\s*search\b", re.IGNORECASE)
_RESPONSE = re.compile(r"^\s*respond\s*\(", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PromptView:
    """A trajectory as text, and the number of its steps, including the pending action."""

    text: str
    steps: int


def build_full_view(checkpoint: Checkpoint, *, paper: bool = False) -> PromptView:
    """Return the view of the whole record up to the critical action, with thoughts.

    `paper` leaves out the room before the first action in ALFWorld, as the reference code does.
    """
    steps = (*checkpoint.steps, Step(checkpoint.thought, checkpoint.action))
    is_hidden = not checkpoint.opening.strip() or (paper and checkpoint.environment == "alfworld")
    lines = [] if is_hidden else [f"At the start: {_indented(checkpoint.opening)}"]
    return _view(lines, steps)


def build_masked_view(checkpoint: Checkpoint, *, with_thoughts: bool = False, paper: bool = False) -> PromptView:
    """Return the view of actions and observations without the user's words, so that the inferred task is not copied.

    `paper` hides every shop action with "search" and a shop page's part above the instruction, as the reference code
    does.
    """
    hide = (_PAPER_MASKS if paper else MASKS).get(checkpoint.environment, _respondent)
    before = _below_headers(checkpoint.steps) if paper and checkpoint.environment == _SHOP else checkpoint.steps
    steps = [*before, Step(checkpoint.thought, checkpoint.action)]
    if not with_thoughts:
        steps = [replace(step, thought="") for step in steps if not is_thought(step.action)]
    return _view([], [_without(hide(step), checkpoint.instruction) for step in steps])


def _below_headers(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps with each page's part below its instruction; any other page repeats the previous page."""
    shown = None
    for step in steps:
        fields = step.observation.split(_FIELD)
        sign = _FIELD if len(fields) > 1 else "\n"
        fields = fields if len(fields) > 1 else step.observation.splitlines()
        header = next((at for at, field in enumerate(fields) if "Instruction" in field), None)
        if header is not None:
            shown = sign.join(fields[header + 2 :])
        yield step if shown is None else replace(step, observation=shown)


def _shopper(step: Step) -> Step:
    """Hide the words of a search, because they repeat the request."""
    return replace(step, action="search") if _SEARCH.match(step.action) else step


def _respondent(step: Step) -> Step:
    """Hide the observation after a message, because it is the user's reply."""
    return replace(step, observation=HIDDEN) if _RESPONSE.match(step.action) and step.observation else step


MASKS: dict[str, Callable[[Step], Step]] = {
    "webshop": _shopper,
    "hotpotqa": lambda step: step,
    "alfworld": lambda step: step,
}
"""The masks by environment, which hide parts of a step; other environments use `_respondent`."""
_PAPER_MASKS = MASKS | {"webshop": lambda step: replace(step, action="search") if "search" in step.action else step}


def _without(step: Step, instruction: str) -> Step:
    """Return the step without a literal repetition of the instruction, such as a page's header."""
    words = instruction.split()
    if not words:
        return step
    repeated = re.compile(r"(?:instruction:\s*)?" + r"\s+".join(map(re.escape, words)), re.IGNORECASE)
    return replace(step, observation=repeated.sub(HIDDEN, step.observation))


def _view(lines: list[str], steps: Iterable[Step]) -> PromptView:
    number = 0
    for number, step in enumerate(steps, start=1):
        lines.append(f"Step {number}")
        told = (("Thought", step.thought), ("Action", step.action), ("Observation", step.observation))
        lines += [f"{label}: {_indented(text)}" for label, text in told if text.strip()]
    return PromptView("\n".join(lines), number)


def _indented(text: str) -> str:
    return _INDENT.join(text.strip().splitlines())
