"""Parts of a design: the base class, and the parts that both the model and the shelves use."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=1_000)]


class DesignPart(BaseModel):
    """A frozen part of a design that refuses unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AskedQuestion(DesignPart):
    """A question to a participant; `key` identifies the answer. A question of kind choice has two or more choices."""

    key: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")
    question: str = Field(min_length=1)
    kind: str
    choices: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _choices(self) -> Self:
        if self.kind == "choice" and len(set(self.choices)) < max(2, len(self.choices)):
            raise ValueError("a question of kind choice needs two or more different `choices`")
        if self.kind != "choice" and self.choices:
            raise ValueError(f"a question of kind {self.kind} cannot have `choices`. Remove the choices")
        return self


class Checks(DesignPart):
    """The number of items with a known answer, by kind.

    The kinds are correct (good) and wrong (bad) actions, each flagged or unflagged, and attention checks. `audited` is
    the share of the study's own unflagged actions that can also be reviewed. In each round, flagged and unflagged items
    have the same share of seeded items. A round may therefore leave out unflagged items of either kind.
    """

    attention: Count = 0
    known_good: Count = 0
    known_bad: Count = 0
    unflagged_good: Count = 0
    unflagged_bad: Count = 0
    audited: Share = 0.0

    @property
    def known(self) -> int:
        """The number of seeded items of one condition."""
        return self.known_good + self.known_bad + self.unflagged_good + self.unflagged_bad

    @model_validator(mode="after")
    def _hidden_among_others(self) -> Self:
        if (self.unflagged_good or self.unflagged_bad) and not self.audited:
            raise ValueError(
                "unflagged seeded items would be the only unflagged ones. Set `audited`, such as 0.6, so "
                "that unflagged actions of the study are reviewed too"
            )
        return self


class QuizQuestion(AskedQuestion):
    """A question on the instructions, with its correct choice in `right`."""

    kind: str = Field(default="choice", pattern="^choice$")
    right: str

    @model_validator(mode="after")
    def _right_is_offered(self) -> Self:
        if self.right not in self.choices:
            raise ValueError(f"right is {self.right[:40]!r}, which is not one of the choices. Use one of the choices")
        return self


class Quiz(DesignPart):
    """Questions on the instructions, and the number of tries in which a person must answer all questions correctly."""

    questions: tuple[QuizQuestion, ...] = ()
    tries: Annotated[int, Field(ge=1, le=10)] = 2

    @field_validator("questions")
    @classmethod
    def _questions_once(cls, given: tuple[QuizQuestion, ...]) -> tuple[QuizQuestion, ...]:
        if len({one.key for one in given}) < len(given):
            raise ValueError("two questions have the same key. Rename one of the questions")
        return given


class StopRule(DesignPart):
    """Limits of a pilot, above which the study stops; a limit that is None does not apply.

    The limits are shares of people, and `minutes`, the median time from joining to the end.
    """

    withdrawn: Share | None = None
    failed_quiz: Share | None = None
    failed_attention: Share | None = None
    minutes: Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)] | None = None

    def limits(self) -> dict[str, float]:
        """Return the limits that apply, by name."""
        return {name: float(limit) for name, limit in self.model_dump().items() if limit is not None}


PILOT_LIMITS = {
    "withdrawn": "share of people who withdrew",
    "failed_quiz": "share of people who failed the quiz",
    "failed_attention": "share of people who failed an attention check",
    "minutes": "median minutes from joining to the end",
}
"""The meaning of each limit of a pilot, as a phrase."""


class Pilot(DesignPart):
    """The first people of a study. Others join after they have finished, if the stop rule allows it."""

    people: Count = 0
    stop_above: StopRule = StopRule()


class Moment(StrEnum):
    """The moment of a questionnaire: before the first condition, after each condition, or after all conditions."""

    BEFORE = "before"
    BETWEEN = "between"
    AFTER = "after"


class Questionnaires(DesignPart):
    """The names of the instruments at each moment, in order."""

    before: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @field_validator("before", "between", "after")
    @classmethod
    def _once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError("contains an instrument twice. List each instrument once")
        return names

    def at(self, moment: str) -> tuple[str, ...]:
        """Return the names of the instruments at this moment."""
        return dict(self.named())[moment]

    def named(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Iterate over the moments, each with the names of its instruments."""
        yield Moment.BEFORE, self.before
        yield Moment.BETWEEN, self.between
        yield Moment.AFTER, self.after


class Debriefing(DesignPart):
    """The end of the study: an open question, and the text shown to people who have finished."""

    question: str = ""
    text: str = ""


class Exclusions(DesignPart):
    """Rules that exclude a participant's data from the analysis; a rule that is None does not apply.

    `failed_attention` is the maximum number of failed attention checks, including questionnaire items with an expected
    answer. The other rules are minimums: the share of known-good and known-bad items answered correctly, the median of
    seconds per decision, and the number of decisions.
    """

    failed_attention: Count | None = None
    known_right: Share | None = None
    median_seconds: Annotated[float, Field(ge=0, le=3_600, allow_inf_nan=False)] | None = None
    decisions: Count | None = None

    def rules(self) -> dict[str, float]:
        """Return the limits of the rules that apply, by the rule's name."""
        return {name: float(limit) for name, limit in self.model_dump().items() if limit is not None}


PILOT = "pilot"
"""The rule that leaves the people of a pilot out of the analysis."""
RULES = {
    "failed_attention": "failed attention checks, at most",
    "known_right": "share of known items correct, at least",
    "median_seconds": "median seconds per decision, at least",
    "decisions": "decisions, at least",
    PILOT: "member of the pilot (1 or 0), at most",
}
"""The meaning of each rule's limit, as a phrase."""


def breaks(rule: str, value: float | None, limit: float) -> bool:
    """Return whether the value violates the rule's limit; an unknown value never violates a limit."""
    if value is None:
        return False
    return value > limit if rule in ("failed_attention", PILOT) else value < limit
