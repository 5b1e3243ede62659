"""First trials before anyone reviews: played by the scripted Actor, who always acts alike, or read from an archive."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from sqlmodel import Session, col, select

from console import runs
from console.actors import ActorView, actor
from console.detection.detectors import Detector, detector
from console.environments import environment
from console.environments.environment import TaskSpec
from console.runs import run_checkpoints
from console.studies.design import Design, conditions
from console.studies.design.model import SCRIPTED
from console.studies.design.strata import KnownTask
from console.studies.sessions import task_sources
from console.trajectory import Outcome, Step, Trajectory, from_json
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at, is_critical
from console.trials.play import ending
from storage import tables


def known_tasks(session: Session, design: Design, task_keys: Sequence[str]) -> dict[str, KnownTask]:
    """What is known of the tasks by their keys; nothing where the Actor need not act alike in every copy."""
    if design.source.run is not None:
        return _recorded(session, design, design.source.run, task_keys)
    if design.source.actor != SCRIPTED:
        return {}
    judges = offline_detectors(design)
    return {task.task_id: _played(task, design, judges) for task in task_sources.chosen(design, task_keys)}


def offline_detectors(design: Design) -> list[Detector]:
    """The detectors of the conditions that ask no model; `rules` where all of them do."""
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
    """A task to play, told from others by its id, instruction and seed: its gold cannot be hashed."""

    task_id: str
    instruction: str
    seed: int
    task: TaskSpec = field(compare=False)


@dataclass(frozen=True, slots=True)
class FirstTrial:
    """A trial that nobody reviewed: as it stood before its first critical action, if it came to one, and its end."""

    held: Trajectory | None
    outcome: Outcome
    steps: int


@lru_cache(maxsize=4_096)
def first_trial(asked: TaskToPlay) -> FirstTrial:
    """The task's trial 0 by the scripted Actor, as a run of that seed plays it."""
    return asyncio.run(_play(asked.task, asked.seed))


async def _play(task: TaskSpec, seed: int) -> FirstTrial:
    where, act = environment(task.environment), actor(SCRIPTED).act
    if where.start is None:
        return FirstTrial(None, Outcome.ERROR, 0)
    world = where.start(task)
    opening, held = world.reset(seed=seed)[0], None
    steps: tuple[Step, ...] = ()
    while True:
        move = await act(ActorView(where.name, task.instruction, opening, steps, (), seed * 1_009))
        if held is None and is_critical(move.action, where.critical):
            held = paused(task, opening, steps, move.thought, move.action)
        observation, _, ended, capped, info = world.step(move.action)
        steps = (*steps, Step(move.thought, move.action, observation))
        outcome = ending(where, steps, ended, capped, info)
        if outcome is not None:
            return FirstTrial(held, outcome, len(steps))


def paused(task: TaskSpec, opening: str, steps: tuple[Step, ...], thought: str, action: str) -> Trajectory:
    """A trial that stands before its critical action."""
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
