"""Actor, the view that it gets and the move that it answers: a function, so that a trial can be taken up anywhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from console.environments.environment import Environment
from console.environments.generic import GENERIC
from console.trajectory import Step

MEMORY_WINDOW = 3
"""Entries of memory that an Actor sees (Reflexion; InferAct section 4.4)."""


def listed(memory: Sequence[str]) -> str:
    """The entries of memory that a prompt holds, a line each."""
    return "\n".join(f"- {' '.join(entry.split())}" for entry in memory[-MEMORY_WINDOW:])


@dataclass(frozen=True, slots=True)
class ActorView:
    """The view of an Actor: the task, what it has done and seen in this trial, and its memory of earlier trials.

    `memory` holds the last entries, oldest first (window 3; Reflexion, InferAct section 4.4): a reviewer's own words,
    or the plan that the Actor wrote after a rejection. `surroundings` is what is known of the environment; `critical`
    are the patterns of actions that the gate may hold. `plan` is the plan for tasks of this type, where the run goes by
    one, and `explores` says that the trial is one to learn a plan from.
    """

    environment: str
    instruction: str
    opening: str
    steps: tuple[Step, ...]
    memory: tuple[str, ...] = ()
    seed: int = 0
    surroundings: Environment = GENERIC
    critical: tuple[str, ...] = ()
    plan: str = ""
    explores: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """A move: the next thought and action.

    `extra` is stored with its step and comes back in the view, so that an Actor's own state lasts as long as its trial;
    under `remedies` it holds what the Actor would do instead. Without an action the trial ends, since the Actor holds
    the task for `done`: that is its answer.
    """

    thought: str
    action: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    done: str | None = None


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

    `description` says in a few words how it acts, where somebody chooses one. `step_caps` are the actions of a trial
    by environment, or under `any`, where the Actor has other limits than the environment.
    """

    name: str
    title: str
    act: Callable[[ActorView], Awaitable[Move]]
    reflect: Callable[[Reflection], Awaitable[str]]
    description: str = ""
    step_caps: Mapping[str, int] = field(default_factory=dict)

    def step_cap(self, environment: str) -> int | None:
        """The Actor's own limit of actions in that environment, or None."""
        return self.step_caps.get(environment, self.step_caps.get("any"))
