"""The presentation of a trajectory: its content for a person, in reading order, in the browser and the terminal.

The reading order supports the decision: the task, the action, the agent's belief, the reason for the flag, and then the
steps. A presentation of a checkpoint cannot contain anything after the critical action. The presentation of a long
record contains previews, the terms found in the record, and the last observations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from console.environments import ENVIRONMENTS
from console.environments.environment import Brief
from console.environments.evidence import LIMITS, WORDS, Evidence, EvidenceTable, TermState
from console.trajectory import Outcome, Picture, Step, Trajectory
from console.trajectory.call_values import value_text
from console.trajectory.calls import read_action
from console.trajectory.checkpoints import (
    Checkpoint,
    CheckpointKind,
    checkpoint_at,
    checkpoints,
    find_judge_appeals,
    is_thought,
    pending_action,
)
from console.trajectory.requirements import RequirementTable
from console.trajectory.terms import Term, TermKind, lowered, mentions, occurrences, terms

LONG_CHARS = 300
LONG_LINES = 3
PREVIEW_CHARS = 160
LAST_SEEN_CHARS = 420
"""The number of characters of the last observation that the page shows at first."""
_TELLING_CHARS = 80
# Too many marks hide the important ones, and each mark slows down the swap to the next item.
_MARKS, _WORD_MARKS = 3, 1
CELL_CHARS, _ROWS = 120, 30


def preview(text: str, limit: int = PREVIEW_CHARS) -> str:
    """Return the text on one line, cut at `limit` characters, and at a space if one is near."""
    flat, is_read = " ".join(text[: limit * 4].split()), len(text) <= limit * 4
    return flat if is_read and len(flat) <= limit else re.sub(r"\s+\S{,11}$", "", flat[: limit - 1]) + "…"


def is_long(text: str) -> bool:
    """Return whether a text is long enough to be folded behind its preview."""
    return len(text) > LONG_CHARS or text.count("\n") >= LONG_LINES


def find_spans(text: str, stated: Sequence[Term]) -> list[tuple[int, int]]:
    """Return the merged [start, end) spans of the terms in the text, in order; only the first few for each term."""
    matches = sorted(
        span for term in stated for span in occurrences(term, text)[: _WORD_MARKS if term.kind in WORDS else _MARKS]
    )
    merged: list[tuple[int, int]] = []
    for start, end in matches:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end > start:
            merged.append((start, end))
    return merged


def find_last_seen(steps: Sequence[Step]) -> tuple[tuple[int, str], ...]:
    """Return the number and text of the last observation; if it is too short, add the last informative observation."""
    seen = [
        (number, step.observation)
        for number, step in enumerate(steps, start=1)
        if step.observation.strip() and not is_thought(step.action)
    ]
    shown = seen[-1:]
    if shown and len(shown[0][1]) < _TELLING_CHARS:
        shown += [entry for entry in seen if len(entry[1]) >= _TELLING_CHARS][-1:]
    return tuple(shown)


def find_occurring_terms(stated: Sequence[Term], texts: Iterable[str]) -> tuple[Term, ...]:
    """Return the terms that occur in any of the texts."""
    lower = lowered("\n".join(texts))
    return tuple(term for term in stated if mentions(term, lower))


def find_unbelieved_terms(stated: Sequence[Term], belief: str) -> tuple[Term, ...]:
    """Return the price limits that an inferred task violates, then the terms that it lacks, specific terms first."""
    prices = [float(term.value) for term in terms(belief) if term.kind in (TermKind.PRICE, TermKind.PRICE_MAX)]
    highest, lowest = max(prices, default=-math.inf), min(prices, default=math.inf)
    violated = [
        term
        for term in stated
        if (term.kind is TermKind.PRICE_MAX and highest > float(term.value))
        or (term.kind is TermKind.PRICE_MIN and lowest < float(term.value))
    ]
    lower = lowered(belief)
    once = {term.text.lower(): term for term in reversed(stated) if term.kind not in LIMITS}
    missing = [term for term in reversed(once.values()) if not mentions(term, lower)]
    return (*violated, *sorted(missing, key=lambda term: term.kind in WORDS))


_FAILED = re.compile(
    r"\s*(?:API output:\s*)?(?:error|exception|traceback|invalid|nothing happens|could not|can ?not|unknown)\b",
    re.IGNORECASE,
)


class Block(StrEnum):
    """The blocks of a presentation, named by their headings on the page, in reading order."""

    ASKED = "The user asked"
    BRIEF = "What the user wants"
    ABOUT_TO = "The agent is about to"
    DID_LAST = "Last action of the agent"
    STUCK = "The agent halted"
    CRITICAL = "The critical action"
    NO_ACTION = "No critical action"
    LAST_SEEN = "What the agent saw last"
    BELIEVES = "Inferred task"
    FLAGGED = "Flagged by"
    DOUBTED = "Flagged"
    PASSED_BY = "Not flagged by"
    PASSED = "Not flagged"
    REQUIREMENTS = "Requirements"
    APPEALS = "Text addressed to a model or its judge"
    ALSO = "Also judged by"
    OUTCOME = "Outcome"
    OPENING = "What the agent saw first"
    INSTRUCTIONS = "The agent's instructions"
    STEPS = "Steps"
    AFTER = "After the critical action"


class ActionStatus(StrEnum):
    """The status of an item's action; each value is the text of the action's stamp."""

    WAITS = "not run yet"
    REPLAYED = "pending in this replay"
    RECORDED = "from a log"
    GONE = "agent stopped waiting"
    STOPPED = "did not run"
    BEGUN = "has begun"
    RAN = "has run"
    REPLACED = "replaced by the edit"


_WORDY = 14
_STATUSES: dict[CheckpointKind, str] = {CheckpointKind.ACTION: ActionStatus.WAITS, CheckpointKind.END: ActionStatus.RAN}
_HEADINGS = {
    CheckpointKind.ACTION: Block.ABOUT_TO,
    CheckpointKind.END: Block.DID_LAST,
    CheckpointKind.HALTED: Block.STUCK,
}


@dataclass(frozen=True, slots=True)
class Flag:
    """A detector's verdict on an item: the detector, the score, threshold and reasons, and whether the item is flagged.

    Fields that a study hides are None or empty. `also` holds the verdicts of other detectors on the same action,
    flagged or not.
    """

    detector: str | None
    score: float | None
    threshold: float | None
    reasons: tuple[str, ...] = ()
    also: tuple[Flag, ...] = ()
    flagged: bool = True

    @property
    def heading(self) -> Block:
        """The heading: whether the item is above its threshold, and "by" if the detector is named."""
        is_above = self.score is None or self.threshold is None or self.score > self.threshold
        if self.flagged and is_above:
            return Block.FLAGGED if self.detector else Block.DOUBTED
        return Block.PASSED_BY if self.detector else Block.PASSED

    @property
    def margin(self) -> str:
        """The score and its threshold as text, or an empty string if the score is missing."""
        if self.score is None or self.threshold is None:
            return ""
        relation = "above" if self.score > self.threshold else "not above"
        return f"score {self.score:.2f}, {relation} the threshold {self.threshold:.2f}"


@dataclass(frozen=True, slots=True)
class ShownStep:
    """One row of the timeline; `spoken` is a thought that the agent wrote instead of an action.

    `speaker` is the agent's name if several act; `pictures` belong to the observation; `marked` names its markers.
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
    marked: str = ""


