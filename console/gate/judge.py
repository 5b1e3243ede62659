"""A question judged and written: one transaction holds the trajectory, the verdict and, where flagged, the item."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlmodel import Session, col, select, update

from console.detection.detectors import Detector, Verdict, detector
from console.detection.verdicts import verdict_row
from console.gate.request import CheckRequest
from console.gate.store import added, placed
from console.gate.types import Reason
from console.runs import audit_log, costs
from console.runs.options import run_options
from console.trajectory import Outcome
from storage import tables
from storage.queue import NewItem
from storage.queue import statements as sql
from storage.queue.transaction import Transaction

FAILED = "detector_failed"
"""The parameter of a verdict that no detector gave."""


def judge_request(run: tables.Run, question: CheckRequest) -> dict[str, Any]:
    """The verdict of the run's detector as a row; one that breaks is a flag with the error as its rationale."""
    name, seen = run.detector or "rules", question.checkpoint
    try:
        judge = detector(name)
        row = verdict_row(run, judge, judge.threshold if run.threshold is None else run.threshold, 0, seen)
        if 0.0 <= row["score"] <= 1.0:
            return row
        reason = f"its score is {row['score']!r}, which is not between 0 and 1"
    except Exception as failure:
        # Whatever breaks in a detector, the action must not run for it.
        reason = f"{type(failure).__name__}: {failure}"
    broken = Verdict(1.0, f"The detector failed ({reason}), so a person has to look.", parameters={FAILED: True})
    stand_in = Detector(name, "", lambda _checkpoint, _seed: broken)
    return verdict_row(run, stand_in, run.threshold or stand_in.threshold, 0, seen) | {"flagged": True}


def store_request(
    session: Session,
    run: tables.Run,
    question: CheckRequest,
    verdict: dict[str, Any],
    deadline_ms: int | None,
    now_ms: int,
) -> tables.Ask:
    """Writes the question with its verdict and, where flagged, its item; raises IntegrityError where it is there."""
    flagged = verdict["flagged"]
    record = replace(question.record, outcome=Outcome.PAUSED if flagged else Outcome.RUNNING)
    if question.follows is not None:
        ask = tables.Ask
        session.execute(update(ask).where(col(ask.id) == question.follows).values(digest=question.own_digest))
    trajectory_id = placed(session, run, record, question.own_digest, now_ms)
    row = verdict | {"trajectory_id": trajectory_id}
    verdict_id = added(session, "verdict", row)
    asked: dict[str, Any] = {
        "run_id": run.id,
        "digest": question.digest,
        "trajectory_id": trajectory_id,
        "item_id": _queued(session, run, question, row, verdict_id, now_ms) if flagged else None,
        "asked_ms": now_ms,
        "heartbeat_ms": now_ms,
        "deadline_ms": deadline_ms,
        "answer": None if flagged else Reason.NOT_FLAGGED.value,
        "answered_ms": None if flagged else now_ms,
    }
    return tables.Ask(id=added(session, "ask", asked), **asked)


def _queued(
    session: Session, run: tables.Run, question: CheckRequest, verdict: dict[str, Any], verdict_id: int, now_ms: int
) -> int:
    if FAILED in verdict["parameters"]:
        detail = {"trajectory_id": verdict["trajectory_id"], "reason": verdict["rationale"]}
        audit_log.record(session, run, "detector failed", now_ms, actor="gate", detail=detail)
    item = NewItem(
        run_id=run.id or 0,
        trial=question.record.trial,
        trajectory_id=verdict["trajectory_id"],
        step=question.step,
        kind=verdict["kind"],
        priority=costs.priority(run_options(run).costs, question.checkpoint, verdict["score"], verdict["probability"]),
        reviews_required=run.reviews_per_item,
        verdict_id=verdict_id,
        created_ms=now_ms,
    )
    Transaction.joined(session).run_many(sql.PUT, [vars(item)])
    at = select(tables.Item.id).where(
        tables.Item.trajectory_id == item.trajectory_id, tables.Item.step == item.step, tables.Item.kind == item.kind
    )
    return session.exec(at).one() or 0
