"""Decisions that a log holds: what somebody decided elsewhere, kept beside the step, without a place or a unit here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlmodel import Session, col, select

from console.auth.origin import Door
from console.runs.importers.records import DECIDED
from console.trajectory import Label, Step
from console.trajectory.checkpoints import CheckpointKind, digest
from storage import tables
from storage.tables import DecisionKind, ItemStatus

_LABELS = {
    DecisionKind.APPROVE: Label.ALIGNED,
    DecisionKind.REJECT: Label.MISALIGNED,
    DecisionKind.EDIT: Label.MISALIGNED,
}


def decided_steps(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """What was decided of each step that somebody decided about: `step`, `action`, `decision`, `who`, `words`."""
    return [
        {"step": place, "action": step.action, **step.extra[DECIDED]}
        for place, step in enumerate(steps)
        if isinstance(step.extra.get(DECIDED), dict) and step.extra[DECIDED].get("decision") in tuple(_LABELS)
    ]


def store_decisions(
    session: Session, run: tables.Run, by_digest: Mapping[str, list[dict[str, Any]]], now_ms: int
) -> int:
    """Writes the decisions of the trajectories with these digests, once each; returns how many are new."""
    record, item = tables.Trajectory, tables.Item
    stored = 0
    for key, decisions in by_digest.items():
        row = session.exec(select(record).where(record.run_id == run.id, col(record.digest) == key)).one()
        known = set(session.exec(select(item.step).where(item.trajectory_id == row.id)))
        for decided in decisions:
            if decided["step"] not in known:
                _store(session, row, decided, now_ms)
                stored += 1
    return stored


def _store(session: Session, row: tables.Trajectory, decided: Mapping[str, Any], now_ms: int) -> None:
    item = tables.Item(
        run_id=row.run_id,
        trial=row.trial,
        trajectory_id=row.id or 0,
        step=decided["step"],
        kind=CheckpointKind.ACTION,
        status=ItemStatus.DELIVERED,
        priority=0.0,
        open_slots=0,
        reviews_required=0,
        created_ms=now_ms,
    )
    session.add(item)
    session.flush()
    kind, words = DecisionKind(decided["decision"]), str(decided.get("words") or "")
    session.add(
        tables.Decision(
            item_id=item.id or 0,
            reviewer=str(decided.get("who") or "somebody"),
            decision=kind,
            label=_LABELS[kind],
            feedback_type="nl" if words else "binary",
            feedback_text=words,
            action_digest=digest(decided["action"]),
            submit_key=f"import-{item.id}",
            budget_used=0,
            claimed_ms=now_ms,
            decided_ms=now_ms,
            deliverable_ms=now_ms,
            delivered_ms=now_ms,
            door=Door.IMPORT,
        )
    )
