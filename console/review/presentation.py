"""The presentation of a trajectory: what a person is shown of it, and in which order, in the browser and the terminal.

The order of reading is the order of deciding: the task, the action, what the agent believes, why it is flagged, and
only then the steps. A presentation made from a checkpoint cannot hold what came after the critical action. Of a long
record it holds previews, the terms found in it, and what was seen last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from console.environments import environment
from console.environments.evidence import WORDS, Evidence, Table, TermState
from console.environments.task_briefing import Brief
from console.review.belief import unbelieved
from console.review.judge_appeals import judge_appeals
from console.trajectory import Picture, Step, Trajectory
from console.trajectory.checkpoints import (
    Checkpoint,
    CheckpointKind,
    calls,
    checkpoint_at,
    checkpoints,
    is_thought,
    pending_action,
)
from console.trajectory.terms import Term, lowered, mentions, occurrences

LONG_CHARS = 300
LONG_LINES = 3
PREVIEW_CHARS = 160
LAST_SEEN_CHARS = 420
"""Characters of what was seen last that stand on the page at first."""
_TELLING_CHARS = 80
# Where everything is marked, nothing is; and each mark is one more element to swap when the next item comes.
_MARKS, _WORD_MARKS = 3, 1
_CELL_CHARS, _ROWS = 120, 30


def preview(text: str, limit: int = PREVIEW_CHARS) -> str:
    """The text on one line, cut at `limit` characters."""
    flat = " ".join(text[: limit * 4].split())
    return flat if len(flat) <= limit and len(text) <= limit * 4 else flat[: limit - 1].rstrip() + "…"


def is_long(text: str) -> bool:
    """Whether a text is folded behind its preview."""
    return len(text) > LONG_CHARS or text.count("\n") >= LONG_LINES


def spans(text: str, stated: Sequence[Term]) -> list[tuple[int, int]]:
    """Where the terms occur in the text, merged and in order, as [start, end): the first few of each."""
    matches = sorted(span for term in stated for span in occurrences(term, text)[: _most(term)])
    merged: list[tuple[int, int]] = []
    for start, end in matches:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end > start:
            merged.append((start, end))
    return merged


def _most(term: Term) -> int:
    return _WORD_MARKS if term.kind in WORDS else _MARKS


def last_seen(steps: Sequence[Step]) -> tuple[tuple[int, str], ...]:
    """Number and text of the last observation; where that is too short to tell, also of the last telling one."""
    seen = [
        (number, step.observation)
        for number, step in enumerate(steps, start=1)
        if step.observation.strip() and not is_thought(step.action)
    ]
    shown = seen[-1:]
    if shown and len(shown[0][1]) < _TELLING_CHARS:
        shown += [entry for entry in seen if len(entry[1]) >= _TELLING_CHARS][-1:]
    return tuple(shown)


def occurring(stated: Sequence[Term], texts: Iterable[str]) -> tuple[Term, ...]:
    """The terms that occur anywhere in the texts."""
    lower = lowered("\n".join(texts))
    return tuple(term for term in stated if mentions(term, lower))


_FAILED = re.compile(
    r"\s*(?:API output:\s*)?(?:error|exception|traceback|invalid|nothing happens|could not|can ?not|unknown)\b",
    re.IGNORECASE,
)


class Block(StrEnum):
    """The blocks of a presentation by their words on the page, in the order of reading."""

    ASKED = "The user asked"
    BRIEF = "The user has in mind"
    ABOUT_TO = "The agent is about to"
    DID_LAST = "The agent did last"
    STUCK = "The agent got stuck"
    CRITICAL = "The critical action"
    NO_ACTION = "No critical action"
    LAST_SEEN = "It saw last"
    BELIEVES = "It seems to believe"
    FLAGGED = "Flagged by"
    DOUBTED = "Flagged"
    PASSED_BY = "Not flagged by"
    PASSED = "Not flagged"
    APPEALS = "Words for a model or its judge"
    ALSO = "Also judged by"
    OUTCOME = "How it ended"
    OPENING = "What it saw first"
    INSTRUCTIONS = "The agent's instructions"
    STEPS = "Steps"
    AFTER = "After the critical action"


class Standing(StrEnum):
    """How the action of an item stands, in the words of its stamp."""

    WAITS = "not run yet"
    REPLAYED = "held in this replay"
    RECORDED = "from a log"
    RAN = "has run"


_WORDY = 14
_STANDING = {CheckpointKind.ACTION: Standing.WAITS, CheckpointKind.END: Standing.RAN, CheckpointKind.HALTED: None}
_HEADINGS = {
    CheckpointKind.ACTION: Block.ABOUT_TO,
    CheckpointKind.END: Block.DID_LAST,
    CheckpointKind.HALTED: Block.STUCK,
}


@dataclass(frozen=True, slots=True)
class Flag:
    """What a detector says of an item: its name, its score and threshold, its reasons one a line, whether it flags it.

    Whatever a study hides of it is None or empty. `also` is what other detectors say of the action, flagged or not.
    """

    detector: str | None
    score: float | None
    threshold: float | None
    reasons: tuple[str, ...] = ()
    also: tuple[Flag, ...] = ()
    flagged: bool = True

    @property
    def heading(self) -> Block:
        """The words over it, which promise a name only where one follows."""
        if self.flagged:
            return Block.FLAGGED if self.detector else Block.DOUBTED
        return Block.PASSED_BY if self.detector else Block.PASSED

    @property
    def margin(self) -> str:
        """The score over its threshold, or nothing."""
        if self.score is None or self.threshold is None:
            return ""
        where = "over" if self.score > self.threshold else "not over"
        return f"score {self.score:.2f} {where} {self.threshold:.2f}, its threshold"


@dataclass(frozen=True, slots=True)
class ShownStep:
    """One row of the timeline. `spoken` is a thought that the agent wrote instead of an action.

    `speaker` is the agent, where several act; `pictures` are those in its observation.
    """

    number: int
    action: str = ""
    spoken: str = ""
    thought: str = ""
    observation: str = ""
    failed: bool = False
    critical: bool = False
    stamp: str = ""
    after: bool = False
    speaker: str = ""
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Presentation:
    """Everything that is shown, in the order of reading; what may not be shown is None or empty.

    `found`, `offered` and `missing` (the telling ones first) are the terms of the task that were found where they
    count, that only stand among options not chosen, and that nothing showed; `table` is what the decision rests on, its
    cells cut. All four come from the evidence that the detectors' sentences come from. `unbelieved` are the terms that
    the inferred task lacks or goes beyond; `last_seen` holds the numbers and texts of observations, `customer` the
    numbers of the steps whose observation is what a customer said; `appeals` are places that speak to a model or its
    judge, by step. `instructed` says that the opening holds the agent's instructions.
    """

    task: str
    terms: tuple[Term, ...]
    found: tuple[Term, ...]
    missing: tuple[Term, ...]
    heading: Block
    action: str
    stamp: str
    last_seen: tuple[tuple[int, str], ...]
    steps: tuple[ShownStep, ...]
    opening: str = ""
    instructed: bool = False
    customer: frozenset[int] = frozenset()
    offered: tuple[Term, ...] = ()
    table: Table | None = None
    brief: Brief = ()
    belief: str | None = None
    unbelieved: tuple[Term, ...] = ()
    flag: Flag | None = None
    appeals: tuple[tuple[int, str], ...] = ()
    outcome: tuple[tuple[str, str], ...] = ()
    pictures: tuple[Picture, ...] = ()
    """Those of the opening."""

    @property
    def is_wordy(self) -> bool:
        """Whether the task states so much that its plain words are better left unmarked."""
        return len(self.terms) > _WORDY

    @property
    def telling(self) -> tuple[Term, ...]:
        """The terms that are more than a plain word: limits, sizes, names, dates, attributes."""
        return tuple(term for term in self.terms if term.kind not in WORDS)


def checkpoint_presentation(
    checkpoint: Checkpoint,
    *,
    flag: Flag | None = None,
    belief: str | None = None,
    brief: Brief = (),
    highlights: bool = True,
    standing: Standing | None = None,
) -> Presentation:
    """The presentation of a checkpoint; flag, belief and brief stay out of it altogether where they are None or empty.

    Without `highlights` no term of the task is set apart from its other words. `standing` is how the action stands in
    its run; by default as its kind has it where an agent waits.
    """
    stamp = standing or _STANDING[checkpoint.kind] or ""
    read = Evidence(checkpoint)
    stated = read.terms if highlights else ()
    rows = [_row(step, number, checkpoint.environment) for number, step in enumerate(checkpoint.steps, start=1)]
    if checkpoint.kind is not CheckpointKind.HALTED:
        rows.append(_pending_row(checkpoint, stamp))
    return Presentation(
        task=checkpoint.instruction,
        terms=stated,
        found=read.in_state(TermState.FOUND) if highlights else (),
        offered=read.in_state(TermState.OFFERED) if highlights else (),
        missing=read.in_state(TermState.MISSING) if highlights else (),
        table=_cut(read.table) if highlights and checkpoint.kind is not CheckpointKind.HALTED else None,
        heading=Block.CRITICAL if stamp is Standing.RECORDED else _HEADINGS[checkpoint.kind],
        action=checkpoint.action,
        stamp=stamp,
        last_seen=last_seen(checkpoint.steps),
        steps=tuple(rows),
        opening=checkpoint.opening,
        instructed=environment(checkpoint.environment).instructed,
        customer=_customer(checkpoint.steps, checkpoint.environment),
        brief=brief,
        belief=belief,
        unbelieved=unbelieved(stated, belief) if belief else (),
        flag=flag,
        appeals=judge_appeals(checkpoint) if highlights else (),
        pictures=checkpoint.pictures,
    )


def record_presentation(trajectory: Trajectory, critical: Sequence[str] | None = None) -> Presentation:
    """The whole record, for researchers: also what came after the first critical action, the outcome and the gold.

    `critical` are the run's patterns; by default those of the environment.
    """
    patterns = environment(trajectory.environment).critical if critical is None else critical
    marked = [point.index for point in checkpoints(trajectory, patterns)]
    at = marked[0] if marked else len(trajectory.steps)
    rows = list(_record_rows(trajectory, marked))
    pending = pending_action(trajectory)
    if pending is not None:
        rows.append(ShownStep(len(trajectory.steps) + 1, action=pending, critical=True, stamp=Standing.WAITS))
    read = Evidence(checkpoint_at(trajectory, at, CheckpointKind.ACTION if marked else CheckpointKind.HALTED))
    return Presentation(
        task=trajectory.instruction,
        terms=read.terms,
        found=read.in_state(TermState.FOUND),
        offered=read.in_state(TermState.OFFERED),
        missing=read.in_state(TermState.MISSING),
        table=_cut(read.table) if marked else None,
        heading=Block.CRITICAL if marked else Block.NO_ACTION,
        action=_action_at(trajectory, at) if marked else "",
        stamp="" if not marked else Standing.WAITS if at == len(trajectory.steps) else Standing.RAN,
        last_seen=last_seen(trajectory.steps[:at]),
        steps=tuple(rows),
        opening=trajectory.opening,
        instructed=environment(trajectory.environment).instructed,
        customer=_customer(trajectory.steps[:at], trajectory.environment),
        outcome=_outcome(trajectory),
        pictures=trajectory.pictures,
    )


def _customer(steps: Sequence[Step], where: str) -> frozenset[int]:
    """The numbers of the steps that speak to a customer, so that what follows is the customer's."""
    talks = environment(where).talks
    return frozenset(
        number
        for number, step in enumerate(steps, start=1)
        if talks and {call.name for call in calls(step.action)} & {*talks}
    )


