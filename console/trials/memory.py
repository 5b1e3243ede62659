"""The memory of a task's trials (Reflexion), stored as text or as the Actor's plan, and the next trial of a task."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from sqlalchemy import insert
from sqlmodel import Session, col, or_, select

from console.actors import Actor, Reflection
from console.actors.move import MEMORY_WINDOW
from console.auth import audit_log
from console.database import now_ms, reading, writing
from console.review.resolution import feedback_to_agent, is_feedback, list_current_decisions
from console.runs import budgets, run_options
from console.runs.trajectory_rows import task_spec
from console.trajectory import Outcome, Trajectory, from_json
from console.trajectory.checkpoints import pending_checkpoint
from console.trials import store
from console.trials.round import NO_FEEDBACK, Advance, RoundContext
from console.trials.start import EARLIER, insert_trials, new_trial
from console.trials.store import list_latest_trials
from storage import tables
from storage.tables import UNREVIEWED, ItemStatus

WORDS, REFLECTION = "words", "reflection"
SENT, WITHHELD = "sent", "withheld"
"""Whether the reasons of the detector go to the Actor with the feedback on a task."""
_SHOWN = ("decision_id", "trial", "origin", "text")
UNSOLVED = (Outcome.REJECTED, Outcome.FAILED, Outcome.HALTED)


@dataclass(frozen=True, slots=True)
class Lesson:
    """One decision to learn from; if it has no text, the Actor reflects on the steps that the reviewer saw.

    `rationale` holds the reasons of the detector, if they go to the Actor with the feedback; None if they are withheld.
    """

    task_id: int
    trial: int
    decision_id: int
    words: str
    reflection: Reflection
    rationale: str | None = None


async def store_memories(context: RoundContext) -> None:
    """Store one memory for each delivered feedback on an unsolved trial that does not have a memory yet."""
    with reading() as session:
        lessons = _lessons(session, context.run)
    limit = asyncio.Semaphore(context.limit)
    await asyncio.gather(*(_learn(context, lesson, limit) for lesson in lessons))


def list_memory_texts(session: Session, task_id: int, before: int) -> list[str]:
    """List the texts of the memories given to this trial of the task, the oldest first."""
    return [row.text for row in list_memories(session, task_id, before)]


def list_memories(session: Session, task_id: int, before: int) -> Sequence[tables.Memory]:
    """List the memories given to the Actor in this trial, the oldest first."""
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
            # The next round asks the model again.
            context.done.interrupt(f"The Actor could not reflect on feedback ({type(failure).__name__}: {failure}).")
            return
    row = {
        "task_id": lesson.task_id,
        "trial": lesson.trial,
        "decision_id": lesson.decision_id,
        "origin": WORDS if lesson.words else REFLECTION,
        "text": f"{text}\nThe detector's reasons: {lesson.rationale}" if lesson.rationale else text,
        "created_ms": now_ms(),
        "rationale": WITHHELD if lesson.rationale is None else SENT,
    }
    await context.group_commit.write(lambda session: session.execute(insert(tables.Memory), [row]) and None)


def _lessons(session: Session, run: tables.Run) -> list[Lesson]:
    unsolved = [row.id or 0 for row in list_latest_trials(session, run) if row.outcome in UNSOLVED]
    item, memory = tables.Item, tables.Memory
    found = []
    for trial in store.load_trials(session, unsolved):
        items = select(item).where(item.trajectory_id == trial.id, item.status == ItemStatus.DELIVERED)
        for reviewed in session.exec(items.order_by(col(item.id))):
            for answer in list_current_decisions(session, reviewed.id):
                learnt = session.exec(select(memory.id).where(memory.decision_id == answer.id)).first()
                if learnt is None and is_feedback(answer, reviewed.kind):
                    found.append(_lesson(session, run, trial, reviewed, answer))
    return found


def _lesson(
    session: Session, run: tables.Run, trial: store.Trial, item: tables.Item, answer: tables.Decision
) -> Lesson:
    record = trial.record
    seen = pending_checkpoint(record, item.step, item.kind)
    memory = tuple(list_memory_texts(session, trial.task_id, record.trial))
    reflection = Reflection(record.environment, record.instruction, seen.steps, seen.action, memory)
    place = (trial.task_id, record.trial, answer.id or 0)
    return Lesson(*place, feedback_to_agent(answer), reflection, _draw_rationale(session, run, record, item))


def _draw_rationale(session: Session, run: tables.Run, record: Trajectory, item: tables.Item) -> str | None:
    """Return the detector's reasons if the task is drawn to receive reasons, else None. Trials share a draw."""
    if Random(f"{run.seed} rationale {record.task_id}").random() >= run_options(run).rationale:
        return None
    verdict = session.get(tables.Verdict, item.verdict_id) if item.verdict_id else None
    return "" if verdict is None else verdict.rationale


