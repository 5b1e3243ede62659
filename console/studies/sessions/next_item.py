"""The next item of a participant in a condition: the claimed item, or the next pending item.

Own items of the condition and known items share one order: trial, score, and a random order among equal scores. In each
round, flagged and unflagged items have the same share of known items, so that a flag does not reveal the origin of an
item. `draw_unflagged` selects the unflagged items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, inf
from random import Random
from typing import TypeVar

from sqlmodel import Session, and_, col, func, select

from console.database import review_queue
from console.runs import is_current
from storage import tables
from storage.queue import HALTED, Claim
from storage.tables import TAKEN, UNREVIEWED, ItemStatus, SlotStatus

AUDIT = "audit"
"""The scope of the budget for unflagged items of a condition; this budget has no cap."""
_Drawn = TypeVar("_Drawn")


@dataclass(frozen=True, slots=True)
class CurrentItem:
    """A claimed item with its run; `probe` is set if the correct decision is known."""

    claim: Claim
    run: tables.Run
    probe: tables.Probe | None


@dataclass(frozen=True, slots=True)
class RoundItem:
    """An own item or a known item of a condition.

    `slot` is the status of the participant's slot, if there is one; `units` is the cost of the slot. `is_passed` is
    True if the detector does not flag the item. `is_metered` is True if the item counts against the budget or the quota
    of known items.
    """

    item: tables.Item
    probe: tables.Probe | None
    slot: str | None
    units: int
    is_own: bool
    is_passed: bool
    is_metered: bool

    @property
    def scope(self) -> str:
        """The scope of the budget that pays for the item."""
        return AUDIT if self.is_passed and not self.probe else ""


def claim_next_item(
    session: Session, participant: tables.Participant, assignment: tables.Assignment, arm: tables.Run, at_ms: int
) -> CurrentItem | None:
    """Claim and return the next item of the condition; return None if the round is over."""
    for one in list_items_ahead(session, participant.code, assignment, arm):
        if claim := claim_item(session, participant, one.item.id or 0, at_ms, one.scope):
            return CurrentItem(claim, session.get_one(tables.Run, claim.run_id), one.probe)
    return None


def list_items_ahead(
    session: Session, code: str, assignment: tables.Assignment, arm: tables.Run
) -> Sequence[RoundItem]:
    """List the pending items that the participant will get, skipped items last; known items have their own quota."""
    items = _round_items(session, code, arm, assignment.checks_run_id)
    # In a trial without own items of the condition yet, known items would be the only ones.
    left = {
        (trial, is_own): _left(items, arm, trial, is_own)
        for trial in {one.item.trial for one in items if one.is_own}
        for is_own in (True, False)
    }
    waiting = [one for one in items if one.item.status in UNREVIEWED and one.slot != SlotStatus.DECIDED]
    waiting.sort(key=lambda one: (one.slot != SlotStatus.CLAIMED, one.item.trial, one.slot == SlotStatus.SKIPPED))
    ahead = []
    for one in waiting:
        quota = (one.item.trial, one.is_own)
        if quota not in left:
            continue
        if one.is_metered and one.slot != SlotStatus.CLAIMED:
            if left[quota] <= 0:
                continue
            left[quota] -= 1
        ahead.append(one)
    return ahead


def read_meter(
    session: Session, code: str, assignment: tables.Assignment, arm: tables.Run, trial: int
) -> tuple[int, int] | None:
    """Return (cap, used) of the round including known and unflagged items, or None if the round has no budget."""
    budget = review_queue().budget(run_id=arm.id or 0, trial=trial)
    if budget is None or budget.cap is None:
        return None
    # The cap includes known and unflagged items, so it stays the same in a round, and each item adds one to the used.
    items = [one for one in _round_items(session, code, arm, assignment.checks_run_id) if one.item.trial == trial]
    passed = sum(one.is_passed for one in items)
    used = sum(one.units for one in items if one.slot in TAKEN)
    return budget.cap + _known_quota(items, trial, budget.cap) + passed, used


def _round_items(session: Session, code: str, arm: tables.Run, checks_run_id: int | None) -> list[RoundItem]:
    """Read all items of the rounds by trial and score; equal scores are in a random order for each reviewer."""
    item, slot, probe, verdict = tables.Item, tables.Slot, tables.Probe, tables.Verdict
    statement = (
        select(item, probe, slot, verdict.flagged)
        .join(slot, and_(col(slot.item_id) == col(item.id), col(slot.reviewer) == code), isouter=True)
        .join(probe, col(probe.item_id) == col(item.id), isouter=True)
        .join(verdict, col(verdict.id) == col(item.verdict_id), isouter=True)
        .where(col(item.run_id).in_([arm.id, checks_run_id]))
    )
    found = []
    for row, known, place, flagged in session.exec(statement):
        own, passed = row.run_id == arm.id, flagged is False
        metered = not passed and not (arm.halted_free and row.kind == HALTED)
        if own or known is not None:
            status, units = (place.status, place.units) if place else (None, 0)
            found.append(RoundItem(row, known, status, units, own, passed, metered))
    found.sort(key=lambda one: (one.item.trial, -one.item.priority, Random(f"{code} {one.item.id}").random()))
    hidden: set[int] = set()
    for trial in {one.item.trial for one in found if one.is_passed}:
        hidden |= _surplus(found, arm, trial)
    return [one for one in found if (one.item.id or 0) not in hidden]


def _surplus(items: Sequence[RoundItem], arm: tables.Run, trial: int) -> set[int]:
    """Return the ids of the round's unflagged items that `draw_unflagged` leaves out.

    The result depends on the items and the cap alone, so it stays the same during the round.
    """
    passed = [one for one in items if one.item.trial == trial and one.is_passed]
    own, known = (sorted(one.item.id or 0 for one in passed if one.is_own is is_own) for is_own in (True, False))
    budget = review_queue().budget(run_id=arm.id or 0, trial=trial)
    flagged = _offered_flagged(items, trial, budget.cap if budget else None)
    rng = Random(f"{arm.seed} {arm.name} {trial} unflagged")
    kept = draw_unflagged(own, known, *flagged, rng)
    return {*own, *known}.difference(*kept)


def _offered_flagged(items: Sequence[RoundItem], trial: int, cap: int | None) -> tuple[int, int]:
    """Count the (own, known) flagged items of the round within the cap, without halted trials."""
    left, counts = inf if cap is None else cap, {True: 0, False: 0}
    for one in items:
        if one.item.trial == trial and one.is_metered:
            left -= one.is_own
            if left < 0:
                break
            counts[one.is_own] += one.item.kind != HALTED
    return counts[True], counts[False]


def draw_unflagged(
    own: Sequence[_Drawn], known: Sequence[_Drawn], own_flagged: int, known_flagged: int, rng: Random
) -> tuple[list[_Drawn], list[_Drawn]]:
    """Draw as many unflagged (own, known) items as possible with the same share of known items as the flagged items.

    If the share gives a fraction of an item, the fraction is the chance of one more known item. The expected share is
    therefore exact. If no own item is flagged, the draw is empty; if no known item is flagged, only own items are
    drawn.
    """
    flagged = own_flagged + known_flagged
    share = known_flagged / flagged if flagged else 0.0
    if share == 1.0:
        return [], []
    # A product such as 0.3 * 10 may differ from its whole number by rounding.
    counts = ((size, round(share * size, 9)) for size in range(len(own) + len(known), -1, -1))
    size, wanted = next(
        (size, wanted) for size, wanted in counts if ceil(wanted) <= len(known) and size - floor(wanted) <= len(own)
    )
    seeded = floor(wanted) + (rng.random() < wanted - floor(wanted))
    return rng.sample(own, size - seeded), rng.sample(known, seeded)


def _left(items: Sequence[RoundItem], arm: tables.Run, trial: int, is_own: bool) -> float:
    budget = review_queue().budget(run_id=arm.id or 0, trial=trial)
    if budget is None:
        return 0
    if is_own:
        return inf if budget.left is None else budget.left
    known = [one for one in items if one.item.trial == trial and one.is_metered and not one.is_own]
    return _known_quota(items, trial, budget.cap) - sum(one.slot in TAKEN for one in known)


def _known_quota(items: Sequence[RoundItem], trial: int, cap: int | None) -> int:
    """Count the known items that precede the first item outside the budget."""
    left, known = inf if cap is None else cap, 0
    for one in items:
        if one.item.trial == trial and one.is_metered:
            left -= one.is_own
            if left < 0:
                break
            known += not one.is_own
    return known


def practice_probes(session: Session, participant: tables.Participant) -> list[tables.Probe]:
    """Return the participant's practice items in order."""
    probe = tables.Probe
    mine = (probe.participant_id == participant.id, col(probe.assignment_id).is_(None))
    return list(session.exec(select(probe).where(*mine).order_by(col(probe.after), col(probe.id))))


