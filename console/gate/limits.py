"""The inputs of a policy's rules: the facts of a check with the earlier results in its task, and used amounts.

A result is recorded if the agent reported it after beginning an action of the same run, task and trial. For a task
without an id, the agent's own steps must also show the result, since another task can have the same text.

The limits of rules are taken in the transaction that lets an action run. An action that is allowed at once counts from
then on. A stored check counts while the check is open and once its action may run. A rejection, an expiry or a
withdrawal releases the amount. An agent with a token has limits of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Integer, Select, bindparam
from sqlalchemy import select as sa_select
from sqlalchemy import text as sql_text
from sqlmodel import Session, col, delete, func, or_, select

from console.errors import TooMany
from console.gate.policy import CheckFacts
from console.gate.policy.expression import NO_RESULTS, EarlierResult, EarlierResults
from console.gate.policy.policy_store import PolicyVersion
from console.gate.policy.rules import LimitedAmount
from console.gate.request import Asker, CheckRequest, Ruled, derive_task_id
from console.runs.trajectory_rows import insert_row
from console.settings import settings
from console.trajectory import Trajectory, from_json
from console.trajectory.checkpoints import digest
from storage import tables
from storage.tables import UNREVIEWED, RunKind


def check_facts(
    session: Session, version: PolicyVersion, run: tables.Run, request: CheckRequest, action: str, now_ms: int
) -> CheckFacts:
    """Return the facts of a request to run this action, which is a reviewer's edit or the request's own action."""
    record = request.record
    results = _find_results(session, run, request) if version.reads_results else NO_RESULTS
    who, environment = request.asker.name, run.environment or ""
    hints, task = request.hints, record.instruction
    return CheckFacts(action, who, environment, task, now_ms, hints=hints, results=results)


def _find_results(session: Session, run: tables.Run, request: CheckRequest) -> EarlierResults:
    record, recorded, stated = request.record, list[EarlierResult](), list[EarlierResult]()
    is_named = record.task_id != derive_task_id(record.instruction)
    for place, one in _list_recorded(session, run, request):
        (recorded if is_named or _shows(record, place, one) else stated).append(one)
    stated += [EarlierResult(step.action, step.observation) for step in record.steps]
    return EarlierResults(tuple(recorded), tuple(stated))


def _shows(record: Trajectory, place: int, result: EarlierResult) -> bool:
    step = record.steps[place] if place < len(record.steps) else None
    return step is not None and (step.action, step.observation) == (result.action, result.text)


def _list_recorded(session: Session, run: tables.Run, request: CheckRequest) -> Iterator[tuple[int, EarlierResult]]:
    """Yield the step and the result of each finished action of the agent in this task and trial, oldest first."""
    record = request.record
    known = {"run_id": run.id, "task": record.task_id, "instruction": record.instruction, "trial": record.trial}
    bodies: dict[int, Trajectory] = {}
    for intent in session.connection().execute(_finished(), known | {"agent_id": request.asker.agent_id}).all():
        if intent.trajectory_id not in bodies:
            body = session.get_one(tables.TrajectoryBody, intent.trajectory_id)
            bodies[intent.trajectory_id] = from_json(body.body)
        steps = bodies[intent.trajectory_id].steps
        text = steps[intent.step].observation if intent.step < len(steps) else None
        # A step that the agent stated before it reported the result can differ from the reported one.
        if text is not None and digest(text) == intent.result_digest:
            yield intent.step, EarlierResult(intent.action, text)


@cache
def _finished() -> Select[Any]:
    names = ("intent", "trajectory", "task", "ask")
    intent, record, task, ask = (tables.Table.metadata.tables[name].c for name in names)
    own = ask.agent_id.is_not_distinct_from(bindparam("agent_id", type_=Integer))
    is_own = sa_select(ask.id).where(ask.trajectory_id == record.id, own).correlate(record.id.table).exists()
    return (
        sa_select(intent.trajectory_id, intent.step, intent.action, intent.result_digest)
        .join(record.id.table, record.id == intent.trajectory_id)
        .join(task.id.table, task.id == record.task_id)
        .where(task.run_id == bindparam("run_id"), task.task_key == bindparam("task"))
        .where(task.instruction == bindparam("instruction"), record.trial == bindparam("trial"))
        .where(intent.result_digest.is_not(None), is_own)
        .order_by(intent.finished_ms, intent.id)
    )


_DAY_MS = 86_400_000
_KEPT_MS = 8 * _DAY_MS
"""The storage time of used amounts in ms, one day more than the longest window."""
_ROUNDING = 1e-9


def has_room(session: Session, run: tables.Run, request: CheckRequest, ruled: Ruled, now_ms: int) -> bool:
    """Return whether every limit of the ruling has room for this action; block other writers until the commit."""
    if session.get_bind().dialect.name != "sqlite":
        # SQLite's one write lock is held already; with PostgreSQL, two writers could read the same sum.
        session.execute(sql_text("LOCK TABLE limit_use IN SHARE ROW EXCLUSIVE MODE"))
    own: dict[str, float] = {}
    for use in ruled.ruling.uses:
        own[use.rule] = own.get(use.rule, 0.0) + use.amount
    return all(
        _used(session, _keys(run, request, ruled, use), now_ms - use.limit.window_s * 1_000) + own[use.rule]
        <= use.limit.most + _ROUNDING
        for use in ruled.ruling.uses
    )


def record_uses(
    session: Session, run: tables.Run, request: CheckRequest, ruled: Ruled, now_ms: int, token: str | None = None
) -> None:
    """Store the amounts that this action uses; `token` is its check's id, or None if the action was allowed at once."""
    row = tables.LimitUse
    for use in ruled.ruling.uses:
        keys = _keys(run, request, ruled, use)
        session.execute(delete(row).where(*_is_of(keys), col(row.at_ms) < now_ms - _KEPT_MS))
        used = {"run_id": run.id, **keys, "amount": use.amount, "token": token, "at_ms": now_ms}
        insert_row(session.connection(), "limit_use", used)


