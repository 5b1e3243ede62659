"""A fault and what its wordings may fill in; apart from the registry, which imports those who find faults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, what is wrong; `name` is that of a file of wordings, `slots` are what these fill in."""

    name: str
    slots: Mapping[str, str] = field(default_factory=dict)
