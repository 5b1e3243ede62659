"""The parts of a design."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=1_000)]


class Part(BaseModel):
    """Something of a design: unknown fields are refused, nothing changes later."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(Part):
    """Who acts and on what: an Actor in an environment, or the archive run that is replayed."""

    actor: Literal["scripted", "react", "replay"] = "scripted"
    environment: str | None = None
    run: str | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.actor == "replay" and (not self.run or self.environment):
            raise ValueError("replay needs `run`, the archive run to replay, and no `environment`")
        if self.actor != "replay" and (not self.environment or self.run):
            raise ValueError(f"the actor {self.actor} needs `environment`, such as webshop, and no `run`")
        return self


class Noisy(Part):
    """Simulated reviewers who err at these rates and take this long."""

    count: Count = 1
    false_accept: Share = 0.1
    false_reject: Share = 0.1
    seconds_per_item: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] = 30.0


class Participants(Part):
    """How many take part, people and simulated reviewers."""

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
            raise ValueError("nobody takes part; set human, oracle, noisy or rules to 1 or more")
        return self


class Consent(Part):
    """What people agree to, empty where they are not asked, and what becomes of the data of those who withdraw."""

    text: str = ""
    withdrawal: Literal["remove", "anonymise"] = "remove"


class Question(Part):
    """A question that is asked once, before the first item."""

    key: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")
    question: str = Field(min_length=1)
    kind: Literal["choice", "number", "text"] = "choice"
    choices: tuple[str, ...] = ()
    required: bool = False

    @model_validator(mode="after")
    def _choices(self) -> Self:
        if self.kind == "choice" and len(set(self.choices)) < max(2, len(self.choices)):
            raise ValueError("a question of kind choice needs two or more different `choices`")
        if self.kind != "choice" and self.choices:
            raise ValueError(f"a question of kind {self.kind} has no `choices`; leave them out")
        return self


class Checks(Part):
    """Items with a known answer."""

    attention: Count = 0
    known_good: Count = 0
    known_bad: Count = 0


class GivenCondition(Part):
    """A condition spelt out; a factor that is left out has its default level."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}$")
    levels: dict[str, str] = {}
