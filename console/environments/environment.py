"""An environment, the specification of its tasks, and the protocol of a running world.

The protocol follows gymnasium: `reset(seed, options) -> (observation, info)` and `step(action) -> (observation, reward,
terminated, truncated, info)`.

An Actor can go back in some worlds. Participants who get a briefing read the user's goal in plain words; a new
environment is one function here and one line in BRIEFS. Each function names the gold entries that it uses. The label,
score, outcome and solving actions therefore cannot enter a briefing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from console.errors import BadInput, ConsoleError
from console.language import gettext_noop
from console.trajectory import Step
from console.trajectory.checkpoints import is_critical, is_thought


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """The specification of one task. `gold` never reaches an Actor; `reset` uses `options` to set up the task."""

    task_id: str
    environment: str
    instruction: str
    gold: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


class WorldUnavailable(ConsoleError):
    """The world is unreachable; if `is_sent` is false, the action certainly did not run."""

    def __init__(self, reason: str, *, is_sent: bool = True) -> None:
        self.is_sent = is_sent
        super().__init__(reason)


class World(Protocol):
    """The world of a running task. After the last action, `info` holds `success` (bool) and `score` (0 to 1).

    No Actor receives this `info`. All calls of a world come from one thread, one after another. An unreachable world
    raises WorldUnavailable: its trial stays open, and the next round repeats the recorded steps.
    """

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Set the task up and return the agent's first observation."""
        ...

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Run one action; an impossible action returns an explanation and still uses a step."""
        ...

    def close(self) -> None:
        """Release the world's resources; called once when the trial ends, is held or is abandoned."""
        return


def has_option(title: str, options: Mapping[str, Any], name: str, usual: str, other: str) -> bool:
    """Return whether a task option has the value `other`; raise BadInput if it is neither `usual` nor `other`."""
    wanted = options.get(name, usual)
    if wanted not in (usual, other):
        raise BadInput(f'The {title} option "{name}" is {wanted!r}. Use "{usual}" or "{other}".')
    return bool(wanted == other)


@dataclass(frozen=True, slots=True)
class Judging:
    """Guidance for judging an environment's actions: the definition of a wrong action, and short reasons."""

    wrong: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment. `critical` holds the default patterns of a run. `ends` adds a checkpoint at the end of a trial.

    `terminal` holds the critical patterns that end a trial. `not_executed` holds the first words of an observation
    after an action that did not run. `tasks(seed, count)` and `start(task)` are set if there is an embedded edition,
    which is `replayable` if the recorded actions restore an equal state. `verbs` holds the lower-case names in actions
    of the form `name[argument]`. `talks` holds the calls that send a message to a customer, who then replies.
    `instructed` is true if the agent's first observation contains its instructions. `back` is the action that restores
    the previous state, if any; `answering` is the action that answers a task, with the slot `{answer}`. `type_option`
    is the task option with the task type, if the environment has several types. At most `most_worlds` of its worlds are
    open at the same time in a process (None: as many as the run plays), and a call may take `action_timeout_s` seconds.
    `is_in_process` tells whether the world of a task exists only in this process, so that a crash undoes its actions.
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
    most_worlds: int | None = None
    action_timeout_s: float = 300.0
    is_in_process: Callable[[TaskSpec], bool] = lambda task: False

    def task_type(self, task: TaskSpec) -> str:
        """Return the type of a task, or "" if the environment has only one."""
        return str(task.options.get(self.type_option, "")) if self.type_option else ""


REFUSED = "not_run"
"""The key in the `extra` of a step that never reached the world."""
NOTE = "note"
"""The key in the `extra` of a move that is a note and never reaches the world."""


def list_standing_steps(environment: Environment, steps: Sequence[Step]) -> tuple[int, ...]:
    """Return the positions of the steps that lead to the current state, without thoughts and steps that did not run."""
    path: list[int] = []
    refused = environment.not_executed
    for position, step in enumerate(steps):
        unheard = bool(refused) and step.observation.lstrip().startswith(refused)
        if is_thought(step.action) or REFUSED in step.extra or unheard:
            continue
        if environment.back and step.action == environment.back:
            del path[-1:]
        else:
            path.append(position)
    return tuple(path)


def refusal(environment: Environment, steps: Sequence[Step], to: Sequence[int], critical: Sequence[str]) -> str | None:
    """Return the reason why the state after the steps in `to` cannot be restored, or None if it can be restored."""
    here = list_standing_steps(environment, steps)
    if here[: len(to)] != tuple(to):
        return "the trial cannot return to that state"
    undone = here[len(to) :]
    if undone and not environment.back:
        return f"no action can be undone in {environment.title}"
    crossed = next((steps[at].action for at in reversed(undone) if is_critical(steps[at].action, critical)), None)
    return f"{crossed} was critical and has run" if crossed else None


Brief = tuple[tuple[str, str], ...]
"""A briefing as pairs of a name and its value, in reading order."""


def brief_of(environment: str, gold: Mapping[str, Any]) -> Brief:
    """Return the briefing on a task, which names the target, or an empty briefing without a target (InferAct)."""
    describe = BRIEFS.get(environment)
    return tuple((name, text) for name, text in describe(gold) if text) if describe else ()


def _webshop(gold: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield gettext_noop("product"), _text(gold.get("name"))
    yield gettext_noop("listed as"), _text(gold.get("asin"))
    options = gold.get("options")
    if isinstance(options, Mapping):
        yield gettext_noop("options"), " · ".join(f"{name}: {value}" for name, value in options.items())


def _hotpotqa(gold: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield gettext_noop("answer"), _text(gold.get("answer"))


def _alfworld(gold: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield gettext_noop("object"), _text(gold.get("thing"))
    yield gettext_noop("place"), _text(gold.get("receptacle"))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


BRIEFS: dict[str, Callable[[Mapping[str, Any]], Iterator[tuple[str, str]]]] = {
    "webshop": _webshop,
    "hotpotqa": _hotpotqa,
    "alfworld": _alfworld,
}
