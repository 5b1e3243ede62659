"""Marks of wrong steps of a trajectory by reviewers, each with the selected words of the step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import orjson
from sqlmodel import Session, col

from console.errors import BadInput
from console.language import _, digits
from console.runs import current_decisions
from console.trajectory.checkpoints import Checkpoint
from storage import tables

MOST = 20
"""The maximum number of marked steps of one decision."""
_ACTION_CHARS, _QUOTE_CHARS = 120, 200


@dataclass(frozen=True, slots=True)
class MarkedStep:
    """A marked step, counted from 1, with the start of its action; `quote` is text of the step, or empty."""

    step: int
    action: str = ""
    quote: str = ""


def takes_marks(run: tables.Run) -> bool:
    """Return whether reviewers of the run can mark steps: not with binary feedback, and not in a study.

    A mark is feedback that no condition of a study names.
    """
    return run.feedback_mode != "binary" and run.study_id is None


def read_marks(stored: str | None) -> tuple[MarkedStep, ...]:
    """Parse the stored marked steps of a decision or a draft, in order."""
    return tuple(MarkedStep(**one) for one in orjson.loads(stored or "[]"))


def write_marks(marks: Sequence[MarkedStep]) -> str:
    """Return the marked steps as JSON to store, or an empty string if no step is marked."""
    return orjson.dumps([asdict(one) for one in marks]).decode() if marks else ""


def check_marks(checkpoint: Checkpoint, wanted: Iterable[MarkedStep]) -> tuple[MarkedStep, ...]:
    """Return the marks in the order of the steps, once each, with actions and quotes from the checkpoint.

    A quote that does not occur in its step is left out. Raise BadInput if a step does not exist or there are too many.
    """
    found: dict[int, MarkedStep] = {}
    for one in wanted:
        texts = _list_texts(checkpoint, one.step)
        quote = " ".join(one.quote.split())[:_QUOTE_CHARS].strip()
        known = any(quote in text for text in texts)
        found[one.step] = MarkedStep(one.step, _shorten(texts[0]), quote if known else "")
    if len(found) > MOST:
        raise BadInput(_("You can mark at most {most} steps. Remove one of the marks first.").format(most=digits(MOST)))
    return tuple(found[step] for step in sorted(found))


def _list_texts(checkpoint: Checkpoint, number: int) -> tuple[str, ...]:
    """Return the action, thought and observation of a step on one line each; the last step is the critical action."""
    texts: tuple[str, ...]
    if 0 < number <= len(checkpoint.steps):
        step = checkpoint.steps[number - 1]
        texts = step.action, step.thought, step.observation
    elif number == len(checkpoint.steps) + 1 and checkpoint.action:
        texts = checkpoint.action, checkpoint.thought
    else:
        raise BadInput(_("Step {number} does not exist. Mark a step that the page shows.").format(number=number))
    return tuple(" ".join(text.split()) for text in texts)


def _shorten(action: str) -> str:
    return action if len(action) <= _ACTION_CHARS else action[: _ACTION_CHARS - 1] + "…"


def describe_marks(marks: Sequence[MarkedStep], reasons: Sequence[str]) -> str:
    """Return the marked steps as a sentence for the agent, with the reasons, else with "this step is wrong"."""
    said = ", ".join(reasons) or ("this step is wrong" if len(marks) == 1 else "these steps are wrong")
    places = "; ".join(_place(one) for one in marks)
    return f"{places[:1].upper()}{places[1:]}: {said}."


def _place(mark: MarkedStep) -> str:
    action = f", `{mark.action}`" if mark.action else ""
    return f"step {mark.step}{action}" + (f", “{mark.quote}”" if mark.quote else "")


def list_marks(session: Session, trajectory_id: int) -> Mapping[int, str]:
    """Return the reviewers and selected words of each marked step of a trajectory, by step number."""
    decision, item = tables.Decision, tables.Item
    statement = (
        current_decisions()
        .join(item, col(item.id) == decision.item_id)
        .where(item.trajectory_id == trajectory_id, col(decision.marked_steps).is_not(None))
        .order_by(col(decision.id))
    )
    said: dict[int, list[str]] = {}
    for row in session.exec(statement):
        for mark in read_marks(row.marked_steps):
            quote = f": “{mark.quote}”" if mark.quote else ""
            said.setdefault(mark.step, []).append(f"marked by {row.reviewer}{quote}")
    return {step: "; ".join(who) for step, who in said.items()}
