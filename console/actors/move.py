"""Actors, their views and their moves. An Actor is a function of its view, so that a trial can resume at any step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from console.environments.environment import Environment
from console.environments.generic import GENERIC
from console.trajectory import Step

MEMORY_WINDOW = 3
"""The number of memory entries that an Actor sees (Reflexion; InferAct section 4.4)."""
PROTOCOLS = ("defer", "resample", "audit", "undo")
"""The control protocols of a live run; `defer` is the default, under which flagged actions wait for a person."""


def format_memory(memory: Sequence[str]) -> str:
    """Format the entries of memory for a prompt as a list; further lines of an entry are indented below its first."""
    return "\n".join(_as_item(entry) for entry in memory[-MEMORY_WINDOW:])


def _as_item(entry: str) -> str:
    first, *others = [" ".join(line.split()) for line in entry.splitlines() if line.strip()] or [""]
    return "\n  ".join([f"- {first}", *others])


@dataclass(frozen=True, slots=True)
class ActorView:
    """The view of an Actor: the task, its steps and observations in this trial, and its memory of earlier trials.

    `memory` holds the last entries, oldest first: feedback of a reviewer, or the plan that the Actor wrote after a
    rejection. `critical` holds the patterns of actions that the gate may hold. `plan` is the plan for tasks of this
    type; `explores` is true in a trial from which a plan is learnt. `task_type` is the type of the task, and `earlier`
    is the state that the Actor keeps from its last trial of this task (see `Actor.carry`). `take` counts the earlier
    choices of this move that were flagged and not taken.
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
    task_type: str = ""
    earlier: Mapping[str, Any] = field(default_factory=dict)
    take: int = 0


@dataclass(frozen=True, slots=True)
class Move:
    """A move: the next thought and action. A move without an action ends the trial; `done` is then the answer.

    `extra` is stored with the step and returned in later views, so that an Actor keeps its state during a trial. Its
    key `remedies` holds alternative actions.
    """

    thought: str
    action: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    done: str | None = None


@dataclass(frozen=True, slots=True)
class Reflection:
    """The input of a reflection: the Actor's own trajectory up to the rejected action, without the gold answer."""

    environment: str
    instruction: str
    steps: tuple[Step, ...]
    rejected_action: str
    memory: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Actor:
    """An Actor: `act` returns the next move; `reflect` writes a plan for the memory after binary feedback.

    `step_caps` replaces the environment's limit of actions per trial: by environment, or under `any`. `carry` returns
    the state for the next trial of the task as a JSON object.
    """

    name: str
    title: str
    act: Callable[[ActorView], Awaitable[Move]]
    reflect: Callable[[Reflection], Awaitable[str]]
    description: str = ""
    step_caps: Mapping[str, int] = field(default_factory=dict)
    carry: Callable[[Sequence[Step]], Mapping[str, Any]] = lambda steps: {}

    def step_cap(self, environment: str) -> int | None:
        """Return the Actor's own limit of actions in this environment, or None if the Actor has no own limit."""
        return self.step_caps.get(environment, self.step_caps.get("any"))
