"""A check's ruling on its way into the stores: what the policy and the caller's tightening come to.

It stands alone because submitting, storing and the client all speak of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from console.gate.policy import Ruling, Then
from console.gate.policy.policy_store import PolicyVersion
from storage import tables


@dataclass(frozen=True, slots=True)
class Tightened:
    """What a caller asks for beyond the run's settings; it counts where it is stricter."""

    detector: str | None = None
    threshold: float | None = None
    reviews: int = 1


@dataclass(frozen=True, slots=True)
class Ruled:
    """A check's ruling with the version of the policy that gave it, and what the caller tightened."""

    version: PolicyVersion
    ruling: Ruling
    tightened: Tightened = field(default_factory=Tightened)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the ask that come from here."""
        return {"policy_version": self.version.version, "rule": self.ruling.rule, "tool": self.ruling.tool}

    def asks(self, verdict: dict[str, Any]) -> bool:
        """Whether a person has to look."""
        return bool(verdict["flagged"]) or self.ruling.then is Then.ASK

    def reviews(self, run: tables.Run) -> int:
        """How many people have to look: the strictest of the run, the rule and the caller."""
        return max(run.reviews_per_item, self.ruling.reviews, self.tightened.reviews)

    def terms(self) -> str:
        """What binds those who decide, as JSON."""
        ruling = self.ruling
        stated = {"decisions": ruling.decisions or None, "who": ruling.who, "doors": ruling.doors}
        return orjson.dumps({name: value for name, value in stated.items() if value is not None}).decode()
