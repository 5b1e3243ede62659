"""The design of a study and its parts: all settings that are fixed before the first participant joins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from console.actors import ACTORS
from console.settings import LANGUAGES
from console.studies.design.factors import FACTORS
from console.studies.design.instruments import Instrument, shelf
from console.studies.design.part import (
    AskedQuestion,
    Checks,
    Count,
    Debriefing,
    DesignPart,
    Exclusions,
    Pilot,
    Questionnaires,
    Quiz,
    Share,
)
from console.studies.design.recruiting import Recruiting

REPLAY = "replay"
"""The Actor's name if a recorded log is replayed trial by trial."""

SCRIPTED = "scripted"
"""The Actor whose actions in a task can be predicted."""


class TaskSource(DesignPart):
    """The source of the tasks: an Actor and its environment, or an archive run to replay."""

    actor: str = "scripted"
    environment: str | None = None
    run: str | None = None

    @field_validator("actor")
    @classmethod
    def _known_actor(cls, name: str) -> str:
        if name != REPLAY and name not in ACTORS:
            raise ValueError(f"must be {', '.join(ACTORS)} or {REPLAY}, not {name[:40]!r}")
        return name

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.actor == REPLAY and (not self.run or self.environment):
            raise ValueError("replay needs `run`, the archive run to replay, and no `environment`")
        if self.actor != REPLAY and (not self.environment or self.run):
            raise ValueError(f"the actor {self.actor} needs `environment`, such as webshop, and no `run`")
        return self


class Noisy(DesignPart):
    """A group of simulated reviewers with the same error rates and speed."""

    count: Count = 1
    false_accept: Share = 0.1
    false_reject: Share = 0.1
    seconds_per_item: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] = 30.0


class Participants(DesignPart):
    """The number of participants: people and simulated reviewers."""

    human: Count = 4
    oracle: Count = 0
    noisy: tuple[Noisy, ...] = ()
    rules: Count = 0

    @field_validator("noisy", mode="before")
    @classmethod
    def _number(cls, given: object) -> object:
        if isinstance(given, str) and given.isascii() and given.isdecimal() and len(given) < 10:
            given = int(given)
        return ({"count": given},) if isinstance(given, int) else given

    @model_validator(mode="after")
    def _somebody(self) -> Self:
        if not self.human + self.oracle + self.rules + sum(one.count for one in self.noisy):
            raise ValueError("the design has no participants. Set human, oracle, noisy or rules to 1 or more")
        return self


class Consent(DesignPart):
    """The consent text, and the treatment of the data of a person who withdraws.

    If the text is empty, people are not asked for consent. The text may hold headings, lists and bold words in
    Markdown. `version` is the researcher's own name for the version.
    """

    text: str = ""
    version: str = Field(default="", max_length=40)
    withdrawal: Literal["remove", "anonymise"] = "remove"


class IntakeQuestion(AskedQuestion):
    """A question that people answer once, before the first item."""

    kind: Literal["choice", "number", "text"] = "choice"
    required: bool = False
    screens_out: tuple[str, ...] = ()
    """The choices that exclude a person from taking part."""
    quotas: dict[str, Count] = {}
    """The largest number of people with each choice; a choice without a quota has no limit."""

    @model_validator(mode="after")
    def _screening(self) -> Self:
        if strange := set(self.screens_out) - set(self.choices):
            raise ValueError(f"screens_out contains {min(strange)!r}, which is not one of the choices. Use the choices")
        if strange := set(self.quotas) - set(self.choices):
            raise ValueError(f"quotas contains {min(strange)!r}, which is not one of the choices. Use the choices")
        if self.quotas and not self.required:
            raise ValueError("quotas need an answer from every person. Set `required: true`")
        return self


