"""Where a question stands: its trial's trajectory grown to it, or a new trajectory."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from sqlalchemy import Select, and_, bindparam
from sqlalchemy import select as sa_select
from sqlmodel import Session, select

from console.gate.recording import reopened
from console.gate.stored import added
from console.runs import patterns
from console.runs.ingest import Prepared, prepare
from console.trajectory import Step, Trajectory, from_json
from console.trials.store import write
from storage import tables


def placed(session: Session, run: tables.Run, asked: Trajectory, digest: str, now_ms: int) -> int:
    """The trial's latest trajectory grown to the question, or a new one where the question does not continue it."""
    task_id, trajectory_id, body = _latest_of_trial(session, run, asked)
    if trajectory_id is not None:
        before = from_json(body)
        if _continues(session, trajectory_id, before, asked):
            steps = before.steps + asked.steps[len(before.steps) :]
            grown = replace(reopened(before), steps=steps, critical_action=asked.critical_action, outcome=asked.outcome)
            write(session, trajectory_id, grown, patterns(run))
            return trajectory_id
    return _inserted(session, run, task_id, prepare(asked, patterns(run)), digest, now_ms)


def _inserted(session: Session, run: tables.Run, task_id: int | None, ready: Prepared, digest: str, now_ms: int) -> int:
    if task_id is None:
        task_id = added(session, "task", {**ready.task, "run_id": run.id})
    row = {**ready.row, "run_id": run.id, "task_id": task_id, "digest": digest, "created_ms": now_ms}
    trajectory_id = added(session, "trajectory", row)
    added(session, "trajectory_body", {"trajectory_id": trajectory_id, "body": ready.body})
    return trajectory_id


def _latest_of_trial(session: Session, run: tables.Run, asked: Trajectory) -> tuple[int | None, int | None, str]:
    """Ids of the task and of its trial's latest trajectory, None where there is none yet, with the body."""
    trial = {"run_id": run.id, "task": asked.task_id, "instruction": asked.instruction, "trial": asked.trial}
    found = session.connection().execute(_latest_trajectory(), trial).first()
    return (None, None, "") if found is None else (found[0], found[1], found[2])


@cache
def _latest_trajectory() -> Select[Any]:
    record, task, body = (tables.Table.metadata.tables[name].c for name in ("trajectory", "task", "trajectory_body"))
    tried = and_(record.task_id == task.id, record.trial == bindparam("trial"))
    return (
        sa_select(task.id, record.id, body.body)
        .select_from(task.id.table)
        .join(record.id.table, tried, isouter=True)
        .join(body.body.table, body.trajectory_id == record.id, isouter=True)
        .where(task.run_id == bindparam("run_id"), task.task_key == bindparam("task"))
        .where(task.instruction == bindparam("instruction"))
        .order_by(record.id.desc())
        .limit(1)
    )


def _continues(session: Session, trajectory_id: int, before: Trajectory, asked: Trajectory) -> bool:
    """Whether the steps go on from those stored, so that what earlier reviewers saw stays as they saw it."""
    held = len(before.steps)
    if len(asked.steps) < held or not all(map(_same, before.steps, asked.steps)):
        return False
    if before.critical_action is None:
        return True
    if len(asked.steps) == held:
        return False
    intent = tables.Intent
    ran = session.exec(select(intent.action).where(intent.trajectory_id == trajectory_id, intent.step == held)).first()
    return asked.steps[held].action in (before.critical_action, ran)


def _same(ours: Step, theirs: Step) -> bool:
    return (ours.thought, ours.action, ours.observation) == (theirs.thought, theirs.action, theirs.observation)
