"""A question judged and written: one transaction holds the trajectory, the verdict and, where flagged, the item."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from sqlmodel import Session, col, select, update

from console.detection.detectors import Detector, Verdict, detector
from console.detection.verdicts import verdict_row
from console.gate.policy import Ruling, Then
from console.gate.policy.store import PolicyVersion
from console.gate.request import CheckRequest
from console.gate.store import added, placed
from console.gate.types import Reason
from console.runs import audit_log, costs
from console.trajectory import Outcome
from storage import tables
from storage.queue import NewItem
from storage.queue import statements as sql
from storage.queue.transaction import Transaction

FAILED = "detector_failed"
"""The parameter of a verdict that no detector gave."""


@dataclass(frozen=True, slots=True)
class Tightened:
    """What a caller asks for beyond the run's settings; it counts where it is stricter."""

    threshold: float | None = None
    reviews: int = 1


@dataclass(frozen=True, slots=True)
class Ruled:
    """A check's ruling with the version of the policy that gave it, and what the caller tightened."""

    version: PolicyVersion
    ruling: Ruling
    tightened: Tightened = field(default_factory=Tightened)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the ask that come from here."""
        return {"policy_version": self.version.version, "rule": self.ruling.rule, "tool": self.ruling.tool}

    def asks(self, verdict: dict[str, Any]) -> bool:
        """Whether a person has to look."""
        return bool(verdict["flagged"]) or self.ruling.then is Then.ASK

    def terms(self) -> str:
        """What binds those who decide, as JSON."""
        stated = {"decisions": self.ruling.decisions or None, "who": self.ruling.who}
        return orjson.dumps({name: value for name, value in stated.items() if value is not None}).decode()


def judge_request(run: tables.Run, question: CheckRequest, tightened: Tightened) -> dict[str, Any]:
    """The verdict of the run's detector as a row; one that breaks is a flag with the error as its rationale."""
    name, seen = run.detector or "rules", question.checkpoint
    try:
        judge = detector(name)
        threshold = judge.threshold if run.threshold is None else run.threshold
        threshold = threshold if tightened.threshold is None else min(threshold, tightened.threshold)
        row = verdict_row(run, judge, threshold, 0, seen)
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
    ruled: Ruled,
    deadline_ms: int | None,
    now_ms: int,
) -> tables.Ask:
    """Writes the question with its verdict and, where a person has to look, its item.

    Raises IntegrityError where it is there already.
    """
    asks = ruled.asks(verdict)
    trajectory_id = _placed(session, run, question, Outcome.PAUSED if asks else Outcome.RUNNING, now_ms)
    row = verdict | {"trajectory_id": trajectory_id}
    verdict_id = added(session, "verdict", row)
    asked: dict[str, Any] = {
        "run_id": run.id,
        "digest": question.digest,
        "trajectory_id": trajectory_id,
        "item_id": _queued(session, run, question, row, verdict_id, ruled, now_ms) if asks else None,
        "asked_ms": now_ms,
        "heartbeat_ms": now_ms,
        "deadline_ms": deadline_ms,
        "answer": None if asks else Reason.NOT_FLAGGED.value,
        "answered_ms": None if asks else now_ms,
        **ruled.columns,
    }
    return tables.Ask(id=added(session, "ask", asked), **asked)


def store_answered(
    session: Session, run: tables.Run, question: CheckRequest, ruled: Ruled, answer: Reason, now_ms: int
) -> tables.Ask:
    """Writes a question that the policy answers by itself; raises IntegrityError where it is there already."""
    outcome = Outcome.REJECTED if answer is Reason.DENIED else Outcome.RUNNING
    moments = dict.fromkeys(("asked_ms", "heartbeat_ms", "answered_ms"), now_ms)
    asked: dict[str, Any] = {
        "run_id": run.id,
        "digest": question.digest,
        "trajectory_id": _placed(session, run, question, outcome, now_ms),
        "answer": answer.value,
        **moments,
        **ruled.columns,
    }
    return tables.Ask(id=added(session, "ask", asked), **asked)


def _placed(session: Session, run: tables.Run, question: CheckRequest, outcome: Outcome, now_ms: int) -> int:
    if question.follows is not None:
        ask = tables.Ask
        session.execute(update(ask).where(col(ask.id) == question.follows).values(digest=question.own_digest))
    return placed(session, run, replace(question.record, outcome=outcome), question.own_digest, now_ms)


def _queued(
    session: Session,
    run: tables.Run,
    question: CheckRequest,
    verdict: dict[str, Any],
    verdict_id: int,
    ruled: Ruled,
    now_ms: int,
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
        priority=costs.priority(costs.of_run(run), question.checkpoint, verdict["score"], verdict["probability"]),
        reviews_required=max(run.reviews_per_item, ruled.ruling.reviews, ruled.tightened.reviews),
        verdict_id=verdict_id,
        created_ms=now_ms,
    )
    Transaction.joined(session).run_many(sql.PUT, [vars(item)])
    at = select(tables.Item.id).where(
        tables.Item.trajectory_id == item.trajectory_id, tables.Item.step == item.step, tables.Item.kind == item.kind
    )
    item_id = session.exec(at).one() or 0
    if (terms := ruled.terms()) != "{}":
        session.execute(update(tables.Item).where(col(tables.Item.id) == item_id).values(terms=terms))
    return item_id
