"""The pending items of a run for one reviewer, in queue order, divided at the end of the budget."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from sqlalchemy import ColumnElement, and_, case, exists, func, or_
from sqlalchemy import select as sa_select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from console import runs
from console.review.notes import Escalation, list_escalations
from console.runs import is_current
from storage import tables
from storage.queue import HALTED
from storage.tables import UNREVIEWED, DecisionKind, SlotStatus

MOST, MOST_UNREAD = 100, 20
"""The maximum number of rows offered within the budget, and beyond it."""


class OfferOrder(IntEnum):
    """The order of items within a trial: claimed by the reviewer, new to the reviewer, skipped by the reviewer."""

    CLAIMED = 0
    FRESH = 1
    SKIPPED = 2


@dataclass(frozen=True, slots=True)
class PendingFilter:
    """A filter for pending items; an empty field matches every item.

    `mine` selects items that the reviewer has claimed, that are escalated to the reviewer, or for which the reviewer
    has an unsent draft.
    """

    text: str = ""
    detectors: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    escalated: bool = False
    mine: bool = False

    @property
    def is_set(self) -> bool:
        """Return whether the filter can exclude any item."""
        return bool(self.text.strip() or self.detectors or self.environments or self.escalated or self.mine)


@dataclass(frozen=True, slots=True)
class PendingItem:
    """A row of the list of pending items; `score` is None for a halted trial, which has no verdict."""

    item: tables.Item
    turn: OfferOrder
    task_id: str
    instruction: str
    score: float | None
    rationale: str | None
    escalation: Escalation | None


@dataclass(frozen=True, slots=True)
class PendingItems:
    """The pending items of one reviewer that match a filter: `offered` in queue order, then `unread` beyond the budget.

    `matching` counts all items that match the filter, `beyond` only those beyond the budget. `total` ignores the
    filter. `answered` counts items that this reviewer has decided and that only others may still review. `held` counts
    items that only this reviewer may decide, because the reviewer has claimed them.
    """

    offered: list[PendingItem]
    unread: list[PendingItem]
    matching: int
    beyond: int
    total: int
    answered: int
    held: int

    @property
    def hidden(self) -> int:
        """Return how many items the filter excludes."""
        return self.total - self.matching


def list_pending_items(
    session: Session, run: tables.Run, reviewer: str, wanted: PendingFilter | None = None, most: int = MOST
) -> PendingItems:
    """List the reviewer's pending items.

    `offered` holds, in order, the items that the queue offers under the current budgets.
    """
    wanted = wanted or PendingFilter()
    offered: list[Any] = []
    unread: list[Any] = []
    matching = beyond = 0
    left = {trial: budget["left"] for trial, budget in runs.budgets(session, run).items()}
    for trial, (waiting, paid) in _counts(session, run, reviewer, wanted).items():
        rest = left.get(trial)
        rows = _rows(session, run, reviewer, wanted, trial, most)
        reached = [row for row, spent in _walked(rows, run) if rest is None or spent <= rest]
        known = {row[0] for row in reached}
        offered += reached
        unread += [row for row in rows if row[0] not in known]
        matching += waiting
        beyond += 0 if rest is None else max(0, paid - rest)
    everything = _counts(session, run, reviewer, PendingFilter()) if wanted.is_set else {}
    total = sum(waiting for waiting, _ in everything.values()) if wanted.is_set else matching
    shown, out = offered[:most], unread[:MOST_UNREAD]
    found = _items(session, [*shown, *out])
    answered = _own(session, run, reviewer, SlotStatus.DECIDED, col(tables.Item.open_slots) > 0)
    held = _own(session, run, reviewer, SlotStatus.CLAIMED, col(tables.Item.open_slots) == 0)
    return PendingItems(found[: len(shown)], found[len(shown) :], matching, beyond, total, answered, held)


def list_filter_choices(session: Session, run: tables.Run) -> tuple[list[str], list[str]]:
    """List the detectors and the environments of the run's pending items."""
    item, verdict, record = tables.Item, tables.Verdict, tables.Trajectory
    statement = (
        select(verdict.detector, record.environment)
        .select_from(item)
        .join(record, col(record.id) == item.trajectory_id)
        .join(verdict, col(verdict.id) == item.verdict_id, isouter=True)
        .where(item.run_id == run.id, item.open_slots > 0)
        .distinct()
    )
    found = list(session.exec(statement))
    return sorted({one for one, _ in found if one}), sorted({one for _, one in found})


def _own(session: Session, run: tables.Run, reviewer: str, status: SlotStatus, still: ColumnElement[bool]) -> int:
    item, slot = tables.Item, tables.Slot
    statement = select(func.count()).select_from(slot).join(item, col(item.id) == slot.item_id)
    own = (slot.reviewer == reviewer, slot.status == status)
    return session.exec(statement.where(*own, item.run_id == run.id, still)).one()


def _walked(rows: list[Any], run: tables.Run) -> list[tuple[Any, int]]:
    """Return each row with the number of inspections spent up to and including it; a free row gets 0."""
    spent, walked = 0, []
    for row in rows:
        _, kind, turn = row
        paid = turn != OfferOrder.CLAIMED and not (run.halted_free and kind == HALTED)
        spent += paid
        # Free items are offered even if the budget is spent.
        walked.append((row, spent if paid else 0))
    return walked


_OWN = aliased(tables.Slot)
_TURN = case(
    (col(_OWN.status) == SlotStatus.CLAIMED, OfferOrder.CLAIMED),
    (col(_OWN.status) == SlotStatus.SKIPPED, OfferOrder.SKIPPED),
    else_=OfferOrder.FRESH,
)