class GivenCondition(DesignPart):
    """A condition given by its levels; an omitted factor has its default level."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}$")
    levels: dict[str, str] = {}


Measure = Literal["success", "gain", "right"]
"""`success`: solved by the last trial; `gain`: `success` minus solved at trial 0; `right`: correct decisions."""


class Estimands(DesignPart):
    """The primary analysis: the measure, interactions in addition to the main effects, and the family of tests.

    `equivalence` is the largest difference that counts as no difference in equivalence tests (TOST). None omits these
    tests.
    """

    measure: Measure = "success"
    interactions: tuple[tuple[str, str], ...] = ()
    correction: Literal["holm", "bonferroni", "none"] = "holm"
    alpha: Annotated[float, Field(gt=0, lt=0.5, allow_inf_nan=False)] = 0.05
    equivalence: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] | None = None

    @field_validator("interactions")
    @classmethod
    def _two_factors(cls, given: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        for a, b in given:
            for name in (a, b):
                if name not in FACTORS:
                    raise ValueError(f"{name!r} is not a factor. Use {', '.join(FACTORS)}")
            if a == b:
                raise ValueError(f"{a} occurs twice, but an interaction needs two different factors")
        return given


MOST_CONDITIONS = 64
_LONGEST_NAME = 40

Comparison = Literal["within", "between"]
Order = Literal["latin-square", "random", "fixed"]


class Design(DesignPart):
    """A user study. Its lists are tuples, so that a registered design cannot be changed."""

    name: str = Field(pattern=r"^\w[\w.@ -]{0,39}$")
    source: TaskSource
    tasks: int = Field(default=25, ge=1, le=10_000)
    """The number of tasks in each condition."""
    trials: int = Field(default=4, ge=1, le=20)
    """The number of trials of a task, including the first one."""
    budget: str | None = None
    """Inspections per participant, condition and trial: a number, or P% of trial 0's non-halted items."""
    halted_free: bool = False
    """Whether inspections of halted trials cost nothing, as in the InferAct paper."""
    seed: int = Field(default=0, ge=0, le=2**53)
    comparison: Comparison = "within"
    same_tasks: bool = False
    """Whether all conditions of a within-participants design use the same tasks, as other designs always do."""
    washout_hours: Annotated[float, Field(ge=0, le=2_160, allow_inf_nan=False)] = 0.0
    """The time that people wait between two conditions; simulated reviewers do not wait."""
    order: Order = "latin-square"
    fixed_order_because: str = Field(default="", max_length=400)
    """The reason why all participants have one order of conditions; a fixed order cannot support a causal claim."""
    factors: dict[str, tuple[str, ...]] = {}
    conditions: tuple[GivenCondition, ...] = ()
    estimands: Estimands = Estimands()
    participants: Participants = Participants()
    pilot: Pilot = Pilot()
    language: str | None = None
    """The language of the pages around the design's own texts; the default is the language of each person's browser."""
    consent: Consent = Consent()
    demographics: tuple[IntakeQuestion, ...] = ()
    instructions: str = ""
    quiz: Quiz = Quiz()
    practice: int = Field(default=0, ge=0, le=100)
    checks: Checks = Checks()
    """The number of known items of each kind in every condition."""
    break_minutes: Annotated[float, Field(ge=0, le=1_440, allow_inf_nan=False)] = 0.0
    undo_seconds: Annotated[float, Field(ge=0, le=600, allow_inf_nan=False)] = 5.0
    instruments: tuple[Instrument, ...] = ()
    """The design's own questionnaires, in addition to the built-in ones."""
    questionnaires: Questionnaires = Questionnaires()
    confidence: Literal[0, 3, 4, 5, 6, 7] = 0
    """The number of points of the confidence scale after each decision; 0 omits the question."""
    interaction_trace: bool = False
    debriefing: Debriefing = Debriefing()
    exclusions: Exclusions = Exclusions()
    recruiting: Recruiting = Recruiting()

    @field_validator("budget", mode="before")
    @classmethod
    def _budget(cls, wanted: object) -> object:
        text = str(wanted).strip() if isinstance(wanted, int | str) and not isinstance(wanted, bool) else wanted
        if text is None or (isinstance(text, str) and re.fullmatch(r"\d{1,9}|(\d{1,2}(\.\d+)?|100)%", text, re.ASCII)):
            return text
        raise ValueError("must be a whole number such as 10 or a percentage such as 50%")

    @field_validator("language")
    @classmethod
    def _has_a_catalogue(cls, code: str | None) -> str | None:
        if code is not None and code not in LANGUAGES:
            raise ValueError(f"must be {', '.join(LANGUAGES)} or left out, not {code[:40]!r}")
        return code

    @field_validator("factors", mode="before")
    @classmethod
    def _single_levels(cls, given: object) -> object:
        if not isinstance(given, Mapping):
            return given
        return {name: (levels,) if isinstance(levels, str) else levels for name, levels in given.items()}

    @field_validator("factors")
    @classmethod
    def _known_factors(cls, given: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for name, levels in given.items():
            if not levels:
                raise ValueError(f"{name} has no level. Give a level or leave the factor out")
            if len(set(levels)) < len(levels):
                raise ValueError(f"{name} has a duplicate level. Give each level once")
            for level in levels:
                _check_level(name, level)
        return given

    @field_validator("conditions")
    @classmethod
    def _known_levels(cls, given: tuple[GivenCondition, ...]) -> tuple[GivenCondition, ...]:
        names = [one.name.casefold() for one in given]
        if len(set(names)) < len(names):
            raise ValueError("two conditions have the same name. Rename one of the conditions")
        for one in given:
            for factor, level in one.levels.items():
                _check_level(factor, level)
        return given

    @field_validator("demographics")
    @classmethod
    def _questions_once(cls, given: tuple[IntakeQuestion, ...]) -> tuple[IntakeQuestion, ...]:
        keys = [one.key for one in given]
        if len(set(keys)) < len(keys):
            raise ValueError("two questions have the same key. Rename one of the questions")
        return given

    @field_validator("confidence", mode="before")
    @classmethod
    def _points(cls, given: object) -> object:
        return int(given) if isinstance(given, str) and given.isdecimal() and len(given) == 1 else given

    @model_validator(mode="after")
    def _known_instruments(self) -> Self:
        known = instruments_of(self)
        for moment, names in self.questionnaires.named():
            if strange := next((name for name in names if name not in known), None):
                raise ValueError(f"questionnaires: {moment} names the unknown {strange!r}. Use {', '.join(known)}")
        if early := next((name for name in self.questionnaires.before if not known[name].can_look_ahead), None):
            raise ValueError(
                f"questionnaires: before names {early}, which asks about an experience. Use between or after"
            )
        return self

    @model_validator(mode="after")
    def _pilot_is_a_part(self) -> Self:
        if self.pilot.people and self.pilot.people >= self.participants.human:
            raise ValueError("pilot: people must be fewer than the people of `participants`, which include the pilot")
        return self

    @model_validator(mode="after")
    def _few_conditions(self) -> Self:
        if self.factors and self.conditions:
            raise ValueError("factors and conditions are both given. Leave out the factors or the conditions")
        count = len(self.conditions) or prod(map(len, self.factors.values()))
        if count > MOST_CONDITIONS:
            raise ValueError(f"factors make {count} conditions, but at most {MOST_CONDITIONS} can be compared")
        return self

    @model_validator(mode="after")
    def _within_only(self) -> Self:
        for name in ("same_tasks", "washout_hours"):
            if self.comparison == "between" and getattr(self, name):
                raise ValueError(
                    f"{name} has no effect if participants see one condition each. Remove {name}, or set "
                    "`comparison: within`"
                )
        return self

    @model_validator(mode="after")
    def _fixed_order_is_stated(self) -> Self:
        several = self.comparison == "within" and len(conditions(self)) > 1
        if several and self.order == "fixed" and not self.fixed_order_because.strip():
            raise ValueError(
                "order: with a fixed order, an effect of order looks like an effect of the conditions. Use "
                "latin-square, or state your reason in `fixed_order_because`"
            )
        return self

    @model_validator(mode="after")
    def _agent_acts(self) -> Self:
        for name in ("rationale", "protocol") if self.source.run is not None else ():
            usual = FACTORS[name].default
            if any(one.levels[name] != usual for one in conditions(self)):
                raise ValueError(f"{name}: in a replayed log no agent reads or acts; use the level {usual}")
        return self

    @model_validator(mode="after")
    def _interactions_vary(self) -> Self:
        varying = varied_factors(self)
        for name in dict.fromkeys(name for pair in self.estimands.interactions for name in pair):
            if name not in varying:
                raise ValueError(
                    f"estimands: an interaction names {name}, which does not vary; "
                    f"{'give it two levels' if not varying else 'use ' + ', '.join(varying)}"
                )
        return self


def instruments_of(design: Design) -> Mapping[str, Instrument]:
    """Return the instruments that the design may name; its own instruments replace built-in ones with the same name."""
    return {**shelf(), **{one.name: one for one in design.instruments}}


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a study: its level of every factor, and its name, which is valid in file names."""

    name: str
    levels: Mapping[str, str]


def conditions(design: Design) -> tuple[Condition, ...]:
    """List the conditions in the design's order: the given conditions, or all combinations of the factors' levels."""
    defaults = {name: factor.default for name, factor in FACTORS.items()}
    if design.conditions:
        return tuple(Condition(one.name, defaults | one.levels) for one in design.conditions)
    crossed = [dict(zip(design.factors, levels, strict=True)) for levels in product(*design.factors.values())]
    names = _names(design, crossed)
    return tuple(Condition(name, defaults | levels) for name, levels in zip(names, crossed, strict=True))


def varied_factors(design: Design) -> dict[str, tuple[str, ...]]:
    """Return the factors that differ between conditions, each with its levels in the order of the conditions."""
    arms = conditions(design)
    levels = {name: tuple(dict.fromkeys(arm.levels[name] for arm in arms)) for name in FACTORS}
    return {name: found for name, found in levels.items() if len(found) > 1}


def _check_level(factor: str, level: str) -> None:
    known = FACTORS.get(factor)
    if known is None:
        raise ValueError(f"{factor!r} is not a factor. Use {', '.join(FACTORS)}")
    if not level.strip() or (known.levels is not None and level not in known.levels):
        raise ValueError(f"{factor} has no level {level!r}. Use {', '.join(known.levels or ('the name of one',))}")


def _names(design: Design, crossed: list[dict[str, str]]) -> list[str]:
    varying = {name: levels for name, levels in design.factors.items() if len(levels) > 1}
    if not varying:
        return [_clean(crossed[0].get("detector", FACTORS["detector"].default))[:_LONGEST_NAME]]
    shared = {
        name for name in varying if any(set(varying[name]) & set(varying[other]) for other in varying if other != name)
    }
    names = [
        _clean("-".join(f"{name}-{levels[name]}" if name in shared else levels[name] for name in varying))
        for levels in crossed
    ]
    usable = len({name.casefold() for name in names}) == len(names) and max(map(len, names)) <= _LONGEST_NAME
    return names if usable else [f"condition-{number}" for number in range(1, len(names) + 1)]


def _clean(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._") or "condition"
