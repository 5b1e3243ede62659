"""The memory of a task's trials: feedback enters as words, or as the plan that the Actor writes from it (Reflexion)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert
from sqlmodel import Session, col, select

from console.actors import Reflection
from console.actors.move import MEMORY_WINDOW
from console.database import now_ms, reading
from console.review.reasons import words_to_agent
from console.review.resolution import current_answers, is_feedback
from console.trajectory import Outcome, Trajectory, from_json
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at
from console.trials import store
from console.trials.pending import latest
from console.trials.round import RoundContext
from storage import tables
from storage.tables import ItemStatus

WORDS, REFLECTION = "words", "reflection"
UNSOLVED = (Outcome.REJECTED, Outcome.FAILED, Outcome.HALTED)


@dataclass(frozen=True, slots=True)
class Lesson:
    """One decision to learn from; without words, the Actor reflects on what a reviewer saw."""

    task_id: int
    trial: int
    decision_id: int
    words: str
    reflection: Reflection


async def remember(context: RoundContext) -> None:
    """Adds one memory for every delivered feedback on an unsolved trial that has left none yet."""
    with reading() as session:
        lessons = _lessons(session, context.run)
    limit = asyncio.Semaphore(context.limit)
    await asyncio.gather(*(_learn(context, lesson, limit) for lesson in lessons))


def window(session: Session, task_id: int, before: int) -> list[str]:
    """The last memories that earlier trials left for that trial of the task, oldest first."""
    return [row.text for row in entries(session, task_id, before)]


def entries(session: Session, task_id: int, before: int) -> Sequence[tables.Memory]:
    """The memories that the Actor sees in that trial, oldest first."""
    memory = tables.Memory
    statement = (
        select(memory)
        .where(memory.task_id == task_id, memory.trial < before)
        .order_by(col(memory.trial).desc(), col(memory.decision_id).desc())
        .limit(MEMORY_WINDOW)
    )
    return list(reversed(session.exec(statement).all()))


async def _learn(context: RoundContext, lesson: Lesson, limit: asyncio.Semaphore) -> None:
    text = lesson.words
    if not text:
        try:
            async with limit:
                text = await context.actor.reflect(lesson.reflection)
        except Exception as failure:
            # The lesson waits; the next round asks the model again.
            context.done.interrupt(f"The Actor could not reflect ({type(failure).__name__}: {failure}).")
            return
    row = {
        "task_id": lesson.task_id,
        "trial": lesson.trial,
        "decision_id": lesson.decision_id,
        "origin": WORDS if lesson.words else REFLECTION,
        "text": text,
        "created_ms": now_ms(),
    }
    await context.group_commit.write(lambda session: session.execute(insert(tables.Memory), [row]) and None)


def _lessons(session: Session, run: tables.Run) -> list[Lesson]:
    unsolved = [row.id or 0 for row in latest(session, run) if row.outcome in UNSOLVED]
    item, memory = tables.Item, tables.Memory
    found = []
    for trial in store.load(session, unsolved):
        items = select(item).where(item.trajectory_id == trial.id, item.status == ItemStatus.DELIVERED)
        for reviewed in session.exec(items.order_by(col(item.id))):
            for answer in current_answers(session, reviewed.id):
                learnt = session.exec(select(memory.id).where(memory.decision_id == answer.id)).first()
                if learnt is None and is_feedback(answer, reviewed.kind):
                    found.append(_lesson(session, trial, reviewed, answer))
    return found


def _lesson(session: Session, trial: store.Trial, item: tables.Item, answer: tables.Decision) -> Lesson:
    record = trial.record
    seen = checkpoint_at(record, item.step, CheckpointKind(item.kind))
    memory = tuple(window(session, trial.task_id, record.trial))
    reflection = Reflection(
        record.environment, record.instruction, seen.steps, _refused(seen.action, record, item), memory
    )
    return Lesson(trial.task_id, record.trial, answer.id or 0, words_to_agent(answer), reflection)


def _refused(action: str, record: Trajectory, item: tables.Item) -> str:
    """What the reviewer refused: where they wrote another action, the one that the Actor had chosen."""
    if item.kind != CheckpointKind.ACTION or item.step >= len(record.steps):
        return action
    return str(record.steps[item.step].extra.get("instead_of", action))


def links(session: Session, trajectory: tables.Trajectory) -> dict[str, Any]:
    """The `memory` that the trial began with, its `actions` (the one that never ran last, named in `pending`)."""
    body = session.get(tables.TrajectoryBody, trajectory.id)
    record = from_json(body.body) if body else None
    actions = [step.action for step in record.steps] if record else []
    stopped = trajectory.outcome in (Outcome.PAUSED, Outcome.REJECTED)
    return {
        "memory": [_entry(row) for row in entries(session, trajectory.task_id, trajectory.trial)],
        "actions": actions,
        "pending": trajectory.critical_action if stopped else None,
        "released_by": trajectory.released_by,
        "reason": record.extra.get("reason") if record else None,
    }


def _entry(row: tables.Memory) -> dict[str, Any]:
    return {"decision_id": row.decision_id, "trial": row.trial, "origin": row.origin, "text": row.text}
