"""What lies before a participant within a condition: the item they hold, a known item that is due, the next item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, func, select

from console.database import review_queue
from console.review import decisions
from console.runs.current_decisions import is_current
from console.studies.sessions.condition_run import next_claim
from storage import tables
from storage.queue import Claim
from storage.tables import SlotStatus


@dataclass(frozen=True, slots=True)
class CurrentItem:
    """An item, claimed, in its run; `probe` where its answer is known. `decided` counts the round's answers so far."""

    claim: Claim
    run: tables.Run
    probe: tables.Probe | None
    decided: int


def current_item(
    session: Session, participant: tables.Participant, assignment: tables.Assignment, arm: tables.Run, at_ms: int
) -> CurrentItem | None:
    """The next item of the condition, claimed for the participant; None once the round is over."""
    decided = count_decided(session, arm.id, participant.code)
    pending = pending_probes(session, assignment.id, participant.code)
    held = _held(session, participant.code, (arm.id, assignment.checks_run_id))
    aside = _skipped(session, assignment.checks_run_id, participant.code)
    due = [probe for probe in pending if probe.after <= decided and probe.item_id not in aside] if held is None else []
    due = [probe for probe in pending if probe.item_id == held] or due
    if due:
        return _probe_desk(session, participant, due[0], decided, at_ms)
    if claim := next_claim(session, arm, participant.code, at_ms):
        return CurrentItem(claim, arm, None, decided)
    left = sorted(pending, key=lambda probe: probe.item_id in aside)
    return _probe_desk(session, participant, left[0], decided, at_ms) if left else None


def pending_probes(session: Session, assignment_id: int | None, code: str) -> list[tables.Probe]:
    """The condition's known items that the participant has not answered, in their order."""
    probe = tables.Probe
    statement = select(probe).where(probe.assignment_id == assignment_id, ~answered(code))
    return list(session.exec(statement.order_by(col(probe.after), col(probe.id))))


def practice_probes(session: Session, participant: tables.Participant) -> list[tables.Probe]:
    """The participant's practice items in their order."""
    probe = tables.Probe
    mine = (probe.participant_id == participant.id, col(probe.assignment_id).is_(None))
    return list(session.exec(select(probe).where(*mine).order_by(col(probe.after), col(probe.id))))


def answered(code: str) -> Any:
    """A condition on probes: the participant's answer to the item stands."""
    decision = tables.Decision
    mine = (decision.item_id == col(tables.Probe.item_id), decision.reviewer == code)
    return select(decision.id).where(*mine, is_current()).exists()


def claimed(session: Session, participant: tables.Participant, item_id: int, at_ms: int) -> Claim | None:
    """That very item, claimed for the participant."""
    item = session.get_one(tables.Item, item_id)
    run = session.get_one(tables.Run, item.run_id)
    found = review_queue().claim(
        run_id=item.run_id,
        trial=item.trial,
        reviewer=participant.code,
        now_ms=at_ms,
        lease_ms=run.lease_ms,
        settles=False,
        item_id=item_id,
    )
    return found if isinstance(found, Claim) else None


def count_decided(session: Session, run_id: int | None, code: str) -> int:
    """How many items of the run the participant has answered."""
    decision, item = tables.Decision, tables.Item
    statement = (
        select(func.count())
        .select_from(decision)
        .join(item, col(item.id) == decision.item_id)
        .where(item.run_id == run_id, decision.reviewer == code, is_current())
    )
    return session.exec(statement).one()


def last_answered(session: Session, run_ids: tuple[int | None, ...], code: str) -> tables.Decision | None:
    """The participant's latest answer in these runs that can still be taken back."""
    runs = [session.get_one(tables.Run, run_id) for run_id in run_ids if run_id is not None]
    found = [row for run in runs if (row := decisions.last_decision(session, run, code)) is not None]
    return max(found, key=lambda row: (row.decided_ms, row.id), default=None)


def put_down(session: Session, run_ids: tuple[int | None, ...], code: str, at_ms: int) -> None:
    """Gives back whatever the participant holds in these runs."""
    slot, item = tables.Slot, tables.Item
    held = select(slot).join(item, col(item.id) == slot.item_id).where(col(item.run_id).in_(run_ids))
    for claim in session.exec(held.where(slot.reviewer == code, slot.status == SlotStatus.CLAIMED)):
        review_queue().release(item_id=claim.item_id, reviewer=code, token=claim.token, now_ms=at_ms)


def _skipped(session: Session, run_id: int | None, code: str) -> set[int]:
    slot, item = tables.Slot, tables.Item
    aside = select(slot.item_id).join(item, col(item.id) == slot.item_id)
    mine = (item.run_id == run_id, slot.reviewer == code, slot.status == SlotStatus.SKIPPED)
    return set(session.exec(aside.where(*mine)))


def _held(session: Session, code: str, run_ids: tuple[int | None, ...]) -> int | None:
    slot, item = tables.Slot, tables.Item
    statement = (
        select(slot.item_id)
        .join(item, col(item.id) == slot.item_id)
        .where(slot.reviewer == code, slot.status == SlotStatus.CLAIMED, col(item.run_id).in_(run_ids))
        .order_by(col(slot.claimed_ms).desc(), col(slot.id).desc())
        .limit(1)
    )
    return session.exec(statement).first()


def _probe_desk(
    session: Session, participant: tables.Participant, probe: tables.Probe, decided: int, at_ms: int
) -> CurrentItem | None:
    claim = claimed(session, participant, probe.item_id, at_ms)
    if claim is None:
        return None
    return CurrentItem(claim, session.get_one(tables.Run, claim.run_id), probe, decided)
