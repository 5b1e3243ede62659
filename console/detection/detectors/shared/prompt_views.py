"""Prompt views: what a model is shown of a checkpoint, all of it or only what the agent did and saw (InferAct, 3.1).

Lines after the first of any text are indented, so that only our own lines begin with "Step".
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
    """A view of the record as text, and the number of its steps, the one that waits included."""

    text: str
    steps: int


def full(checkpoint: Checkpoint) -> PromptView:
    """The view of everything up to the critical action, thoughts included."""
    steps = (*checkpoint.steps, Step(checkpoint.thought, checkpoint.action))
    lines = [f"At the start: {_indented(checkpoint.opening)}"] if checkpoint.opening.strip() else []
    return _view(lines, steps)


def masked(checkpoint: Checkpoint, *, with_thoughts: bool = False, paper: bool = False) -> PromptView:
    """The view of actions and observations only, without the user's words: a task inferred from it is not copied.

    As in the paper's reference code, with `paper` any action in a shop that has "search" in it is hidden, and of its
    pages stands what they say below the instruction.
    """
    hide = (_PAPER_MASKS if paper else MASKS).get(checkpoint.environment, _respondent)
    before = _below_headers(checkpoint.steps) if paper and checkpoint.environment == _SHOP else checkpoint.steps
    steps = [*before, Step(checkpoint.thought, checkpoint.action)]
    if not with_thoughts:
        steps = [replace(step, thought="") for step in steps if not is_thought(step.action)]
    return _view([], [_without(hide(step), checkpoint.instruction) for step in steps])


def _below_headers(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps with what each page says below its instruction; one without that repeats the page before it."""
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
    """Search words repeat the request."""
    return replace(step, action="search") if _SEARCH.match(step.action) else step


def _searcher(step: Step) -> Step:
    return replace(step, action="search") if "search" in step.action else step


def _respondent(step: Step) -> Step:
    """What comes back to a message is what the user says."""
    return replace(step, observation=HIDDEN) if _RESPONSE.match(step.action) and step.observation else step


def _as_it_is(step: Step) -> Step:
    return step


MASKS: dict[str, Callable[[Step], Step]] = {"webshop": _shopper, "hotpotqa": _as_it_is, "alfworld": _as_it_is}
"""What to hide of a step, by environment; any other agent may talk with its user."""
_PAPER_MASKS = MASKS | {"webshop": _searcher}


def _without(step: Step, instruction: str) -> Step:
    """The step without a literal repetition of the instruction, as a page's header has it."""
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
