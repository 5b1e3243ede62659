"""What a trial took from the ones before: its memories with the decisions they come from, and what it then did."""

from __future__ import annotations

from typing import Any

from sqlmodel import Session

from console.live.memories import entries
from console.trajectory import Outcome, from_json
from storage import tables


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