def _asked(statement: Any, run: tables.Run, reviewer: str, wanted: PendingFilter) -> Any:
    """Restrict the statement over items to the reviewer's pending items that match the filter."""
    item = tables.Item
    own = (col(_OWN.item_id) == item.id) & (col(_OWN.reviewer) == reviewer)
    waits = or_(col(item.open_slots) > 0, col(_OWN.status) == SlotStatus.CLAIMED)
    unanswered = or_(col(_OWN.id).is_(None), col(_OWN.status) != SlotStatus.DECIDED)
    of_run = (col(item.run_id) == run.id) & col(item.status).in_(UNREVIEWED)
    return statement.outerjoin(_OWN, own).where(of_run, waits, unanswered, *_conditions(wanted, reviewer))


def _conditions(wanted: PendingFilter, reviewer: str) -> list[ColumnElement[bool]]:
    item, verdict, record = tables.Item, tables.Verdict, tables.Trajectory
    found: list[ColumnElement[bool]] = []
    if wanted.detectors:
        found.append(exists().where(col(verdict.id) == item.verdict_id, col(verdict.detector).in_(wanted.detectors)))
    if wanted.environments:
        of_them = col(record.environment).in_(wanted.environments)
        found.append(exists().where(col(record.id) == item.trajectory_id, of_them))
    if wanted.escalated:
        found.append(_escalated())
    if wanted.mine:
        found.append(_mine(reviewer))
    if words := wanted.text.strip():
        found.append(_says(words))
    return found


def _escalated() -> ColumnElement[bool]:
    decision = tables.Decision
    is_escalation = col(decision.decision) == DecisionKind.ESCALATE
    return exists().where(col(decision.item_id) == tables.Item.id, is_escalation, is_current())


def _mine(reviewer: str) -> ColumnElement[bool]:
    item, draft, note, decision = tables.Item, tables.Draft, tables.Note, tables.Decision
    begun = (col(draft.reviewer) == reviewer) & (col(draft.feedback_text) != "")
    marked = (col(note.addressee) == reviewer) & (col(decision.id) == note.decision_id)
    return or_(
        col(_OWN.status) == SlotStatus.CLAIMED,
        exists().where(col(draft.item_id) == item.id, begun),
        exists().where(col(note.item_id) == item.id, marked, is_current()),
    )


def _says(words: str) -> ColumnElement[bool]:
    """Return the condition that the task, task id, action or reason contains the text, ignoring case."""
    item, verdict, record, task = tables.Item, tables.Verdict, tables.Trajectory, tables.Task
    asked = and_(col(record.id) == item.trajectory_id, col(task.id) == record.task_id)
    texts = [col(task.instruction), col(task.task_key), col(record.critical_action)]
    in_reason = col(verdict.rationale).icontains(words, autoescape=True)
    return or_(
        exists().where(asked, or_(*(text.icontains(words, autoescape=True) for text in texts))),
        exists().where(col(verdict.id) == item.verdict_id, in_reason),
    )


def _counts(session: Session, run: tables.Run, reviewer: str, wanted: PendingFilter) -> dict[int, tuple[int, int]]:
    """Return for each trial the number of pending items, and how many of them would use an inspection."""
    item = tables.Item
    free = col(_OWN.status) == SlotStatus.CLAIMED
    if run.halted_free:
        free = or_(free, col(item.kind) == HALTED)
    statement = sa_select(col(item.trial), func.count(), func.count(case((free, None), else_=1)))
    grouped = _asked(statement, run, reviewer, wanted).group_by(item.trial).order_by(item.trial)
    return {trial: (waiting, paid) for trial, waiting, paid in session.execute(grouped)}


def _rows(
    session: Session, run: tables.Run, reviewer: str, wanted: PendingFilter, trial: int, most: int
) -> list[tuple[int, str, int]]:
    """Return (id, kind, offer order) of the trial's pending items, in queue order."""
    item = tables.Item
    skipped_order = case((_TURN == OfferOrder.SKIPPED, col(_OWN.lease_until_ms)), else_=0)
    latest_hold = case((_TURN == OfferOrder.CLAIMED, -col(_OWN.claimed_ms)), else_=0)
    statement = _asked(sa_select(col(item.id), col(item.kind), _TURN), run, reviewer, wanted)
    ordered = statement.where(item.trial == trial).order_by(
        _TURN, skipped_order, latest_hold, col(item.priority).desc(), item.id
    )
    return [tuple(row) for row in session.execute(ordered.limit(most))]


def _items(session: Session, rows: list[Any]) -> list[PendingItem]:
    """Return the rows as pending items, with everything that is shown of them, in the same order."""
    item, verdict, record, task = tables.Item, tables.Verdict, tables.Trajectory, tables.Task
    ids = [row[0] for row in rows]
    statement = (
        sa_select(item, col(task.task_key), col(task.instruction), col(verdict.score), col(verdict.rationale))
        .join(record, col(record.id) == item.trajectory_id)
        .join(task, col(task.id) == record.task_id)
        .outerjoin(verdict, col(verdict.id) == item.verdict_id)
        .where(col(item.id).in_(ids))
    )
    found: dict[Any, Any] = {row[0].id: row for row in session.execute(statement)}
    escalated = list_escalations(session, ids)
    listed = [(found[id], OfferOrder(turn), escalated.get(id)) for id, _, turn in rows]
    return [
        PendingItem(row[0], turn, task_id=row[1], instruction=row[2], score=row[3], rationale=row[4], escalation=by)
        for row, turn, by in listed
    ]
