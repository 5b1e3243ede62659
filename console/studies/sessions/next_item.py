"""What lies before a participant within a condition: the item they hold, or the next one, of known answer or not.

Items of the condition and known ones wait in one order: trial, score, and among equals a draw that tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from random import Random

from sqlmodel import Session, and_, col, func, select

from console.database import review_queue
from console.runs.current_decisions import is_current
from storage import tables
from storage.queue import HALTED, Claim
from storage.tables import UNREVIEWED, ItemStatus, SlotStatus

AUDIT = "audit"
"""The scope of the budget that unflagged items of a condition draw on: it has no cap."""


@dataclass(frozen=True, slots=True)
class CurrentItem:
    """An item, claimed, in its run; `probe` where its answer is known."""

    claim: Claim
    run: tables.Run
    probe: tables.Probe | None


@dataclass(frozen=True, slots=True)
class WaitingItem:
    """An item that the participant may have; `slot` is how their own place at it stands, if they ever had one.

    `is_passed`: the detector does not flag it; `is_beside`: the condition's own budget does not pay for it.
    """

    item: tables.Item
    probe: tables.Probe | None
    slot: str | None
    is_passed: bool
    is_beside: bool

    @property
    def scope(self) -> str:
        """The scope of the budget that it draws on."""
        return AUDIT if self.is_passed and not self.probe else ""


def current_item(
    session: Session, participant: tables.Participant, assignment: tables.Assignment, arm: tables.Run, at_ms: int
) -> CurrentItem | None:
    """The next item of the condition, claimed for the participant; None once the round is over."""
    for one in items_ahead(session, participant.code, assignment, arm):
        if claim := claimed(session, participant, one.item.id or 0, at_ms, one.scope):
            return CurrentItem(claim, session.get_one(tables.Run, claim.run_id), one.probe)
    return None


def items_ahead(session: Session, code: str, assignment: tables.Assignment, arm: tables.Run) -> Sequence[WaitingItem]:
    """All that the participant will get of what waits now, the next one first; claims nothing.

    A known item comes where it would come were it one of the condition's: what stands behind an item that the budget
    does not reach is not reached either. So neither its score nor its place tells it.
    """
    found = list(_waiting(session, code, arm, assignment.checks_run_id))
    reached = set(session.exec(select(tables.Item.trial).where(tables.Item.run_id == arm.id).distinct()))
    # Where the condition itself has nothing more, known items would stand alone.
    ordered = sorted((one for one in found if one.item.trial in reached), key=lambda one: _order(one, code))
    return list(_affordable(ordered, arm, {trial: _left(arm, trial) for trial in reached}))


def _affordable(ordered: Sequence[WaitingItem], arm: tables.Run, left: dict[int, float]) -> Iterator[WaitingItem]:
    closed: set[int] = set()
    for one in ordered:
        trial = one.item.trial
        if one.slot == SlotStatus.CLAIMED or one.is_passed or (arm.halted_free and one.item.kind == HALTED):
            yield one
        elif one.item.run_id == arm.id and left[trial] <= 0:
            closed.add(trial)
        elif trial not in closed:
            left[trial] -= one.item.run_id == arm.id
            yield one


def _waiting(session: Session, code: str, arm: tables.Run, checks_run_id: int | None) -> Iterator[WaitingItem]:
    item, slot, probe, verdict = tables.Item, tables.Slot, tables.Probe, tables.Verdict
    open_ = col(item.status).in_(UNREVIEWED)
    statement = (
        select(item, probe, slot.status, verdict.flagged)
        .join(slot, and_(col(slot.item_id) == col(item.id), col(slot.reviewer) == code), isouter=True)
        .join(probe, col(probe.item_id) == col(item.id), isouter=True)
        .join(verdict, col(verdict.id) == col(item.verdict_id), isouter=True)
        .where(col(item.run_id).in_([arm.id, checks_run_id]), open_)
    )
    for found, known, state, flagged in session.exec(statement):
        own, passed = found.run_id == arm.id, flagged is False
        if state != SlotStatus.DECIDED and (own or known is not None):
            yield WaitingItem(found, known, state, passed, passed or not own)


def _left(arm: tables.Run, trial: int) -> float:
    budget = review_queue().budget(run_id=arm.id or 0, trial=trial)
    return 0 if budget is None else inf if budget.left is None else budget.left


def _order(one: WaitingItem, code: str) -> tuple[bool, int, bool, float, float]:
    aside = one.slot == SlotStatus.SKIPPED
    draw = Random(f"{code} {one.item.id}").random()
    return one.slot != SlotStatus.CLAIMED, one.item.trial, aside, -one.item.priority, draw


def practice_probes(session: Session, participant: tables.Participant) -> list[tables.Probe]:
    """The participant's practice items in their order."""
    probe = tables.Probe
    mine = (probe.participant_id == participant.id, col(probe.assignment_id).is_(None))
    return list(session.exec(select(probe).where(*mine).order_by(col(probe.after), col(probe.id))))


def claimed(
    session: Session, participant: tables.Participant, item_id: int, at_ms: int, scope: str = ""
) -> Claim | None:
    """That very item, claimed for the participant at a unit of that budget."""
    item = session.get_one(tables.Item, item_id)
    run = session.get_one(tables.Run, item.run_id)
    if scope and review_queue().budget(run_id=item.run_id, trial=item.trial, scope=scope) is None:
        review_queue().open_budget(run_id=item.run_id, trial=item.trial, cap=None, scope=scope)
    found = review_queue().claim(
        run_id=item.run_id,
        trial=item.trial,
        reviewer=participant.code,
        now_ms=at_ms,
        lease_ms=run.lease_ms,
        settles=False,
        item_id=item_id,
        scope=scope,
        halted_free=run.halted_free,
    )
    return found if isinstance(found, Claim) else None


def passed_over(session: Session, run_id: int | None, code: str) -> list[int]:
    """Items of the run that wait in a trial that the participant has answered something of."""
    item, decision = tables.Item, tables.Decision
    answered = select(func.max(item.trial)).join(decision, col(decision.item_id) == col(item.id))
    last = session.exec(answered.where(item.run_id == run_id, decision.reviewer == code)).one()
    waiting = select(item.id).where(item.run_id == run_id, item.status == ItemStatus.PENDING)
    return [] if last is None else [id for id in session.exec(waiting.where(item.trial <= last)) if id is not None]


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


def put_down(session: Session, run_ids: tuple[int | None, ...], code: str, at_ms: int) -> None:
    """Gives back whatever the participant holds in these runs."""
    slot, item = tables.Slot, tables.Item
    held = select(slot).join(item, col(item.id) == slot.item_id).where(col(item.run_id).in_(run_ids))
    for claim in session.exec(held.where(slot.reviewer == code, slot.status == SlotStatus.CLAIMED)):
        review_queue().release(item_id=claim.item_id, reviewer=code, token=claim.token, now_ms=at_ms)
