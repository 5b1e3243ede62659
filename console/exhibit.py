"""What a person is shown of a trajectory, and in which order. The browser and the terminal both draw this exhibit.

The order of reading is the order of deciding: the task, the action, what the agent believes, why it is flagged, and
only then the steps. An exhibit made from a checkpoint cannot hold what came after the critical action.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from console.critical import Checkpoint, CheckpointKind, checkpoints, is_thought, pending_action
from console.environments import environment
from console.terms import Term, TermKind, lowered, mentions, occurrences, terms
from console.trajectory import Step, Trajectory

LONG_CHARS = 300
LONG_LINES = 3
PREVIEW_CHARS = 160
LIMITS = frozenset({TermKind.PRICE_MAX, TermKind.PRICE_MIN, TermKind.NEGATION})
"""What a text keeps to without saying it, so neither found nor missing."""
_LAST_SEEN_CHARS = 420
_TELLING_CHARS = 80

_FAILED = re.compile(
    r"\s*(?:API output:\s*)?(?:error|exception|traceback|invalid|nothing happens|could not|can ?not|unknown)\b",
    re.IGNORECASE,
)


class Heading(StrEnum):
    """The blocks of an exhibit by their words on the page, in the order of reading."""

    ASKED = "The user asked"
    ABOUT_TO = "The agent is about to"
    DID_LAST = "The agent did last"
    STUCK = "The agent got stuck"
    NO_ACTION = "No critical action"
    LAST_SEEN = "It saw last"
    BELIEVES = "It seems to believe"
    FLAGGED = "Flagged by"
    OUTCOME = "How it ended"
    OPENING = "What it saw first"
    STEPS = "Steps"
    AFTER = "After the critical action"


NOT_RUN = "not run yet"
HAS_RUN = "has run"
_STAMPS = {CheckpointKind.ACTION: NOT_RUN, CheckpointKind.END: HAS_RUN, CheckpointKind.HALTED: ""}
_HEADINGS = {
    CheckpointKind.ACTION: Heading.ABOUT_TO,
    CheckpointKind.END: Heading.DID_LAST,
    CheckpointKind.HALTED: Heading.STUCK,
}


@dataclass(frozen=True, slots=True)
class Flag:
    """Why an item is in the queue: the detector's name, its score over its threshold, its reasons one a line."""

    detector: str
    score: float
    threshold: float
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownStep:
    """One row of the timeline. `spoken` is a thought that the agent wrote instead of an action."""

    number: int
    action: str = ""
    spoken: str = ""
    thought: str = ""
    observation: str = ""
    failed: bool = False
    critical: bool = False
    stamp: str = ""
    after: bool = False


@dataclass(frozen=True, slots=True)
class Exhibit:
    """Everything that is shown, in the order of reading; what may not be shown is None or empty.

    `found` and `missing` are the terms of the task that occur, or do not, in what the agent did and saw; `last_seen` is
    the number and the beginning of the last observation, and of the last telling one where that is too short to tell;
    `unbelieved` are those that the inferred task lacks.
    """

    task: str
    terms: tuple[Term, ...]
    found: tuple[Term, ...]
    missing: tuple[Term, ...]
    heading: Heading
    action: str
    stamp: str
    last_seen: tuple[tuple[int, str], ...]
    steps: tuple[ShownStep, ...]
    opening: str = ""
    belief: str | None = None
    unbelieved: tuple[Term, ...] = ()
    flag: Flag | None = None
    outcome: tuple[tuple[str, str], ...] = ()


def checkpoint_exhibit(checkpoint: Checkpoint, *, flag: Flag | None = None, belief: str | None = None) -> Exhibit:
    """The exhibit of a checkpoint; flag and belief stay out of it altogether where they are None."""
    stated = terms(checkpoint.instruction)
    rows = [_row(step, number, checkpoint.environment) for number, step in enumerate(checkpoint.steps, start=1)]
    if checkpoint.kind is not CheckpointKind.HALTED:
        rows.append(_pending_row(checkpoint))
    found, missing = _compare(stated, _evidence(checkpoint.steps, checkpoint.action, checkpoint.instruction))
    return Exhibit(
        task=checkpoint.instruction,
        terms=stated,
        found=found,
        missing=missing,
        heading=_HEADINGS[checkpoint.kind],
        action=checkpoint.action,
        stamp=_STAMPS[checkpoint.kind],
        last_seen=_last_seen(checkpoint.steps),
        steps=tuple(rows),
        opening=checkpoint.opening,
        belief=belief,
        unbelieved=_compare(stated, belief)[1] if belief else (),
        flag=flag,
    )


