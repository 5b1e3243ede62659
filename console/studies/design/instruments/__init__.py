"""Instruments: questionnaires as data, with their items, scale, scoring, source and licence; one file each beside this.

A new one is one YAML file; a design may hold own ones of the same form.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Annotated, Literal, Self

import yaml
from pydantic import Field, model_validator

from console.studies.design.part import AskedQuestion, DesignPart

MOST_CHARACTERS = 2_000
"""Of an answer in words."""

Number = Annotated[float, Field(allow_inf_nan=False)]


class InstrumentItem(AskedQuestion):
    """A question of an instrument; `reversed` ones count from the other end of the scale.

    `low_label` and `high_label` stand at the ends in place of the scale's own. `expected` is the one right answer to an
    item that only checks whether somebody reads; such an item is not scored.
    """

    kind: Literal["scale", "choice", "text"] = "scale"
    required: bool = True
    reversed: bool = False
    low_label: str = ""
    high_label: str = ""
    expected: str | None = None


class Scale(DesignPart):
    """The answers to items of kind scale: from `low` to `high` in steps, and what stands at both ends."""

    low: int = 1
    high: int = 7
    step: int = Field(default=1, ge=1)
    low_label: str = "Strongly disagree"
    high_label: str = "Strongly agree"

    @model_validator(mode="after")
    def _few_points(self) -> Self:
        if not 2 <= len(self.points) <= 21 or (self.high - self.low) % self.step:
            raise ValueError("needs 2 to 21 points from `low` to `high` by `step`")
        return self

    @property
    def points(self) -> range:
        """Every answer that can be chosen."""
        return range(self.low, self.high + 1, self.step)


class Score(DesignPart):
    """How items make one number: `plus` + `times` x (mean or sum of the answers, each counted from 0)."""

    of: Literal["mean", "sum"] = "mean"
    times: Number = 1.0
    plus: Number = 0.0
    means: str = ""


class Instrument(DesignPart):
    """A questionnaire; without a `score` its answers are reported one by one."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,39}$")
    title: str = Field(min_length=1, max_length=120)
    instructions: str = ""
    scale: Scale = Scale()
    items: tuple[InstrumentItem, ...] = Field(min_length=1, max_length=60)
    score: Score | None = None
    source: str = ""
    licence: str = ""

    @model_validator(mode="after")
    def _keys_once(self) -> Self:
        keys = [one.key for one in self.items]
        if len(set(keys)) < len(keys):
            raise ValueError("two items have the same key; give each a key of its own")
        for one in self.items:
            if one.expected is not None and one.expected not in answers_to(self, one):
                raise ValueError(f"the item {one.key} expects {one.expected!r}, which nobody can answer")
        return self


def answers_to(instrument: Instrument, item: InstrumentItem) -> tuple[str, ...]:
    """What can be answered to the item, none for one in words."""
    return tuple(map(str, instrument.scale.points)) if item.kind == "scale" else item.choices


def keyed(instrument: Instrument, item: InstrumentItem, answer: str) -> int:
    """The answer counted from 0, from the other end of the scale where the item is reversed."""
    scale = instrument.scale
    return scale.high - int(answer) if item.reversed else int(answer) - scale.low


def scored_items(instrument: Instrument) -> list[InstrumentItem]:
    """The items that the score is made of."""
    return [one for one in instrument.items if one.kind == "scale" and one.expected is None]


def score(instrument: Instrument, answers: Mapping[str, str]) -> float | None:
    """The instrument's score; None where it has none or an item that it is made of was not answered."""
    rule, items = instrument.score, scored_items(instrument)
    if rule is None or not items or any(one.key not in answers for one in items):
        return None
    total = sum(keyed(instrument, one, answers[one.key]) for one in items)
    return rule.plus + rule.times * (total / len(items) if rule.of == "mean" else total)


@lru_cache(maxsize=1)
def shelf() -> Mapping[str, Instrument]:
    """The instruments that every design may name."""
    found = [file for file in files(__package__).iterdir() if file.name.endswith(".yaml")]
    made = [Instrument.model_validate(yaml.safe_load(file.read_text("utf-8"))) for file in found]
    return {one.name: one for one in sorted(made, key=lambda one: one.name)}
