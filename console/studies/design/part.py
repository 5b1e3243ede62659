"""The base of a design's parts, and the numbers that they share; the model and its shelves of parts all build on it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=1_000)]


class DesignPart(BaseModel):
    """Something of a design: unknown fields are refused, nothing changes later."""

    model_config = ConfigDict(extra="forbid", frozen=True)