def record_exhibit(trajectory: Trajectory, critical: Sequence[str] | None = None) -> Exhibit:
    """The whole record, for researchers: also what came after the first critical action, the outcome and the gold.

    `critical` are the run's patterns; by default those of the environment.
    """
    patterns = environment(trajectory.environment).critical if critical is None else critical
    marked = [point.index for point in checkpoints(trajectory, patterns)]
    at = marked[0] if marked else len(trajectory.steps)
    rows = [
        _row(step, n + 1, trajectory.environment, critical=n in marked, after=n > at)
        for n, step in enumerate(trajectory.steps)
    ]
    pending = pending_action(trajectory)
    if pending is not None:
        rows.append(ShownStep(len(rows) + 1, action=pending, critical=True, stamp=NOT_RUN))
    stated = terms(trajectory.instruction)
    action = _action_at(trajectory, at) if marked else ""
    found, missing = _compare(stated, _evidence(trajectory.steps[:at], action, trajectory.instruction))
    return Exhibit(
        task=trajectory.instruction,
        terms=stated,
        found=found,
        missing=missing,
        heading=Heading.ABOUT_TO if marked else Heading.NO_ACTION,
        action=action,
        stamp="" if not marked else NOT_RUN if at == len(trajectory.steps) else HAS_RUN,
        last_seen=_last_seen(trajectory.steps[:at]),
        steps=tuple(rows),
        opening=trajectory.opening,
        outcome=_outcome(trajectory),
    )


def preview(text: str, limit: int = PREVIEW_CHARS) -> str:
    """The text on one line, cut at `limit` characters."""
    flat = " ".join(text[: limit * 4].split())
    return flat if len(flat) <= limit and len(text) <= limit * 4 else flat[: limit - 1].rstrip() + "…"


def is_long(text: str) -> bool:
    """Whether a text is folded behind its preview."""
    return len(text) > LONG_CHARS or text.count("\n") >= LONG_LINES


def spans(text: str, stated: Sequence[Term]) -> list[tuple[int, int]]:
    """Where the terms occur in the text, merged and in order, as [start, end)."""
    lower = lowered(text)
    found = sorted(span for term in stated if mentions(term, lower) for span in occurrences(term, text))
    merged: list[tuple[int, int]] = []
    for start, end in found:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end > start:
            merged.append((start, end))
    return merged


def _action_at(trajectory: Trajectory, index: int) -> str:
    return trajectory.steps[index].action if index < len(trajectory.steps) else trajectory.critical_action or ""


def _row(step: Step, number: int, where: str, *, critical: bool = False, after: bool = False) -> ShownStep:
    spoken = step.action if is_thought(step.action) else ""
    return ShownStep(
        number=number,
        action="" if spoken else step.action,
        spoken=spoken or (step.thought if not step.action else ""),
        thought=step.thought if step.action else "",
        observation=step.observation,
        failed=_has_failed(step.observation, where),
        critical=critical,
        after=after,
    )


def _pending_row(checkpoint: Checkpoint) -> ShownStep:
    return ShownStep(
        number=checkpoint.index + 1,
        action=checkpoint.action,
        thought=checkpoint.thought,
        critical=True,
        stamp=_STAMPS[checkpoint.kind],
    )


def _has_failed(observation: str, where: str) -> bool:
    said = environment(where).not_executed
    return bool(_FAILED.match(observation)) or observation.lstrip().startswith(said)


def _last_seen(steps: Sequence[Step]) -> tuple[tuple[int, str], ...]:
    seen = [
        (number, step.observation)
        for number, step in enumerate(steps, start=1)
        if step.observation.strip() and not is_thought(step.action)
    ]
    shown = seen[-1:]
    if shown and len(shown[0][1]) < _TELLING_CHARS:
        shown += [entry for entry in seen if len(entry[1]) >= _TELLING_CHARS][-1:]
    return tuple((number, preview(text, _LAST_SEEN_CHARS)) for number, text in shown)


def _evidence(steps: Sequence[Step], action: str, instruction: str) -> str:
    """What the agent did and saw; pages that repeat the task would make every term look found."""
    text = "\n".join([*(f"{step.action}\n{step.observation}" for step in steps if not is_thought(step.action)), action])
    return text.replace(instruction.strip(), " ") if instruction.strip() else text


def _compare(stated: Sequence[Term], text: str) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    lower = lowered(text)
    once = {term.text.lower(): term for term in reversed(stated) if term.kind not in LIMITS}
    held = {term: mentions(term, lower) for term in reversed(once.values())}
    return tuple(term for term in held if held[term]), tuple(term for term in held if not held[term])


def _outcome(trajectory: Trajectory) -> tuple[tuple[str, str], ...]:
    lines = [("outcome", str(trajectory.outcome)), ("trial", str(trajectory.trial))]
    lines += [(f"gold {name}", str(value)) for name, value in trajectory.gold.items() if value is not None]
    return tuple(lines)


def reasons(rationale: str) -> tuple[str, ...]:
    """A verdict's rationale as its lines, empty ones left out."""
    return tuple(line.strip() for line in rationale.splitlines() if line.strip())