@dataclass(frozen=True, slots=True)
class Presentation:
    """The content to show, in reading order; a part that may not be shown is None or empty.

    `found`, `offered` and `missing` are terms of the task, specific terms first: found in a relevant place, found only
    in options that were not chosen, and not found. `table` holds the facts behind the decision, with shortened cells.
    These four fields come from the same evidence that the detectors use. `unbelieved` are terms that the inferred task
    lacks or exceeds. `last_seen` holds the numbers and texts of observations. `customer` holds the numbers of the steps
    whose observation is a customer's message. `appeals` are passages that address a model or its judge, by step.
    `instructed` is true if the opening contains the agent's instructions.
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
    table: EvidenceTable | None = None
    brief: Brief = ()
    belief: str | None = None
    unbelieved: tuple[Term, ...] = ()
    flag: Flag | None = None
    appeals: tuple[tuple[int, str], ...] = ()
    outcome: tuple[tuple[str, str], ...] = ()
    pictures: tuple[Picture, ...] = ()
    """Pictures of the opening."""
    requirements: RequirementTable | None = None
    corrected: frozenset[str] = frozenset()
    """The verdict's table, shown in place of terms, evidence and reasons, and the keys of lines that are corrected."""

    @property
    def is_wordy(self) -> bool:
        """True if the task states so many terms that plain words are not marked."""
        return len(self.terms) > _WORDY

    @property
    def telling(self) -> tuple[Term, ...]:
        """The terms that are more than plain words: limits, sizes, names, dates and attributes."""
        return tuple(term for term in self.terms if term.kind not in WORDS)


