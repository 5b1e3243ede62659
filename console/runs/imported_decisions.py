"""Decisions that a log holds: what somebody decided elsewhere, kept beside the step, without a place or a unit here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from sqlmodel import Session

from console.auth.origin import Door
from console.runs.importers.records import DECIDED
from console.trajectory import Label, Step
from console.trajectory.checkpoints import digest
from storage import tables
from storage.queue.transaction import Transaction
from storage.tables import DecisionKind

_LABELS = {
    DecisionKind.APPROVE: Label.ALIGNED,
    DecisionKind.REJECT: Label.MISALIGNED,
    DecisionKind.EDIT: Label.MISALIGNED,
}

_BATCH = 1_000

_ITEM = """
INSERT INTO item (run_id, trial, trajectory_id, step, kind, status, priority, open_slots, reviews_required, created_ms)
SELECT run_id, trial, id, :step, 'action', 'delivered', 0.0, 0, 0, :now_ms FROM trajectory
WHERE run_id = :run_id AND digest = :digest
ON CONFLICT (trajectory_id, step, kind) DO NOTHING"""

_DECISION = """
INSERT INTO decision (item_id, reviewer, annotator_kind, decision, label, feedback_type, feedback_text, action_digest,
                      submit_key, revision, superseded, budget_used, claimed_ms, decided_ms, deliverable_ms,
                      delivered_ms, door)
SELECT i.id, :who, 'human', :decision, :label, :feedback_type, :words, :action_digest, 'import-' || i.id, 1, false, 0,
       :now_ms, :now_ms, :now_ms, :now_ms, :door
FROM item i JOIN trajectory t ON t.id = i.trajectory_id
WHERE t.run_id = :run_id AND t.digest = :digest AND i.step = :step AND i.kind = 'action' AND i.status = 'delivered'
  AND i.reviews_required = 0 AND NOT EXISTS (SELECT 1 FROM decision d WHERE d.item_id = i.id)"""


def decided_steps(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """What was decided of each step that somebody decided about: `step`, `action`, `decision`, `who`, `words`."""
    return [
        {"step": place, "action": step.action, **step.extra[DECIDED]}
        for place, step in enumerate(steps)
        if isinstance(step.extra.get(DECIDED), dict) and step.extra[DECIDED].get("decision") in tuple(_LABELS)
    ]


def store_decisions(
    session: Session, run: tables.Run, by_digest: Iterable[tuple[str, list[dict[str, Any]]]], now_ms: int
) -> int:
    """Writes the decisions of the trajectories with these digests, once each; returns how many are new."""
    rows = (
        {"run_id": run.id, "digest": key, "now_ms": now_ms, **_row(decided)}
        for key, decisions in by_digest
        for decided in decisions
    )
    db, fresh = Transaction.joined(session), 0
    while batch := list(islice(rows, _BATCH)):
        db.run_many(_ITEM, batch)
        fresh += db.run_many(_DECISION, batch)
    return fresh


def _row(decided: Mapping[str, Any]) -> dict[str, Any]:
    kind, words = DecisionKind(decided["decision"]), str(decided.get("words") or "")
    return {
        "step": decided["step"],
        "who": str(decided.get("who") or "somebody"),
        "decision": str(kind),
        "label": str(_LABELS[kind]),
        "feedback_type": "nl" if words else "binary",
        "words": words,
        "action_digest": digest(decided["action"]),
        "door": str(Door.IMPORT),
    }
