"""Checks of the gate by their ids (trajectory and step), for callers that do not hold the request itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlmodel import Session, col, func, select
from sqlmodel.sql.expression import SelectOfScalar

from console.errors import Refused, Unknown
from console.gate import store
from console.gate.request import CheckRequest
from console.gate.resolve import OpenCheck
from console.gate.types import GateDecision, Reason
from console.gate.wait import Wait
from console.trajectory import Outcome, from_json
from console.trajectory.checkpoints import CheckpointKind
from storage import tables


@dataclass(frozen=True, slots=True)
class CheckId:
    """The trajectory and the number of the step that a check is about."""

    trajectory_id: int
    step: int

    def __str__(self) -> str:
        return f"{self.trajectory_id}-{self.step}"


def check_id(text: str) -> CheckId:
    """The check that such a text names; raises Unknown."""
    first, dash, second = text.partition("-")
    if not dash or not all(part.isascii() and part.isdecimal() and len(part) < 16 for part in (first, second)):
        raise Unknown("check", text)
    return CheckId(int(first), int(second))


def check_id_of(session: Session, decision: GateDecision) -> CheckId | None:
    """The check that the decision answers, None where nothing was stored."""
    intent = session.get(tables.Intent, decision.intent_id) if decision.intent_id else None
    item = session.get(tables.Item, decision.item_id) if decision.item_id else None
    stored = intent or item
    return CheckId(stored.trajectory_id, stored.step) if stored else None


def reopened(session: Session, url: str, at: CheckId) -> Wait | GateDecision:
    """The wait for the answer to a check; the reply itself where the detector let the action through. Raises Unknown.

    Whatever the asking agent said, a check that nobody answers in time lets nothing run here.
    """
    item = session.exec(_item(at)).first()
    if item is None:
        return _unflagged(session, at)
    ask = session.exec(
        select(tables.Ask).where(tables.Ask.item_id == item.id).order_by(col(tables.Ask.id).desc())
    ).first()
    if ask is None:
        raise Unknown("check", str(at))
    run = session.get_one(tables.Run, item.run_id)
    check = OpenCheck(run, _request(session, at, ask.digest), ask)
    session.expunge_all()
    return Wait(url, check, ask.deadline_ms, beaten_ms=ask.heartbeat_ms)


def record_result(session: Session, at: CheckId, observation: str, now_ms: int) -> bool:
    """Stores what came of the action; False where it was in already. Raises Unknown and, with no go-ahead, Refused."""
    intent = _intent(session, at)
    if intent is None:
        if session.exec(_item(at)).first() is None:
            raise Unknown("check", str(at))
        raise Refused(f"Check {at} has no go-ahead, so there is no result to record.")
    if intent.finished_ms is not None:
        return False
    record = session.get_one(tables.Trajectory, at.trajectory_id)
    store.finish(session, session.get_one(tables.Run, record.run_id), intent.id or 0, observation, now_ms)
    return True


def oldest_waiting_ms(session: Session) -> int | None:
    """When the oldest item came in that still lacks a review (ms since 1970), over all runs."""
    return session.exec(select(func.min(tables.Item.created_ms)).where(tables.Item.open_slots > 0)).one()


def _item(at: CheckId) -> SelectOfScalar[tables.Item]:
    item = tables.Item
    return select(item).where(
        item.trajectory_id == at.trajectory_id, item.step == at.step, item.kind == str(CheckpointKind.ACTION)
    )


def _intent(session: Session, at: CheckId) -> tables.Intent | None:
    intent = tables.Intent
    return session.exec(select(intent).where(intent.trajectory_id == at.trajectory_id, intent.step == at.step)).first()


def _unflagged(session: Session, at: CheckId) -> GateDecision:
    intent = _intent(session, at)
    if intent is None:
        raise Unknown("check", str(at))
    return GateDecision(False, intent.action, "", Reason.ALREADY_HANDED_OUT, intent_id=intent.id)


def _request(session: Session, at: CheckId, digest: str) -> CheckRequest:
    """The request as it came in, cut back where the trajectory has gone on since."""
    record = from_json(session.get_one(tables.TrajectoryBody, at.trajectory_id).body)
    action = record.critical_action or ""
    if len(record.steps) > at.step:
        taken = record.steps[at.step]
        action = str(taken.extra.get("instead_of") or taken.action)
    before = record.steps[: at.step]
    asked = replace(record, steps=before, critical_action=action, outcome=Outcome.PAUSED)
    return CheckRequest(asked, action, True, digest)