def _cut(table: Table | None) -> Table | None:
    """The table with its cells as previews."""
    if table is None:
        return None
    return Table(table.columns, tuple(tuple(preview(cell, _CELL_CHARS) for cell in row) for row in table.rows[:_ROWS]))


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
        stamp=_edited(step),
        after=after,
        speaker=step.speaker,
        pictures=step.pictures,
    )


def _edited(step: Step) -> str:
    """Whose action it was, where reviewers had it done instead of the Actor's; a checkpoint's steps do not tell."""
    instead_of = step.extra.get("instead_of")
    if not instead_of:
        return ""
    chosen = "the agent's own remedy, chosen" if step.extra.get("remedy") else "written"
    return f"{chosen} in review instead of {preview(str(instead_of))}"


def _record_rows(trajectory: Trajectory, critical: Sequence[int]) -> Iterator[ShownStep]:
    """What the first critical action brought about is a row of its own, the first of those that came after."""
    for index, step in enumerate(trajectory.steps):
        after = bool(critical) and index > critical[0]
        row = _row(step, index + 1, trajectory.environment, critical=index in critical, after=after)
        if critical and index == critical[0]:
            yield replace(row, observation="", failed=False, pictures=())
            seen = row.observation, row.failed, row.pictures
            row = ShownStep(row.number, observation=seen[0], failed=seen[1], after=True, pictures=seen[2])
        if row.action or row.spoken or row.observation:
            yield row


def _pending_row(checkpoint: Checkpoint, stamp: str) -> ShownStep:
    return ShownStep(
        number=checkpoint.index + 1,
        action=checkpoint.action,
        thought=checkpoint.thought,
        critical=True,
        stamp=stamp,
        speaker=checkpoint.speaker,
    )


def _has_failed(observation: str, where: str) -> bool:
    not_executed = environment(where).not_executed
    return bool(_FAILED.match(observation)) or observation.lstrip().startswith(not_executed)


def _outcome(trajectory: Trajectory) -> tuple[tuple[str, str], ...]:
    lines = [("outcome", str(trajectory.outcome)), ("trial", str(trajectory.trial))]
    lines += [(f"gold {name}", str(value)) for name, value in trajectory.gold.items() if value is not None]
    return tuple(lines)


def reasons(rationale: str) -> tuple[str, ...]:
    """A verdict's rationale as its lines, empty ones left out."""
    return tuple(line.strip() for line in rationale.splitlines() if line.strip())
