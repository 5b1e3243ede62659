"""The start of a live run: its Actor and environments, its tasks, and a first trial of each that the engine plays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import orjson
from sqlalchemy import insert
from sqlmodel import Session, col

from console import runs
from console.actors import Actor, actor
from console.database import now_ms, reading, writing
from console.detection.detectors import detector
from console.environments import ENVIRONMENTS, playable
from console.environments.environment import Environment, TaskSpec
from console.errors import BadInput, Unknown
from console.runs.options import RunOptions
from console.runs.trajectory_rows import prepare
from console.trajectory import Outcome, Trajectory
from console.trajectory.checkpoints import digest
from console.trials.planning import versions
from console.trials.planning.task_draw import draw
from storage import tables
from storage.tables import RunKind

STEP_CAP = "step_cap"
"""The option of a task that sets another number of actions for a trial than its environment's."""


def insert_tasks(session: Session, run: tables.Run, tasks: Sequence[TaskSpec]) -> list[int]:
    """Stores what is to be done, with all that an environment needs to set it up; returns the ids in order."""
    rows = [
        {
            "run_id": run.id,
            "task_key": task.task_id,
            "environment": task.environment,
            "instruction": task.instruction,
            "instruction_digest": digest(task.instruction),
            "gold": orjson.dumps(dict(task.gold)).decode(),
            "options": orjson.dumps(dict(task.options)).decode(),
        }
        for task in tasks
    ]
    statement = insert(tables.Task).returning(col(tables.Task.id), sort_by_parameter_order=True)
    return list(session.execute(statement, rows).scalars())


def fresh(task: TaskSpec, trial: int, memory: Sequence[str] = ()) -> Trajectory:
    """A trial that has not begun."""
    return Trajectory(
        task.task_id, task.environment, task.instruction, trial=trial, outcome=Outcome.RUNNING, memory=tuple(memory)
    )


def insert_trials(
    session: Session, run: tables.Run, trials: Sequence[tuple[int, Trajectory]], at_ms: int, **more: object
) -> list[int]:
    """Stores trajectories with their tasks' ids; returns their own in order. `more` are further columns of them all.

    The digest says task and trial, not what was done: a run holds one trajectory of each, or the insert fails.
    """
    if not trials:
        return []
    rows = [_row(run, task_id, record, at_ms) | more for task_id, record in trials]
    statement = insert(tables.Trajectory).returning(col(tables.Trajectory.id), sort_by_parameter_order=True)
    ids = list(session.execute(statement, rows).scalars())
    bodies = [{"trajectory_id": id, "body": record.to_json()} for id, (_, record) in zip(ids, trials, strict=True)]
    session.execute(insert(tables.TrajectoryBody), bodies)
    return ids


def _row(run: tables.Run, task_id: int, record: Trajectory, at_ms: int) -> dict[str, object]:
    identity = {"run_id": run.id, "task_id": task_id, "digest": digest(f"live {task_id} {record.trial}")}
    return prepare(record, ()).row | identity | {"created_ms": at_ms}


@dataclass(frozen=True, slots=True)
class ActorAndEnvironments:
    """An Actor and the environments by name; a caller may bring both."""

    actor: Actor
    environments: Mapping[str, Environment] = field(default_factory=lambda: ENVIRONMENTS)

    @classmethod
    def of(cls, run: tables.Run) -> Self:
        """Those that the run itself names."""
        return cls(actor(run.actor or ""))

    def environment(self, name: str) -> Environment:
        """The environment of that name, one that agents can act in; raises Unknown and BadInput."""
        found = self.environments.get(name)
        if found is None:
            raise Unknown("environment", name, playable(self.environments))
        if found.start is None or found.tasks is None:
            known = ", ".join(playable(self.environments))
            raise BadInput(f"No agent can act in {name}: it is known from logs only. Use one of {known}.")
        return found


FEEDBACK = ("nl", "binary", "none")