def checkpoint_presentation(
    checkpoint: Checkpoint,
    *,
    flag: Flag | None = None,
    belief: str | None = None,
    brief: Brief = (),
    highlights: bool = True,
    status: ActionStatus | None = None,
) -> Presentation:
    """Present a checkpoint; omit the flag, belief and brief if they are None or empty.

    Without `highlights`, no term of the task is marked. `status` is the status of the action (default: by its kind).
    """
    stamp = status or _STATUSES.get(checkpoint.kind, "")
    has_run = stamp is ActionStatus.RECORDED or (stamp is ActionStatus.RAN and checkpoint.kind is CheckpointKind.ACTION)
    read = Evidence(checkpoint)
    stated = read.terms if highlights else ()
    rows = [_row(step, number, checkpoint.environment) for number, step in enumerate(checkpoint.steps, start=1)]
    if checkpoint.kind is not CheckpointKind.HALTED:
        number, action, speaker = checkpoint.index + 1, checkpoint.action, checkpoint.speaker
        rows.append(ShownStep(number, action, "", checkpoint.thought, critical=True, stamp=stamp, speaker=speaker))
    return Presentation(
        task=checkpoint.instruction,
        terms=stated,
        found=read.by_state[TermState.FOUND] if highlights else (),
        offered=read.by_state[TermState.OFFERED] if highlights else (),
        missing=read.by_state[TermState.MISSING] if highlights else (),
        table=_cut(read.table) if highlights and checkpoint.kind is not CheckpointKind.HALTED else None,
        heading=Block.CRITICAL if has_run else _HEADINGS[checkpoint.kind],
        action=checkpoint.action,
        stamp=stamp,
        last_seen=find_last_seen(checkpoint.steps),
        steps=tuple(rows),
        opening=checkpoint.opening,
        instructed=ENVIRONMENTS[checkpoint.environment].instructed,
        customer=_customer(checkpoint.steps, checkpoint.environment),
        brief=brief,
        belief=belief,
        unbelieved=find_unbelieved_terms(stated, belief) if belief else (),
        flag=flag,
        appeals=find_judge_appeals(checkpoint) if highlights else (),
        pictures=checkpoint.pictures,
    )


