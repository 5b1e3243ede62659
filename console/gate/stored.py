"""The gate's rows: questions and intents read and written, within the caller's transaction."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from sqlalchemy import Executable, Select, bindparam, insert
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console.gate.question import Question
from console.runs import patterns
from console.trajectory import Outcome, from_json
from console.trajectory.checkpoints import digest
from console.trials.store import write
from storage import tables


def latest(session: Session, run: tables.Run, question: Question) -> tables.Ask | None:
    """The last time this question was asked, None where it never was."""
    return session.execute(_ask(), {"run_id": run.id, "digest": question.digest}).scalars().first()


# Built once: on the way of every critical action, building a statement costs more than running it.
@cache
def _ask() -> Select[Any]:
    ask = tables.Ask
    return sa_select(ask).where(col(ask.run_id) == bindparam("run_id"), col(ask.digest) == bindparam("digest"))


def intend(
    session: Session, question: Question, trajectory_id: int, action: str, decision_id: int | None, now_ms: int
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


def intent_of(session: Session, question: Question, trajectory_id: int) -> tables.Intent | None:
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
