"""Earlier answers to a request: a rejection in the same task, and answers that a restore carried over."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import BindParameter, Boolean, Integer, Select, and_, bindparam, or_
from sqlalchemy import select as sa_select
from sqlmodel import Session, col

from console.gate.request import CheckRequest
from console.gate.resolve import WORDS
from console.gate.types import GateDecision, Reason
from console.review.resolution import feedback_to_agent
from console.runs import is_current
from console.trajectory.checkpoints import digest
from storage import tables
from storage.tables import DecisionKind


def find_earlier_answer(session: Session, run: tables.Run, request: CheckRequest) -> GateDecision | None:
    """Return the earlier answer that also holds for this request, or None if there is none.

    The answer is a rejection in the same task, or an answer that a restore carried over from the replaced database.
    """
    return _rejected_before(session, run, request) or _carried_answer(session, run, request)


def _carried_answer(session: Session, run: tables.Run, request: CheckRequest) -> GateDecision | None:
    """Return the answer to a request whose action began, or was rejected, after the backup that was restored.

    Without a task id, the whole request must be equal; an unflagged action may then run again, as in another task.
    """
    record = request.record
    asked = {"run": run.name, "request": request.digest, "named": request.named, "task": record.task_id}
    asked |= {"instruction": digest(record.instruction), "action": digest(request.action), "trial": record.trial}
    asked |= {"step": request.step, "agent_id": request.asker.agent_id}
    carried_id = session.connection().execute(_carried(), asked).scalar()
    if carried_id is None:
        return None
    found = session.get_one(tables.CarriedCheck, carried_id)
    if found.begun:
        return GateDecision(False, request.action, WORDS[Reason.ALREADY_HANDED_OUT], Reason.ALREADY_HANDED_OUT)
    return GateDecision(False, request.action, _repeat_rejection(found), Reason.ALREADY_REJECTED)


def _repeat_rejection(found: tables.Decision | tables.CarriedCheck) -> str:
    return f"This action was already rejected in this task. {feedback_to_agent(found)}".strip()


@cache
def _carried() -> Select[Any]:
    carried = tables.Table.metadata.tables["carried_check"].c
    named: BindParameter[bool] = bindparam("named", type_=Boolean)
    same_place = and_(carried.trial == bindparam("trial"), carried.step == bindparam("step"))
    same_action = and_(
        named,
        carried.task_key == bindparam("task"),
        carried.instruction_digest == bindparam("instruction"),
        carried.action_digest == bindparam("action"),
        carried.agent_id.is_not_distinct_from(bindparam("agent_id", type_=Integer)),
        or_(carried.begun.is_(False), same_place),
    )
    same_request = and_(
        carried.digest == bindparam("request"),
        or_(named, carried.begun.is_(False), carried.answer.is_distinct_from(Reason.NOT_FLAGGED.value)),
    )
    return (
        sa_select(carried.id)
        .where(carried.run == bindparam("run"), or_(same_request, same_action))
        .order_by(carried.begun.desc(), carried.id.desc())
        .limit(1)
    )


def _rejected_before(session: Session, run: tables.Run, request: CheckRequest) -> GateDecision | None:
    """Return the earlier rejection of exactly this action in the same task, or None if there is none.

    The steps before the action may differ. A task without an id has no earlier rejection, since the request may be for
    another task. A rejection holds only for the agent that received it.
    """
    if not request.named:
        return None
    asked = {"run_id": run.id, "task": request.record.task_id, "instruction": request.record.instruction}
    asked |= {"agent_id": request.asker.agent_id, "digest": digest(request.action)}
    decision_id = session.connection().execute(_rejections(), asked).scalar()
    if decision_id is None:
        return None
    found = session.get_one(tables.Decision, decision_id)
    return GateDecision(
        False, request.action, _repeat_rejection(found), Reason.ALREADY_REJECTED, found.item_id, found.id
    )


# Built once, because every critical action needs it.
@cache
def _rejections() -> Select[Any]:
    task, record, ask, decision = tables.Task, tables.Trajectory, tables.Ask, tables.Decision
    return (
        sa_select(col(decision.id))
        .join(ask, col(ask.item_id) == decision.item_id)
        .join(record, col(record.id) == ask.trajectory_id)
        .join(task, col(task.id) == record.task_id)
        .where(col(task.run_id) == bindparam("run_id"), col(task.task_key) == bindparam("task"))
        .where(col(task.instruction) == bindparam("instruction"), col(ask.answer) == Reason.REJECTED.value)
        .where(col(ask.agent_id).is_not_distinct_from(bindparam("agent_id", type_=Integer)))
        .where(col(decision.decision) == DecisionKind.REJECT.value)
        .where(col(decision.action_digest) == bindparam("digest"), is_current())
        .order_by(col(decision.id).desc())
    )
