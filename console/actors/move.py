"""Actor, the view that it gets and the move that it answers: a function, so that a trial can be taken up anywhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from console.trajectory import Step


@dataclass(frozen=True, slots=True)
class ActorView:
    """The view of an Actor: the task, what it has done and seen in this trial, and its memory of earlier trials.

    `memory` holds the last entries, oldest first (window 3; Reflexion, InferAct section 4.4): a reviewer's own words,
    or the plan that the Actor wrote after a rejection.
    """

    environment: str
    instruction: str
    opening: str
    steps: tuple[Step, ...]
    memory: tuple[str, ...] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Move:
    """A move: the next thought and action."""

    thought: str
    action: str


@dataclass(frozen=True, slots=True)
class Reflection:
    """The occasion of a reflection: the Actor's own trajectory up to the rejected action, never the gold."""

    environment: str
    instruction: str
    steps: tuple[Step, ...]
    rejected_action: str
    memory: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Actor:
    """An Actor: `act` chooses the next move, `reflect` writes the plan that binary feedback leaves in memory.

    `description` says in a few words how it acts, where somebody chooses one.
    """

    name: str
    title: str
    act: Callable[[ActorView], Awaitable[Move]]
    reflect: Callable[[Reflection], Awaitable[str]]
    description: str = ""