def claim_item(
    session: Session, participant: tables.Participant, item_id: int, at_ms: int, scope: str = ""
) -> Claim | None:
    """Claim this item, paid from the budget of this scope; return None if the item cannot be claimed."""
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


def list_passed_over(session: Session, run_id: int | None, code: str) -> list[int]:
    """List the run's pending items, up to the last trial in which the participant made a decision."""
    item, decision = tables.Item, tables.Decision
    answered = select(func.max(item.trial)).join(decision, col(decision.item_id) == col(item.id))
    last = session.exec(answered.where(item.run_id == run_id, decision.reviewer == code)).one()
    waiting = select(item.id).where(item.run_id == run_id, item.status == ItemStatus.PENDING)
    return [] if last is None else [id for id in session.exec(waiting.where(item.trial <= last)) if id is not None]


def count_decided(session: Session, run_id: int | None, code: str) -> int:
    """Count the items of the run that the participant has decided."""
    decision, item = tables.Decision, tables.Item
    statement = (
        select(func.count())
        .select_from(decision)
        .join(item, col(item.id) == decision.item_id)
        .where(item.run_id == run_id, decision.reviewer == code, is_current())
    )
    return session.exec(statement).one()


def release_claims(session: Session, run_ids: tuple[int | None, ...], code: str, at_ms: int) -> None:
    """Release the participant's claims in these runs."""
    slot, item = tables.Slot, tables.Item
    held = select(slot).join(item, col(item.id) == slot.item_id).where(col(item.run_id).in_(run_ids))
    for claim in session.exec(held.where(slot.reviewer == code, slot.status == SlotStatus.CLAIMED)):
        review_queue().release(item_id=claim.item_id, reviewer=code, token=claim.token, now_ms=at_ms)
