"""The facts of a check for the rules of a policy, with the earlier results in its task if a condition reads them.

A result is recorded if the agent reported it after beginning an action of the same run, task and trial. For a task
without an id, the agent's own steps must also show the result, since another task can have the same text.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from sqlalchemy import Integer, Select, bindparam
from sqlalchemy import select as sa_select
from sqlmodel import Session

from console.gate.policy import CheckFacts
from console.gate.policy.policy_store import PolicyVersion
from console.gate.policy.results import NO_RESULTS, EarlierResult, EarlierResults
from console.gate.request import CheckRequest, derive_task_id
from console.trajectory import Trajectory, from_json
from console.trajectory.checkpoints import digest
from storage import tables


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