def describe_memory(session: Session, trajectory: tables.Trajectory) -> dict[str, Any]:
    """Describe a trial: its `memory`, its `actions`, and the action that did not run (`pending`)."""
    body = session.get(tables.TrajectoryBody, trajectory.id)
    record = from_json(body.body) if body else None
    actions = [step.action for step in record.steps] if record else []
    memories = list_memories(session, trajectory.task_id, trajectory.trial)
    stopped = trajectory.outcome in (Outcome.PAUSED, Outcome.REJECTED)
    return {
        "memory": [{name: getattr(row, name) for name in _SHOWN} for row in memories],
        "actions": actions,
        "pending": trajectory.critical_action if stopped else None,
        "released_by": trajectory.released_by,
        "reason": record.extra.get("reason") if record else None,
    }


_AGAIN = (Outcome.FAILED, Outcome.HALTED)
"""The outcomes after which a run without feedback retries a task."""


def add_next_trials(context: RoundContext) -> list[int]:
    """Add the next trial of every task to be retried, up to the run's limit; return the new trajectory ids."""
    run, done = context.run, context.done
    with writing() as session:
        last = list_latest_trials(session, run)
        wanted = [row for row in last if row.trial + 1 < run.trials and _retries(session, run, row)]
        made = insert_trials(session, run, [_again(session, row, context.actor) for row in wanted], now_ms())
        done.revealed += len(made)
        if made:
            audit_log.record(session, run, "next trial", now_ms(), detail={"tasks": len(made)})
    return made


def carry_over_solved(run: tables.Run, done: Advance) -> None:
    """Copy each solved task, marked as carried over, into every later trial that the run has reached."""
    with writing() as session:
        last = list_latest_trials(session, run)
        reached = max((row.trial for row in last), default=0)
        unsettled = _list_unsettled(session, run)
        solved = {
            row.id: row
            for row in last
            if row.outcome == Outcome.SUCCEEDED and row.trial < reached and row.id not in unsettled
        }
        for trial in store.load_trials(session, [id for id in solved if id is not None]):
            old, record = solved[trial.id], trial.record.as_carried_over()
            again = [(trial.task_id, replace(record, trial=number)) for number in range(old.trial + 1, reached + 1)]
            kept = {"n_critical": old.n_critical, "released_by": old.released_by}
            done.carried_over += len(insert_trials(session, run, again, now_ms(), **kept))


def _list_unsettled(session: Session, run: tables.Run) -> set[int]:
    """List the trajectories whose actions a review may still undo, within the budget."""
    if run_options(run).protocol != "undo":
        return set()
    item, spent = tables.Item, [trial for trial, one in budgets(session, run).items() if one["left"] == 0]
    is_offered = col(item.status).in_(UNREVIEWED) & col(item.trial).not_in(spent)
    is_open = or_(col(item.status) == ItemStatus.DECIDED, is_offered)
    return set(session.exec(select(item.trajectory_id).where(item.run_id == run.id, is_open)))


def _retries(session: Session, run: tables.Run, last: tables.Trajectory) -> bool:
    if run.feedback_mode == NO_FEEDBACK:
        return last.outcome in _AGAIN
    memory = tables.Memory
    learnt = select(memory.id).where(memory.task_id == last.task_id, memory.trial == last.trial)
    return last.outcome in UNSOLVED and session.exec(learnt).first() is not None


def _again(session: Session, last: tables.Trajectory, actor: Actor) -> tuple[int, Trajectory]:
    task = session.get_one(tables.Task, last.task_id)
    trial = last.trial + 1
    record = from_json(session.get_one(tables.TrajectoryBody, last.id).body)
    memory = list_memory_texts(session, last.task_id, trial)
    # A trial that halted before its first step leaves the state of the trial before it.
    earlier = actor.carry(record.steps) or record.extra.get(EARLIER)
    return last.task_id, new_trial(task_spec(task), trial, memory, earlier)
