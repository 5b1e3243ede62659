"""What the console knows about an environment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Environment:
    """`critical` are the default patterns of a run; `ends` adds a checkpoint at the end of a trial.

    `not_executed` are the openings of an observation that says the action did not run at all.
    """

    name: str
    title: str
    critical: tuple[str, ...] = ()
    ends: bool = False
    not_executed: tuple[str, ...] = ()
