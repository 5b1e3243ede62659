"""Instruments: questionnaires with items, scale, scoring, source and licence; to add an instrument, add a YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from console.studies.design.part import AskedQuestion, DesignPart
from console.trajectory.strict_yaml import read_data

MOST_CHARACTERS = 2_000
"""The maximum length of a free-text answer, in characters."""

Number = Annotated[float, Field(allow_inf_nan=False)]


class InstrumentItem(AskedQuestion):
    """An item of an instrument; `reversed` items are scored from the other end of the scale.

    `low_label` and `high_label` replace the labels of the scale. `expected` is the correct answer to an attention item;
    attention items are not scored.
    """

    kind: Literal["scale", "choice", "text"] = "scale"
    ahead: str = ""
    """The question before the first condition, when participants have not seen the agent yet."""
    required: bool = True
    reversed: bool = False
    low_label: str = ""
    high_label: str = ""
    expected: str | None = None


class Scale(DesignPart):
    """The possible answers to an item of kind scale: numbers from `low` to `high`, with a label at each end."""

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
        """The points of the scale."""
        return range(self.low, self.high + 1, self.step)


class Score(DesignPart):
    """The formula of a score: `plus` + `times` x (mean or sum of the answers, counted from 0)."""

    of: Literal["mean", "sum"] = "mean"
    times: Number = 1.0
    plus: Number = 0.0
    means: str = ""


class Instrument(DesignPart):
    """A questionnaire; if it has no `score`, its answers are reported individually."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,39}$")
    title: str = Field(min_length=1, max_length=120)
    instructions: str = ""
    scale: Scale = Scale()
    items: tuple[InstrumentItem, ...] = Field(min_length=1, max_length=60)
    score: Score | None = None
    source: str = ""
    licence: str = ""
    looks_back: bool = False
    """Whether the items ask about an experience, so that items before the experience need other wording (`ahead`)."""
    ahead: str = ""
    """The instructions before the first condition."""

    @property
    def can_look_ahead(self) -> bool:
        """Whether the instrument makes sense before the first condition."""
        return not self.looks_back or all(one.ahead for one in self.items)

    def worded_ahead(self) -> Instrument:
        """Return the instrument with the wording before the first condition."""
        items = tuple(one.model_copy(update={"question": one.ahead or one.question}) for one in self.items)
        return self.model_copy(update={"items": items, "instructions": self.ahead or self.instructions})

    @model_validator(mode="after")
    def _keys_once(self) -> Self:
        keys = [one.key for one in self.items]
        if len(set(keys)) < len(keys):
            raise ValueError("two items have the same key. Rename one of the items")
        for one in self.items:
            if one.expected is not None and one.expected not in answers_to(self, one):
                raise ValueError(
                    f"the item {one.key} expects {one.expected!r}, which is not one of the item's answers. Change "
                    "`expected`"
                )
        return self


def answers_to(instrument: Instrument, item: InstrumentItem) -> tuple[str, ...]:
    """Return the possible answers to the item, or no answers if the answer is free text."""
    return tuple(map(str, instrument.scale.points)) if item.kind == "scale" else item.choices


def score_answer(instrument: Instrument, item: InstrumentItem, answer: str) -> int:
    """Return the answer counted from 0; if the item is reversed, count from the other end of the scale."""
    scale = instrument.scale
    return scale.high - int(answer) if item.reversed else int(answer) - scale.low


def scored_items(instrument: Instrument) -> list[InstrumentItem]:
    """List the items that contribute to the score."""
    return [one for one in instrument.items if one.kind == "scale" and one.expected is None]


def score(instrument: Instrument, answers: Mapping[str, str]) -> float | None:
    """Return the instrument's score, or None if it has no score or a scored item has no answer."""
    rule, items = instrument.score, scored_items(instrument)
    if rule is None or not items or any(one.key not in answers for one in items):
        return None
    total = sum(score_answer(instrument, one, answers[one.key]) for one in items)
    return rule.plus + rule.times * (total / len(items) if rule.of == "mean" else total)


def is_built_in(instrument: Instrument) -> bool:
    """Return whether the instrument is one of the shelf, not a design's own instrument with the same name."""
    return instrument.name in shelf() and shelf()[instrument.name].source == instrument.source


@lru_cache(maxsize=1)
def shelf() -> Mapping[str, Instrument]:
    """Return the built-in instruments by name; every design can use these instruments."""
    found = [file for file in files(__package__).iterdir() if file.name.endswith(".yaml")]
    made = [read_data(file, Instrument) for file in found]
    return {one.name: one for one in sorted(made, key=lambda one: one.name)}
