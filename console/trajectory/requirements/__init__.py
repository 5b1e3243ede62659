"""The requirement table: the requirements of a task, their statuses at a checkpoint, and their verified quotes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson

from console.errors import BadInput
from console.trajectory.checkpoints import Checkpoint

BASE, PER_BROKEN, NOT_SHOWN, MET = -1.0, 1.5, 0.25, 0.25
"""The terms of the formula, in log odds."""
MOST_LINES = 60


class RequirementKind(StrEnum):
    """The kind of a requirement; pages show the values."""

    THING = "kind of thing"
    ATTRIBUTE = "attribute"
    OPTION = "option"
    AMOUNT = "amount"
    LIMIT = "limit"
    DATE = "date"
    ID = "id"
    RECIPIENT = "recipient"
    PERMISSION = "permission"
    PROHIBITION = "prohibition"
    QUESTION = "question"


class Standing(StrEnum):
    """The status of a requirement at a checkpoint; pages show `name_status`."""

    BROKEN = "broken"
    NOT_SHOWN = "not shown"
    CANNOT_TELL = "cannot tell"
    MET = "met"


class QuotePlace(StrEnum):
    """The text that contains a quote; `POLICY` is the opening shown to the agent."""

    REQUEST = "request"
    POLICY = "policy"
    THOUGHT = "thought"
    ACTION = "action"
    OBSERVATION = "observation"


_IN_STEPS = frozenset({QuotePlace.THOUGHT, QuotePlace.ACTION, QuotePlace.OBSERVATION})


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote: its text, its position [start, end) in the text of its place, and its step number or None.

    Steps count from 1; the pending action is step `checkpoint.index + 1`. The request and the policy have no step.
    """

    text: str
    start: int
    end: int
    place: QuotePlace = QuotePlace.REQUEST
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement of the request: its kind, object (`about`, such as `refund of order 13`), value and quote."""

    kind: RequirementKind
    about: str
    value: str
    quote: Quote


LineKey = tuple[str, str, str]
"""The identity of a line across detectors and in corrections: (kind, about, value)."""


@dataclass(frozen=True, slots=True)
class Line:
    """A requirement, its status, the quote as evidence, and the check that made the line (`rule`, or "").

    A met or broken line needs a quote from a step; lines with the other two standings may have no quote.
    """

    requirement: Requirement
    standing: Standing
    evidence: Quote | None = None
    rule: str = ""

    @property
    def key(self) -> LineKey:
        """The kind, object and value of the requirement."""
        one = self.requirement
        return str(one.kind), one.about, one.value


@dataclass(frozen=True, slots=True)
class RequirementTable:
    """The verified lines of a checkpoint, broken lines first; `dropped` counts the lines that could not be verified.

    `ranks` are weak signals by name, in log odds; pages name them weak signals. `harmless` is true if the pending
    action changes nothing, so that it needs no line. `changed` are the earlier steps that may have changed data.
    """

    lines: tuple[Line, ...] = ()
    dropped: int = 0
    ranks: Mapping[str, float] = field(default_factory=dict)
    harmless: bool = False
    changed: tuple[int, ...] = ()

    def having(self, standing: Standing) -> tuple[Line, ...]:
        """Return the lines with this status."""
        return tuple(line for line in self.lines if line.standing is standing)

    @property
    def is_broken(self) -> bool:
        """True if a line is broken."""
        return bool(self.having(Standing.BROKEN))

    @property
    def is_unchecked(self) -> bool:
        """True if no line is met or broken, although the action can change something."""
        return not self.harmless and not any(line.standing in (Standing.MET, Standing.BROKEN) for line in self.lines)

    @property
    def score(self) -> float:
        """The score in (0, 1) by the formula above; it exceeds 0.5 if and only if a line is broken."""
        counts, all_lines = Counter(line.standing for line in self.lines), max(1, len(self.lines))
        x = BASE + PER_BROKEN * counts[Standing.BROKEN] + sum(self.ranks.values())
        x += (NOT_SHOWN * counts[Standing.NOT_SHOWN] - MET * counts[Standing.MET]) / all_lines
        share = 1 / (1 + math.exp(-min(30.0, max(-30.0, x))))
        return (1 + share) / 2 if self.is_broken else share / 2

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON values, for the parameters of a verdict."""
        return {
            "lines": [_line_dict(line) for line in self.lines],
            "dropped": self.dropped,
            "ranks": {name: round(value, 4) for name, value in self.ranks.items()},
            "harmless": self.harmless,
            "changed": list(self.changed),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> RequirementTable:
        """Parse a table written by `to_dict`; raise BadInput if the record is not a valid table."""
        try:
            lines = tuple(_read_line(line) for line in record["lines"])
            changed = tuple(int(step) for step in record.get("changed", ()))
            return cls(lines, int(record["dropped"]), dict(record["ranks"]), bool(record["harmless"]), changed)
        except (KeyError, TypeError, ValueError) as broken:
            raise BadInput(f"the requirement table of a verdict cannot be read ({broken}). Detect again") from broken

    @classmethod
    def from_json(cls, stored: str | None) -> RequirementTable | None:
        """Parse the stored table of a verdict; return None if the verdict has no table."""
        return cls.from_dict(orjson.loads(stored)) if stored else None


def text_at(checkpoint: Checkpoint, place: QuotePlace, step: int | None) -> str | None:
    """Return the text of a place at a checkpoint, or None if the checkpoint does not have this place."""
    if place not in _IN_STEPS:
        whole = checkpoint.instruction if place is QuotePlace.REQUEST else checkpoint.opening
        return whole if step is None else None
    if step is None or not 1 <= step <= checkpoint.index + 1:
        return None
    if step == checkpoint.index + 1:
        # The pending action has no result yet.
        return {QuotePlace.THOUGHT: checkpoint.thought, QuotePlace.ACTION: checkpoint.action}.get(place)
    if step > len(checkpoint.steps):
        return None
    taken = checkpoint.steps[step - 1]
    return {QuotePlace.THOUGHT: taken.thought, QuotePlace.ACTION: taken.action}.get(place, taken.observation)


def is_verbatim(checkpoint: Checkpoint, quote: Quote) -> bool:
    """Return whether the source text contains the quote at the stated position."""
    whole = text_at(checkpoint, quote.place, quote.step)
    if whole is None or not 0 <= quote.start < quote.end <= len(whole):
        return False
    return bool(quote.text.strip()) and whole[quote.start : quote.end] == quote.text


def verify(
    checkpoint: Checkpoint,
    lines: Iterable[Line],
    *,
    replies: Collection[int] = (),
    ranks: Mapping[str, float] | None = None,
    harmless: bool = False,
) -> RequirementTable:
    """Return the table of the lines with verbatim quotes, broken lines first, without duplicates.

    A requirement's quote may be from the request, the policy, or the user's answers (observations of the steps in
    `replies`). A tool's result never states a requirement. The quote of evidence is from a step.
    """
    given = list(lines)
    kept = [line for line in given if _is_verified(checkpoint, line, replies)]
    order = list(Standing)
    once = {(line.key, line.standing, line.rule): line for line in reversed(kept)}
    # A requirement with a broken line is not also shown as met or unclear by the same quote.
    worst: dict[tuple[LineKey, Quote], int] = {}
    for line in once.values():
        at = (line.key, line.requirement.quote)
        worst[at] = min(order.index(line.standing), worst.get(at, len(order)))
    left = [
        line
        for line in reversed(once.values())
        if order.index(line.standing) == worst[line.key, line.requirement.quote]
    ]
    shown = sorted(left, key=lambda line: order.index(line.standing))[:MOST_LINES]
    return RequirementTable(tuple(shown), len(given) - len(kept), dict(ranks or {}), harmless)


def _is_verified(checkpoint: Checkpoint, line: Line, replies: Collection[int]) -> bool:
    stated = line.requirement.quote
    can_state = stated.place in (QuotePlace.REQUEST, QuotePlace.POLICY) or (
        stated.place is QuotePlace.OBSERVATION and stated.step in replies
    )
    if not can_state or not is_verbatim(checkpoint, stated):
        return False
    if line.evidence is None:
        return line.standing in (Standing.NOT_SHOWN, Standing.CANNOT_TELL)
    return line.evidence.place in _IN_STEPS and is_verbatim(checkpoint, line.evidence)


def _line_dict(line: Line) -> dict[str, Any]:
    one = line.requirement
    return {
        "kind": str(one.kind),
        "about": one.about,
        "value": one.value,
        "quote": _quote_list(one.quote),
        "standing": str(line.standing),
        "evidence": None if line.evidence is None else _quote_list(line.evidence),
        "rule": line.rule,
    }


def _quote_list(quote: Quote) -> list[Any]:
    return [quote.text, quote.start, quote.end, str(quote.place), quote.step]


def _read_line(record: Mapping[str, Any]) -> Line:
    quote, evidence = record["quote"], record["evidence"]
    requirement = Requirement(
        RequirementKind(record["kind"]), str(record["about"]), str(record["value"]), _read_quote(quote)
    )
    shown = None if evidence is None else _read_quote(evidence)
    return Line(requirement, Standing(record["standing"]), shown, str(record["rule"]))


def _read_quote(parts: list[Any]) -> Quote:
    text, start, end, place, step = parts
    return Quote(str(text), int(start), int(end), QuotePlace(place), None if step is None else int(step))
