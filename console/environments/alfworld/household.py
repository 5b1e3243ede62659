"""A household as it stands before anybody touches it, and the numbering of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Receptacle:
    """A piece of furniture that things are in or on; `place` is where one stands to reach it."""

    kind: str
    number: int
    place: int
    openable: bool

    @property
    def name(self) -> str:
        """`fridge 1`."""
        return f"{self.kind} {self.number}"


@dataclass(frozen=True, slots=True)
class HouseholdObject:
    """Something that lies in or on a receptacle."""

    kind: str
    number: int

    @property
    def name(self) -> str:
        """`apple 2`."""
        return f"{self.kind} {self.number}"


@dataclass(frozen=True, slots=True)
class Household:
    """One room: its receptacles and things by name, both in the order of enumeration, and where each thing starts."""

    receptacles: Mapping[str, Receptacle]
    things: Mapping[str, HouseholdObject]
    starts: Mapping[str, str]


def order(part: Receptacle | HouseholdObject) -> tuple[str, int]:
    """The key by which ALFWorld enumerates: kinds by alphabet, the highest number of a kind first."""
    return part.kind, -part.number
