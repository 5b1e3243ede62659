"""What came of an action that was let run, or that nobody knows it."""

from __future__ import annotations

from dataclasses import replace

from sqlmodel import Session, select

from console.errors import Unknown
from console.runs import audit_log, patterns
from console.trajectory import Outcome, Step, Trajectory, from_json
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
