"""The base of a design's parts, and the numbers that they share; the model and its shelves of parts all build on it."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=1_000)]


class DesignPart(BaseModel):
    """Something of a design: unknown fields are refused, nothing changes later."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AskedQuestion(DesignPart):
    """A question to a participant, by the key of its answer; one of kind choice has two or more choices."""

    key: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")
    question: str = Field(min_length=1)
    kind: str
    choices: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _choices(self) -> Self:
        if self.kind == "choice" and len(set(self.choices)) < max(2, len(self.choices)):
            raise ValueError("a question of kind choice needs two or more different `choices`")
        if self.kind != "choice" and self.choices:
            raise ValueError(f"a question of kind {self.kind} has no `choices`; leave them out")
        return self
