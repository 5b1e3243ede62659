"""What people are asked beside the items: questionnaires, the last words, and the rules that leave somebody out."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

from pydantic import Field, field_validator

from console.studies.design.part import Count, DesignPart, Share


class Moment(StrEnum):
    """When a questionnaire comes: before the first condition, after each one, after all of them."""

    BEFORE = "before"
    BETWEEN = "between"
    AFTER = "after"


class Questionnaires(DesignPart):
    """Names of instruments by the moment at which they come, in their order."""

    before: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @field_validator("before", "between", "after")
    @classmethod
    def _once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError("names an instrument twice; give each once")
        return names

    def at(self, moment: str) -> tuple[str, ...]:
        """The names of that moment."""
        return dict(self.named())[moment]

    def named(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Each moment with its names."""
        yield Moment.BEFORE, self.before
        yield Moment.BETWEEN, self.between
        yield Moment.AFTER, self.after


class Debriefing(DesignPart):
    """The end: a question that may be answered in words, and what people read once they are done."""

    question: str = ""
    text: str = ""


class Exclusions(DesignPart):
    """Rules that leave a participant's data out of the analysis; each is left out itself where it is None.

    `failed_attention`: at most so many attention checks answered wrongly, items of questionnaires with an expected
    answer among them; the others: at least this share of the known-good and known-bad items right, this median of
    seconds a decision, this many decisions.
    """

    failed_attention: Count | None = None
    known_right: Share | None = None
    median_seconds: Annotated[float, Field(ge=0, le=3_600, allow_inf_nan=False)] | None = None
    decisions: Count | None = None

    def rules(self) -> dict[str, float]:
        """The limits that are set, by the rule's name."""
        return {name: float(limit) for name, limit in self.model_dump().items() if limit is not None}


RULES = {
    "failed_attention": "attention checks answered wrongly, at most",
    "known_right": "share of known items right, at least",
    "median_seconds": "median seconds a decision, at least",
    "decisions": "decisions, at least",
}
"""What each rule's limit is, in words."""


def breaks(rule: str, value: float | None, limit: float) -> bool:
    """Whether the value is on the wrong side of the rule's limit; what is not known breaks nothing."""
    if value is None:
        return False
    return value > limit if rule == "failed_attention" else value < limit
