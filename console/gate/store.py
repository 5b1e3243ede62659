"""Where a question stands: its trial's trajectory grown to it, or a new trajectory.

What came of an action that was let run, or that nobody knows it.
The gate's rows: questions and intents read and written, within the caller's transaction.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from sqlalchemy import Executable, Select, and_, bindparam, insert
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console.errors import Unknown
from console.gate.request import CheckRequest
from console.runs import audit_log, patterns
from console.runs.ingest import Prepared, prepare
from console.trajectory import Outcome, Step, Trajectory, from_json
from console.trajectory.checkpoints import digest
from console.trials.store import UNKNOWN_EXECUTION, stopped, write
from storage import tables


def finish(session: Session, run: tables.Run, intent_id: int, observation: str, now_ms: int) -> None:
    """Writes the result beside the intent and, where the trajectory still stands there, as its next step."""
    intent = session.get(tables.Intent, intent_id)
    if intent is None:
        raise Unknown("intent to run an action", intent_id)
    if intent.finished_ms is not None:
        return
    intent.finished_ms = now_ms
    session.add(intent)
    record = from_json(session.get_one(tables.TrajectoryBody, intent.trajectory_id).body)
    if len(record.steps) == intent.step:
        step = Step(action=intent.action, observation=observation, extra=_origin(session, intent))
        moved = replace(reopened(record), steps=(*record.steps, step), critical_action=None, outcome=Outcome.RUNNING)
        write(session, intent.trajectory_id, moved, patterns(run))


def lose(session: Session, run: tables.Run, intent_id: int, now_ms: int) -> None:
    """Ends the trajectory of an agent that asks again about its action and brings no result; one may still come."""
    intent = session.get_one(tables.Intent, intent_id)
    record = from_json(session.get_one(tables.TrajectoryBody, intent.trajectory_id).body)
    if intent.finished_ms is not None or record.outcome is Outcome.ERROR or len(record.steps) != intent.step:
        return
    write(session, intent.trajectory_id, stopped(record, Outcome.ERROR, UNKNOWN_EXECUTION), patterns(run))
    detail = {"trajectory_id": intent.trajectory_id, "intent_id": intent_id, "action": intent.action}
    audit_log.record(session, run, f"gate: {UNKNOWN_EXECUTION}", now_ms, actor="gate", detail=detail)


def reopened(record: Trajectory) -> Trajectory:
    """The trajectory without the mark of an unknown execution, now that it goes on."""
    kept = {name: value for name, value in record.extra.items() if (name, value) != ("reason", UNKNOWN_EXECUTION)}
    return replace(record, extra=kept)


def _origin(session: Session, intent: tables.Intent) -> dict[str, object]:
    if intent.decision_id is None:
        return {}
    edited = select(tables.Decision.edited_action).where(tables.Decision.id == intent.decision_id)
    asked = from_json(session.get_one(tables.TrajectoryBody, intent.trajectory_id).body).critical_action
    instead = {"instead_of": asked} if session.exec(edited).first() else {}
    return {"decision_id": intent.decision_id, **instead}


def latest(session: Session, run: tables.Run, question: CheckRequest) -> tables.Ask | None:
    """The last time this question was asked, None where it never was."""
    return session.execute(_ask(), {"run_id": run.id, "digest": question.digest}).scalars().first()


# Built once: on the way of every critical action, building a statement costs more than running it.
@cache
def _ask() -> Select[Any]:
    ask = tables.Ask
    return sa_select(ask).where(col(ask.run_id) == bindparam("run_id"), col(ask.digest) == bindparam("digest"))


def intend(
    session: Session, question: CheckRequest, trajectory_id: int, action: str, decision_id: int | None, now_ms: int
) -> int:
    """Says, before it does, that the action runs; returns the intent's id. A second one cannot be written."""
    row = {
        "trajectory_id": trajectory_id,
        "step": question.step,
        "action": action,
        "action_digest": digest(action),
        "decision_id": decision_id,
        "started_ms": now_ms,
    }
    return added(session, "intent", row)


def intent_of(session: Session, question: CheckRequest, trajectory_id: int) -> tables.Intent | None:
    """The go-ahead that was given for this question, if any."""
    intent = tables.Intent
    statement = select(intent).where(intent.trajectory_id == trajectory_id, intent.step == question.step)
    return session.exec(statement).first()


def move(session: Session, run: tables.Run, trajectory_id: int, outcome: Outcome) -> None:
    """Gives the stored trajectory its new outcome."""
    body = session.get_one(tables.TrajectoryBody, trajectory_id)
    write(session, trajectory_id, replace(from_json(body.body), outcome=outcome), patterns(run))


def added(session: Session, table: str, row: dict[str, Any]) -> int:
    """The id of the row just inserted, past the ORM, whose price would be most of an unflagged question."""
    added: int = session.connection().execute(_insertion(table), row).scalar_one()
    return added


@cache
def _insertion(table: str) -> Executable:
    columns = tables.Table.metadata.tables[table]
    return insert(columns).returning(*columns.primary_key)


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
