"""The start of a live run: its Actor and environments, its tasks, and the first trials that the engine plays."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypedDict, Unpack

import orjson
from sqlalchemy import insert
from sqlmodel import Session, col

from console import runs
from console.actors import Actor, actor
from console.actors.move import PROTOCOLS
from console.database import now_ms, reading, writing
from console.detection.detectors import detector
from console.environments import ENVIRONMENTS, list_playable
from console.environments.environment import Environment, TaskSpec
from console.errors import BadInput, Refused, Unknown
from console.runs import RunOptions
from console.runs.trajectory_rows import prepare
from console.trajectory import Outcome, Trajectory
from console.trajectory.checkpoints import digest
from console.trials.planning import versions
from storage import tables
from storage.tables import RunKind

STEP_CAP = "step_cap"
"""The option of a task that overrides the environment's number of actions per trial."""
EARLIER = "earlier"
"""The key of a trial's `extra` for the Actor's state from the last trial of the task."""


def insert_tasks(session: Session, run: tables.Run, tasks: Sequence[TaskSpec]) -> list[int]:
    """Store the tasks with everything that an environment needs to set them up; return the task ids in order."""
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


def new_trial(
    task: TaskSpec, trial: int, memory: Sequence[str] = (), earlier: Mapping[str, Any] | None = None
) -> Trajectory:
    """Return a trial that has not begun; `earlier` is the Actor's state from its last trial."""
    return Trajectory(
        task.task_id,
        task.environment,
        task.instruction,
        trial=trial,
        outcome=Outcome.RUNNING,
        memory=tuple(memory),
        extra={EARLIER: dict(earlier)} if earlier else {},
    )


def insert_trials(
    session: Session, run: tables.Run, trials: Sequence[tuple[int, Trajectory]], at_ms: int, **more: object
) -> list[int]:
    """Store trajectories with their task ids (`more` are columns for all), unless a trial exists; return the ids."""
    if not trials:
        return []
    rows = []
    for task_id, record in trials:
        identity = {"run_id": run.id, "task_id": task_id, "digest": digest(f"live {task_id} {record.trial}")}
        rows.append(prepare(record, ()).row | identity | {"created_ms": at_ms} | more)
    statement = insert(tables.Trajectory).returning(col(tables.Trajectory.id), sort_by_parameter_order=True)
    ids = list(session.execute(statement, rows).scalars())
    bodies = [{"trajectory_id": id, "body": record.to_json()} for id, (_, record) in zip(ids, trials, strict=True)]
    session.execute(insert(tables.TrajectoryBody), bodies)
    return ids


@dataclass(frozen=True, slots=True)
class ActorAndEnvironments:
    """An Actor, and environments by name; a caller may supply its own environments."""

    actor: Actor
    environments: Mapping[str, Environment] = field(default_factory=lambda: ENVIRONMENTS)

    @classmethod
    def of(cls, run: tables.Run) -> Self:
        """Return the Actor that the run names, with the known environments."""
        return cls(actor(run.actor or ""))

    def environment(self, name: str) -> Environment:
        """Return the environment with this name; raise Unknown if it is unknown, BadInput if no agent can act in it."""
        found = self.environments.get(name)
        if found is None:
            raise Unknown("environment", name, list_playable(self.environments))
        if found.start is None:
            known = ", ".join(list_playable(self.environments))
            raise BadInput(f"No agent can act in {name}, which only has imported logs. Use one of {known}.")
        return found


_NAME_AT_MOST = 80
_NOT_IN_NAMES = re.compile(r"[^\w .@-]+")


def fit_run_name(text: str) -> str:
    """Return a valid run name for this text; a text that is too long or invalid is shortened and gets a digest."""
    plain = _NOT_IN_NAMES.sub("-", text)
    if plain == text and len(text) <= _NAME_AT_MOST:
        return text
    return f"{plain[: _NAME_AT_MOST - 9].rstrip()} {digest(text)[:8]}"


FEEDBACK = ("nl", "binary", "none")


class RunSettings(TypedDict, total=False):
    """The settings of a new run that its row stores; an omitted setting gets the default of its column."""

    study_id: int | None
    threshold: float | None
    seed: int
    budget_cap: int | None
    budget_percent: float | None
    halted_free: bool
    feedback_mode: str
    reviews_per_item: int
    blind: bool
    lease_ms: int
    undo_ms: int
    trials: int
    options: str


