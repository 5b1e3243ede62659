"""Items whose answer is known: tasks outside the study, played once by the scripted Actor, or taken from the archive.

They are the same for every participant of a study, so that what people do with them can be compared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sqlmodel import Session, col, select

from console import runs
from console.actors import ActorView, actor
from console.designs import Design
from console.detection.batch import run_checkpoints
from console.environments import environment
from console.environments.briefs import brief_of
from console.environments.environment import Environment, TaskSpec
from console.review.simulated import Noise, ReviewCase, reviewer
from console.studies import sources
from console.trajectory import Label, Outcome, Step, Trajectory, from_json
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at, is_critical
from console.trials.play import ending
from storage import tables


@dataclass(frozen=True, slots=True)
class Known:
    """A checkpoint with the answer that is right, and why it is, in plain words."""

    task: TaskSpec
    record: Trajectory
    step: int
    kind: CheckpointKind
    label: Label
    why: str


def pool(session: Session, design: Design, taken: Sequence[str]) -> tuple[Known, ...]:
    """Every known item that the design can use, `taken` being the keys of the study's own tasks."""
    if design.source.run is not None:
        return _recorded(session, design.source.run, frozenset(taken))
    return played(design, taken)


def played(design: Design, taken: Sequence[str]) -> tuple[Known, ...]:
    """The same where agents act: the scripted Actor plays what the study left."""
    if not sources.probes_wanted(design):
        return ()
    left = [key for key in sources.specs(design) if key not in set(taken)]
    chosen = sources.chosen(design, left)
    found = (_known(_Asked(task.task_id, task.instruction, design.seed, task)) for task in chosen)
    return tuple(one for one in found if one is not None)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A task to play, told from others by its id, instruction and seed: its gold cannot be hashed."""

    task_id: str
    instruction: str
    seed: int
    task: TaskSpec = field(compare=False)


@lru_cache(maxsize=4_096)
def _known(asked: _Asked) -> Known | None:
    """The Actor's first critical action in the task with its label, None where it never came to one."""
    task, seed = asked.task, asked.seed
    held = asyncio.run(_held(environment(task.environment), task, seed))
    if held is None:
        return None
    seen = checkpoint_at(held, len(held.steps), CheckpointKind.ACTION)
    opinion = reviewer("oracle").judge(ReviewCase(task, seen, 0, seed), Noise())
    label = opinion.label or Label.MISALIGNED
    return Known(task, held, seen.index, seen.kind, label, explained(task, label, opinion.words))


async def _held(where: Environment, task: TaskSpec, seed: int) -> Trajectory | None:
    """The trial as it stands before its first critical action."""
    if where.start is None:
        return None
    world = where.start(task)
    opening, act = world.reset(seed=seed)[0], actor("scripted").act
    steps: tuple[Step, ...] = ()
    while True:
        view = ActorView(where.name, task.instruction, opening, steps, (), seed * 1_009)
        move = await act(view)
        if is_critical(move.action, where.critical):
            return paused(task, opening, steps, move.thought, move.action)
        observation, _, ended, capped, info = world.step(move.action)
        steps = (*steps, Step(move.thought, move.action, observation))
        if ending(where, steps, ended, capped, info) is not None:
            return None


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


def explained(task: TaskSpec, label: Label, words: str) -> str:
    """Why the label is right: what a reviewer could have said, and what the task's gold says."""
    verdict = "This action does what the user asked for; approving it is right."
    if label is Label.MISALIGNED:
        verdict = f"This action is not what the user asked for; rejecting it is right. {words}".strip()
    told = "; ".join(f"{name}: {text}" for name, text in brief_of(task.environment, task.gold))
    return f"{verdict} The user had in mind: {told}." if told else verdict


def _recorded(session: Session, source: str, taken: frozenset[str]) -> tuple[Known, ...]:
    """The archive's own labelled first trials outside the study, each stopped at its last checkpoint."""
    origin = runs.get(session, source)
    record, task, body = tables.Trajectory, tables.Task, tables.TrajectoryBody
    statement = (
        select(task, body.body)
        .join(record, col(record.task_id) == col(task.id))
        .join(body, col(body.trajectory_id) == col(record.id))
        .where(record.run_id == origin.id, record.trial == 0, col(record.label).is_not(None))
        .order_by(col(record.id))
    )
    found: dict[str, Known] = {}
    for row, text in session.exec(statement):
        known = _from_log(origin, from_json(text)) if row.task_key not in taken else None
        if known is not None:
            found.setdefault(row.task_key, known)
    return tuple(found.values())


def _from_log(origin: tables.Run, record: Trajectory) -> Known | None:
    seen = run_checkpoints(origin, record)
    if record.label is None or not seen:
        return None
    task = TaskSpec(record.task_id, record.environment, record.instruction)
    bare = replace(record, gold={}, source={}, memory=())
    why = explained(task, record.label, "")
    return Known(task, bare, seen[-1].index, seen[-1].kind, record.label, why)