def start(
    name: str,
    counts: Mapping[str, int],
    *,
    actor_name: str = "scripted",
    actor_and_environments: ActorAndEnvironments | None = None,
    seed: int = 0,
    plan: str | None = None,
    task_options: Mapping[str, Any] | None = None,
    **fields: Any,
) -> tables.Run:
    """Makes a run of so many tasks per environment, its first trials not begun; `engine.resume` plays them.

    `plan` is the name of the plan that the run goes by; its tasks are then others than those that it was learnt from.
    `task_options` are added to those of every task. `fields` are those of `begin`, and further columns of the run.
    Raises BadInput, Unknown, Refused for a taken name.
    """
    actor_and_environments = actor_and_environments or ActorAndEnvironments(actor(actor_name))
    going_by = _going_by(plan, list(counts)) if plan else _NO_PLAN
    tasks = [
        replace(task, options={**task.options, **(task_options or {})})
        for environment, count in counts.items()
        for task in _tasks(actor_and_environments, environment, count, seed, going_by)
    ]
    if plan:
        fields["options"] = RunOptions(plans=going_by.ids).to_json()
    with writing() as session:
        run = begin(session, name, tasks, actor_and_environments=actor_and_environments, seed=seed, **fields)
        session.flush()
        session.expunge(run)
    return run


def begin(
    session: Session,
    name: str,
    tasks: Sequence[TaskSpec],
    *,
    actor_and_environments: ActorAndEnvironments,
    detector_name: str = "rules",
    threshold: float | None = None,
    **fields: Any,
) -> tables.Run:
    """Adds a run of exactly these tasks to the caller's transaction; raises as `start` does."""
    judge = detector(detector_name)
    if fields.get("feedback_mode", "nl") not in FEEDBACK:
        raise BadInput(f"Feedback is {', '.join(FEEDBACK)}, not {fields['feedback_mode']!r}.")
    if not tasks:
        raise BadInput("A run needs at least one task; name an environment and how many.")
    environments = list(dict.fromkeys(task.environment for task in tasks))
    run = runs.create(
        session,
        name,
        RunKind.LIVE,
        now_ms(),
        actor=actor_and_environments.actor.name,
        critical=orjson.dumps(_critical(actor_and_environments, environments)).decode(),
        detector=judge.name,
        threshold=judge.threshold if threshold is None else threshold,
        **fields,
    )
    run.environment = ",".join(environments)
    tasks = [_capped(actor_and_environments.actor, task) for task in tasks]
    ids = insert_tasks(session, run, tasks)
    insert_trials(session, run, list(zip(ids, (fresh(task, 0) for task in tasks), strict=True)), now_ms())
    return run


@dataclass(frozen=True, slots=True)
class _GoingBy:
    """The plan versions that a run goes by, by type of task, and the content of the tasks they were learnt from."""

    ids: Mapping[str, int] = field(default_factory=dict)
    without: frozenset[str] = frozenset()


_NO_PLAN = _GoingBy()


def _going_by(plan: str, environments: Sequence[str]) -> _GoingBy:
    with reading() as session:
        return _GoingBy(versions.chosen(session, plan, environments), versions.trained_on(session, plan))


def _tasks(
    actor_and_environments: ActorAndEnvironments, environment: str, count: int, seed: int, going_by: _GoingBy
) -> list[TaskSpec]:
    found = actor_and_environments.environment(environment)
    if count < 1 or found.tasks is None:
        raise BadInput(f"{count} tasks of {environment} is no number to run; give at least 1.")
    if not going_by.ids:
        return list(found.tasks(seed, count))
    types = () if "" in going_by.ids else tuple(going_by.ids)
    return draw(found, seed, count, types=types, without=going_by.without)


def _capped(actor: Actor, task: TaskSpec) -> TaskSpec:
    cap = actor.step_cap(task.environment)
    return task if cap is None else replace(task, options={**task.options, STEP_CAP: cap})


def _critical(actor_and_environments: ActorAndEnvironments, environments: Sequence[str]) -> list[str]:
    patterns = [pattern for name in environments for pattern in actor_and_environments.environment(name).critical]
    return list(dict.fromkeys(patterns))