def record_presentation(trajectory: Trajectory, critical: Sequence[str] | None = None) -> Presentation:
    """Present the whole record for researchers, including outcome, gold label and the steps after the critical action.

    `critical` holds the patterns of critical actions, by default the environment's. A pending action alone is critical.
    """
    patterns = ENVIRONMENTS[trajectory.environment].critical if critical is None else critical
    pending = pending_action(trajectory)
    marked = [one.index for one in checkpoints(trajectory, patterns)] if pending is None else [len(trajectory.steps)]
    at = marked[0] if marked else len(trajectory.steps)
    actions = [*(step.action for step in trajectory.steps), trajectory.critical_action or ""]
    rows = list(_record_rows(trajectory, marked))
    unrun = ActionStatus.STOPPED if trajectory.outcome is Outcome.REJECTED else ActionStatus.WAITS
    if pending is not None:
        rows.append(ShownStep(len(trajectory.steps) + 1, action=pending, critical=True, stamp=unrun))
    read = Evidence(checkpoint_at(trajectory, at, CheckpointKind.ACTION if marked else CheckpointKind.HALTED))
    return Presentation(
        task=trajectory.instruction,
        terms=read.terms,
        found=read.by_state[TermState.FOUND],
        offered=read.by_state[TermState.OFFERED],
        missing=read.by_state[TermState.MISSING],
        table=_cut(read.table) if marked else None,
        heading=Block.CRITICAL if marked else Block.NO_ACTION,
        action=actions[at] if marked else "",
        stamp="" if not marked else unrun if at == len(trajectory.steps) else ActionStatus.RAN,
        last_seen=find_last_seen(trajectory.steps[:at]),
        steps=tuple(rows),
        opening=trajectory.opening,
        instructed=ENVIRONMENTS[trajectory.environment].instructed,
        customer=_customer(trajectory.steps[:at], trajectory.environment),
        outcome=_outcome(trajectory),
        pictures=trajectory.pictures,
    )


def _customer(steps: Sequence[Step], where: str) -> frozenset[int]:
    """Return the numbers of the steps that address a customer; their observations are the customer's messages."""
    talks = ENVIRONMENTS[where].talks
    return frozenset(
        number
        for number, step in enumerate(steps, start=1)
        if talks and {call.name for call in read_action(step.action)} & {*talks}
    )


def _cut(table: EvidenceTable | None) -> EvidenceTable | None:
    """Return the table with only its first rows, and with each cell shortened to a preview."""
    if table is None:
        return None
    return replace(table, rows=tuple(tuple(preview(cell, CELL_CHARS) for cell in row) for row in table.rows[:_ROWS]))


def _row(step: Step, number: int, where: str, *, critical: bool = False, after: bool = False) -> ShownStep:
    spoken = step.action if is_thought(step.action) else ""
    not_executed = step.observation.lstrip().startswith(ENVIRONMENTS[where].not_executed)
    return ShownStep(
        number=number,
        action="" if spoken else step.action,
        spoken=spoken or (step.thought if not step.action else ""),
        thought=step.thought if step.action else "",
        observation=step.observation,
        failed=not_executed or bool(_FAILED.match(step.observation)),
        critical=critical,
        stamp=_edited(step),
        after=after,
        speaker=step.speaker,
        pictures=step.pictures,
    )


def _edited(step: Step) -> str:
    """Describe the origin of an action that ran in place of the Actor's action; empty if the step records none."""
    instead_of = step.extra.get("instead_of")
    if not instead_of:
        return ""
    chosen = "an agent's remedy, chosen" if step.extra.get("remedy") else "written"
    return f"{chosen} in review instead of {preview(str(instead_of))}"


def _record_rows(trajectory: Trajectory, critical: Sequence[int]) -> Iterator[ShownStep]:
    """Yield the rows of a record; the result of the first critical action gets its own row."""
    for index, step in enumerate(trajectory.steps):
        after = bool(critical) and index > critical[0]
        row = _row(step, index + 1, trajectory.environment, critical=index in critical, after=after)
        if critical and index == critical[0]:
            yield replace(row, observation="", failed=False, pictures=())
            seen = row.observation, row.failed, row.pictures
            row = ShownStep(row.number, observation=seen[0], failed=seen[1], after=True, pictures=seen[2])
        if row.action or row.spoken or row.observation:
            yield row


def _outcome(trajectory: Trajectory) -> tuple[tuple[str, str], ...]:
    gold = [(f"gold {name}", value_text(value)) for name, value in trajectory.gold.items() if value is not None]
    return ("outcome", str(trajectory.outcome)), ("trial", str(trajectory.trial)), *gold