def _keys(run: tables.Run, request: CheckRequest, ruled: Ruled, use: LimitedAmount) -> dict[str, str]:
    """Return the key of a counter: its scope, its rule, and the task, agent or run that the limit counts by."""
    asker = request.asker
    counted = {
        "task": f"task {request.record.task_id}",
        "agent": f"agent {asker.name}" if asker.agent_id is None else f"agent {asker.agent_id}",
        "run": f"run {run.id}",
    }
    scope = f"run {run.id}" if ruled.version.own else "common"
    return {"scope": scope, "rule": use.rule, "counted_by": counted[use.limit.by]}


def _is_of(keys: dict[str, str]) -> list[ColumnElement[bool]]:
    return [getattr(tables.LimitUse, name) == value for name, value in keys.items()]


def _used(session: Session, keys: dict[str, str], since_ms: int) -> float:
    use, ask = tables.LimitUse, tables.Ask
    counts = or_(
        col(use.token).is_(None), col(ask.id).is_not(None) & (col(ask.answer).is_(None) | col(ask.action).is_not(None))
    )
    rows = select(func.coalesce(func.sum(use.amount), 0.0)).join(ask, col(ask.token) == use.token, isouter=True)
    return float(session.exec(rows.where(*_is_of(keys), col(use.at_ms) > since_ms, counts)).one())


def refuse_waiting(session: Session, asker: Asker, now_ms: int) -> None:
    """Raise TooMany if this agent may not add a pending check; a process with access to the database has no limit."""
    if asker.agent_id is None:
        return
    ask, item, most = tables.Ask, tables.Item, settings().agent_waiting
    waits = (
        ask.agent_id == asker.agent_id,
        col(ask.answer).is_(None),
        or_(col(ask.deadline_ms).is_(None), col(ask.deadline_ms) > now_ms),
        col(item.status).in_(UNREVIEWED),
    )
    waiting = select(func.count()).select_from(ask).join(item, col(item.id) == ask.item_id).where(*waits)
    if session.exec(waiting).one() >= most:
        raise TooMany(
            f"{most} checks of this agent are pending, the maximum for one agent. Wait for a decision, or "
            "withdraw a check."
        )


def refuse_run(session: Session, agent: str, now_ms: int) -> None:
    """Raise TooMany if this agent has created the most runs allowed within 24 hours."""
    run, most = tables.Run, settings().agent_runs
    own = (run.kind == RunKind.GATE, run.actor == agent, col(run.created_ms) > now_ms - _DAY_MS)
    if session.exec(select(func.count()).select_from(run).where(*own)).one() >= most:
        raise TooMany(
            f"This agent has created {most} runs within a day, the maximum for one agent. Use an earlier run, or "
            "wait until tomorrow."
        )