def start_run(
    name: str,
    counts: Mapping[str, int],
    actor_name: str = "scripted",
    detector_name: str = "rules",
    *,
    actor_and_environments: ActorAndEnvironments | None = None,
    plan: str | None = None,
    protocol: str = "defer",
    rationale: float = 0.0,
    task_options: Mapping[str, Any] | None = None,
    **settings: Unpack[RunSettings],
) -> tables.Run:
    """Create a run with this number of tasks per environment and its first trials, which the engine plays.

    The tasks exclude the training tasks of `plan`; `task_options` are added to each task. `rationale` is the share of
    tasks whose feedback includes the reasons of the detector. Raise BadInput or Unknown if
    an argument is invalid, or Refused if the name is taken or the protocol lets actions run that cannot be undone.
    """
    actor_and_environments = actor_and_environments or ActorAndEnvironments(actor(actor_name))
    plans: dict[str, int] = {}
    learnt: frozenset[str] = frozenset()
    if plan:
        with reading() as session:
            plans = versions.choose_versions(session, plan, list(counts))
            learnt = versions.list_training_tasks(session, plan)
    if plans or rationale or protocol != PROTOCOLS[0]:
        refuse_protocol(protocol, actor_and_environments, list(counts))
        settings["options"] = RunOptions(plans=plans, protocol=protocol, rationale=rationale).to_json()
    tasks = [
        replace(task, options={**task.options, **(task_options or {})})
        for environment, count in counts.items()
        for task in _tasks(actor_and_environments, environment, count, settings.get("seed", 0), plans, learnt)
    ]
    with writing() as session:
        run = add_run(
            session, name, tasks, actor_and_environments=actor_and_environments, detector_name=detector_name, **settings
        )
        session.flush()
        session.expunge(run)
    return run


def refuse_protocol(protocol: str, cast: ActorAndEnvironments, environments: Sequence[str]) -> None:
    """Raise Unknown for an unknown protocol, or Refused if the protocol lets actions run that cannot be undone."""
    if protocol not in PROTOCOLS:
        raise Unknown("protocol", protocol, PROTOCOLS)
    if not RunOptions(protocol=protocol).acts_first:
        return
    if real := [name for name in environments if not cast.environment(name).replayable]:
        raise Refused(
            f"Actions in {', '.join(real)} cannot be undone, so they never run without a decision. Use the protocol "
            "defer or resample."
        )


def add_run(
    session: Session,
    name: str,
    tasks: Sequence[TaskSpec],
    *,
    actor_and_environments: ActorAndEnvironments,
    detector_name: str = "rules",
    **settings: Unpack[RunSettings],
) -> tables.Run:
    """Add a run of exactly these tasks to the caller's transaction; raise the errors of `start_run`."""
    judge = detector(detector_name)
    if (feedback := settings.get("feedback_mode", "nl")) not in FEEDBACK:
        raise BadInput(f"The feedback mode {feedback!r} is invalid. Use one of {', '.join(FEEDBACK)}.")
    if not tasks:
        raise BadInput("The run has no tasks. Name an environment and the number of tasks.")
    if settings.get("threshold") is None:
        settings["threshold"] = judge.threshold
    environments = list(dict.fromkeys(task.environment for task in tasks))
    patterns = [pattern for one in environments for pattern in actor_and_environments.environment(one).critical]
    run = runs.create(
        session,
        name,
        RunKind.LIVE,
        now_ms(),
        actor=actor_and_environments.actor.name,
        critical=orjson.dumps(list(dict.fromkeys(patterns))).decode(),
        detector=judge.name,
        **settings,
    )
    run.environment = ",".join(environments)
    caps = {name: actor_and_environments.actor.step_cap(name) for name in environments}
    capped = {name: {} if cap is None else {STEP_CAP: cap} for name, cap in caps.items()}
    tasks = [replace(task, options={**task.options, **capped[task.environment]}) for task in tasks]
    ids = insert_tasks(session, run, tasks)
    insert_trials(session, run, list(zip(ids, (new_trial(task, 0) for task in tasks), strict=True)), now_ms())
    return run


def _tasks(
    actor_and_environments: ActorAndEnvironments,
    environment: str,
    count: int,
    seed: int,
    plans: Mapping[str, int],
    learnt: Collection[str],
) -> list[TaskSpec]:
    found = actor_and_environments.environment(environment)
    if found.tasks is None:
        raise BadInput(f"{found.title} has no tasks of its own. Name a source: --world {environment}=SOURCE.")
    if count < 1:
        raise BadInput(f"{count} is not a valid number of tasks of {environment}. Give at least 1.")
    if not plans:
        return list(found.tasks(seed, count))
    types = () if "" in plans else tuple(plans)
    return draw_tasks(found, seed, count, types=types, without=learnt)


_MOST_DRAWN = 20_000


def task_digest(task: TaskSpec) -> str:
    """Return the SHA-256 (hex) of a task, excluding its key, because different seeds can draw the same task."""
    parts = [task.environment, task.instruction, dict(task.options), dict(task.gold)]
    return digest(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS).decode())


def draw_tasks(
    environment: Environment, seed: int, count: int, *, types: Collection[str] = (), without: Collection[str] = ()
) -> list[TaskSpec]:
    """Return the seed's first tasks of these types (any if empty) and not in `without`; raise BadInput if too few."""
    wanted, taken = count, environment.tasks
    while taken is not None and wanted <= _MOST_DRAWN:
        drawn = list(taken(seed, wanted))
        found = [
            task
            for task in drawn
            if (not types or environment.task_type(task) in types) and task_digest(task) not in without
        ]
        if len(found) >= count:
            return found[:count]
        wanted += max(count, wanted)
    raise BadInput(f"{environment.title} has fewer than {count} unused {' or '.join(types)} tasks. Use fewer tasks.")
