"""The tasks of a study, and their trial 0 before any review, played by the scripted Actor or read from a log."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from sqlmodel import Session, col, select

from console import runs
from console.actors import ActorView, actor
from console.detection.detectors import Detector, detector
from console.environments import ENVIRONMENTS
from console.environments.environment import TaskSpec
from console.errors import BadInput, Refused
from console.runs import run_checkpoints
from console.studies.design import Design, conditions, task_count
from console.studies.design.allocation import KnownTask
from console.studies.design.model import SCRIPTED
from console.trajectory import Outcome, Step, Trajectory, from_json
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at, is_critical
from console.trials.play import find_outcome
from storage import tables
from storage.tables import RunKind


def read_known_tasks(session: Session, design: Design, task_keys: Sequence[str]) -> dict[str, KnownTask]:
    """Return the known properties of the tasks before any review, by key, or {} if the Actor is not predictable."""
    if design.source.run is not None:
        return _recorded(session, design, design.source.run, task_keys)
    if design.source.actor != SCRIPTED:
        return {}
    judges = offline_detectors(design)
    return {task.task_id: _played(task, design, judges) for task in select_tasks(design, task_keys)}


def offline_detectors(design: Design) -> list[Detector]:
    """Return the detectors of the conditions that use no model, or else the detector `rules`."""
    found = [detector(name) for name in sorted({one.levels["detector"] for one in conditions(design)})]
    return [judge for judge in found if judge.judge is not None] or [detector("rules")]


def _played(task: TaskSpec, design: Design, judges: Sequence[Detector]) -> KnownTask:
    trial = first_trial(TaskToPlay(task.task_id, task.instruction, design.seed, task))
    held = trial.held
    seen = checkpoint_at(held, len(held.steps), CheckpointKind.ACTION) if held else None
    return KnownTask(str(trial.outcome), _mean_score(seen, judges, design.seed), trial.steps)


def _recorded(session: Session, design: Design, source: str, task_keys: Sequence[str]) -> dict[str, KnownTask]:
    origin, judges = runs.get(session, source), offline_detectors(design)
    record, task, body = tables.Trajectory, tables.Task, tables.TrajectoryBody
    statement = (
        select(task.task_key, record.outcome, body.body)
        .join(record, col(record.task_id) == col(task.id))
        .join(body, col(body.trajectory_id) == col(record.id))
        .where(record.run_id == origin.id, col(task.task_key).in_(task_keys))
        .order_by(col(record.trial), col(record.id))
    )
    found: dict[str, KnownTask] = {}
    for key, outcome, text in session.exec(statement):
        if key not in found:
            trial = from_json(text)
            seen = next(iter(run_checkpoints(origin, trial)), None)
            found[key] = KnownTask(outcome, _mean_score(seen, judges, design.seed), len(trial.steps))
    return found


def _mean_score(seen: Checkpoint | None, judges: Sequence[Detector], seed: int) -> float | None:
    if seen is None:
        return None
    scores = [judge.judge(seen, seed).score for judge in judges if judge.judge is not None]
    return sum(scores) / len(scores)


@dataclass(frozen=True, slots=True)
class TaskToPlay:
    """A task to play, compared by id, instruction and seed only, because the gold answer is not hashable."""

    task_id: str
    instruction: str
    seed: int
    task: TaskSpec = field(compare=False)


@dataclass(frozen=True, slots=True)
class FirstTrial:
    """An unreviewed trial: its outcome, and its state before the first critical action if there is one."""

    held: Trajectory | None
    outcome: Outcome
    steps: int


@lru_cache(maxsize=4_096)
def first_trial(asked: TaskToPlay) -> FirstTrial:
    """Play the task's trial 0 with the scripted Actor, exactly as a run with this seed does."""
    return asyncio.run(_play(asked.task, asked.seed))


async def _play(task: TaskSpec, seed: int) -> FirstTrial:
    where, act = ENVIRONMENTS[task.environment], actor(SCRIPTED).act
    if where.start is None:
        return FirstTrial(None, Outcome.ERROR, 0)
    world = where.start(task)
    opening, held = world.reset(seed=seed)[0], None
    steps: tuple[Step, ...] = ()
    while True:
        move = await act(ActorView(where.name, task.instruction, opening, steps, (), seed * 1_009))
        if held is None and is_critical(move.action, where.critical):
            held = pause_trial(task, opening, steps, move.thought, move.action)
        observation, _, ended, capped, info = world.step(move.action)
        steps = (*steps, Step(move.thought, move.action, observation))
        outcome = find_outcome(where, steps, ended, capped, info)
        if outcome is not None:
            return FirstTrial(held, outcome, len(steps))


def pause_trial(task: TaskSpec, opening: str, steps: tuple[Step, ...], thought: str, action: str) -> Trajectory:
    """Return a trial that is paused before its critical action."""
    return Trajectory(
        task.task_id,
        task.environment,
        task.instruction,
        steps,
        critical_action=action,
        outcome=Outcome.PAUSED,
        extra={"pending_thought": thought},
        opening=opening,
    )


_SPARE_PER_PROBE = 30
"""The number of tasks played per known item; many are needed, because few tasks fill some kinds of known items."""
_LEAST_SPARE, _MOST_SPARE = 60, 600

Tasks = Mapping[str, TaskSpec]


def count_probes(design: Design) -> int:
    """Return the number of practice and seeded items that one participant gets."""
    return design.practice + len(conditions(design)) * design.checks.known


def list_task_keys(session: Session, design: Design) -> tuple[str, ...]:
    """List the keys to sample from; raise BadInput or Unknown, or Refused if the run is not an archive."""
    if design.source.run is None:
        return tuple(load_tasks(design))
    run = runs.get(session, design.source.run)
    if run.kind != RunKind.ARCHIVE:
        raise Refused(
            f"Run {run.name!r} is not an archive of imported logs, so a study cannot replay it. Name an archive run."
        )
    task = tables.Task
    return tuple(
        session.exec(select(task.task_key).where(task.run_id == run.id).distinct().order_by(col(task.task_key)))
    )


def load_tasks(design: Design) -> Tasks:
    """Return the environment's tasks by key, including tasks for known items; raise BadInput or Unknown."""
    name = design.source.environment or ""
    wanted = count_probes(design)
    spare = min(max(_LEAST_SPARE, _SPARE_PER_PROBE * wanted), _MOST_SPARE) if wanted else 0
    return _specs(name, design.seed, task_count(design) + spare)


def select_tasks(design: Design, wanted: Sequence[str]) -> list[TaskSpec]:
    """Return the tasks with these keys, in the order of the keys."""
    known = load_tasks(design)
    if not known.keys() >= set(wanted):
        # The study was created by an older version that kept more spare tasks.
        known = _specs(design.source.environment or "", design.seed, task_count(design) + _MOST_SPARE)
    return [known[key] for key in wanted]


@lru_cache(maxsize=8)
def _specs(name: str, seed: int, count: int) -> Tasks:
    make = ENVIRONMENTS[name].tasks
    if make is None:
        raise BadInput(f"source.environment: no agent can act in {name}. Replay a recorded run instead.")
    return MappingProxyType({task.task_id: task for task in make(seed, count)})
