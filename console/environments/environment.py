"""An environment as the console knows it, its tasks, and the protocol of a running world.

The protocol has gymnasium's shape: `reset(seed, options) -> (observation, info)` and
`step(action) -> (observation, reward, terminated, truncated, info)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """The specification of one task. `gold` never reaches an Actor; `options` is what `reset` needs to set it up."""

    task_id: str
    environment: str
    instruction: str
    gold: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


class World(Protocol):
    """The world of a running task. At its end `info` has `success` (bool) and `score` (0 to 1), which no Actor sees."""

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Sets the task up; returns what the agent sees first."""
        ...

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Runs one action; an impossible one is answered in words and uses a step."""
        ...


@dataclass(frozen=True, slots=True)
class Judging:
    """How actions of an environment are judged: what counts as wrong, and reasons in a few words."""

    wrong: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment: `critical` are the default patterns of a run; `ends` adds a checkpoint at the end of a trial.

    `terminal` are those critical patterns after which nothing more can happen. `not_executed` are the openings of an
    observation that says the action did not run at all. `tasks(seed, count)` and `start(task)` are there where an
    embedded edition is; `replayable` says that the recorded actions bring an equal state back; `verbs` are the
    names (in lower case) of its actions `name[argument]`. `talks` are the calls that speak to a customer, who speaks
    next; `instructed` says that what the agent saw first are its instructions.

    `back` is the action that brings the state before the last one back, as a browser's button does; empty where what
    was done stays done. `answering` is the action that gives a task's answer, with the slot `{answer}`. `type_option`
    names the option of a task that holds its type, where there are several.
    """

    name: str
    title: str
    critical: tuple[str, ...] = ()
    ends: bool = False
    terminal: tuple[str, ...] = ()
    not_executed: tuple[str, ...] = ()
    step_cap: int = 30
    tasks: Callable[[int, int], Sequence[TaskSpec]] | None = None
    start: Callable[[TaskSpec], World] | None = None
    replayable: bool = False
    verbs: tuple[str, ...] = ()
    talks: tuple[str, ...] = ()
    instructed: bool = False
    back: str = ""
    answering: str = ""
    type_option: str = ""

    def task_type(self, task: TaskSpec) -> str:
        """The type of a task; empty where the environment has one alone."""
        return str(task.options.get(self.type_option, "")) if self.type_option else ""
