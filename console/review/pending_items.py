"""The pending items of a run for one reviewer, in queue order, divided at the end of the budget."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, ColumnElement, and_, bindparam, case, exists, false, func, or_, true
from sqlalchemy import select as sa_select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from console import runs
from console.database import now_ms
from console.review.access import list_assignees
from console.review.blinding import HIDDEN
from console.review.notes import Escalation, list_escalations
from console.runs import is_current, run_options
from storage import tables
from storage.queue import HALTED
from storage.queue.offers import list_live_items
from storage.queue.transaction import Transaction
from storage.tables import UNREVIEWED, DecisionKind, SlotStatus

MOST, MOST_UNREAD = 100, 20
"""The maximum numbers of offered rows within the budget and of rows beyond the budget."""
_MOST_SORTED = 5_000
"""The maximum number of a trial's next items that are sorted by age."""
_AGES = {"oldest": 1, "newest": -1}


class OfferOrder(IntEnum):
    """The order of items within a trial: claimed by the reviewer, new to the reviewer, skipped by the reviewer."""

    CLAIMED = 0
    FRESH = 1
    SKIPPED = 2


@dataclass(frozen=True, slots=True)
class PendingFilter:
    """A filter for pending items; an empty field matches every item.

    `mine` selects items that the reviewer has claimed, that are escalated to the reviewer, or for which the reviewer
    has an unsent draft. `order` is `urgent` for the order of the queue, or `oldest` or `newest` within the budget.
    """

    text: str = ""
    detectors: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    escalated: bool = False
    mine: bool = False
    order: str = "urgent"

    @property
    def is_set(self) -> bool:
        """True if the filter can exclude any item."""
        return bool(self.text.strip() or self.detectors or self.environments or self.escalated or self.mine)


@dataclass(frozen=True, slots=True)
class PendingItem:
    """A row of the list of pending items; `score` is None for a halted trial, which has no verdict.

    `is_hidden` is true if the run hides the detector's verdict.
    """

    item: tables.Item
    task_id: str
    instruction: str
    score: float | None
    rationale: str | None
    turn: OfferOrder
    escalation: Escalation | None
    assignee: str | None
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class PendingItems:
    """The pending items of one reviewer that match a filter: `offered` in queue order, then `unread` beyond the budget.

    `matching` counts all items that match the filter, `beyond` only those beyond the budget. `total` ignores the
    filter. `answered` counts items that this reviewer has decided and that only others may still review. `held` counts
    items that the reviewer has claimed.
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
        """The number of items that the filter excludes."""
        return self.total - self.matching


class _Row(NamedTuple):
    """A pending item in one run; `at_ms` is the time of the reviewer's claim or skip."""

    id: int
    kind: str
    turn: int
    at_ms: int
    priority: float
    trial: int
    created_ms: int


@dataclass(frozen=True, slots=True)
class _Divided:
    """The pending items of one run, in order and divided at the end of the budget, with the counts of all items."""

    offered: list[_Row]
    unread: list[_Row]
    matching: int
    beyond: int
    total: int


def list_pending_items(
    session: Session,
    found_runs: Sequence[tables.Run],
    reviewer: str,
    wanted: PendingFilter | None = None,
) -> PendingItems:
    """List the reviewer's pending items of these runs.

    `offered` holds, in order, the items that the queue offers under the current budgets: live items by deadline, the
    reviewer's claims, items assigned to the reviewer, then by priority; skipped items come last.
    """
    wanted, at_ms = wanted or PendingFilter(), now_ms()
    ids = [run.id or 0 for run in found_runs]
    live = list_live_items(Transaction.joined(session), ids, reviewer, at_ms, MOST)
    ranks = {item.item_id: rank for rank, item in enumerate(live)}
    parts = [_divide(session, run, reviewer, wanted, ranks, at_ms) for run in found_runs]
    mine = {id for id, who in list_assignees(session, [row.id for part in parts for row in part.offered]).items()}
    offered = _order([part.offered for part in parts], ranks, mine)
    if wanted.order in _AGES:
        offered.sort(key=lambda row: (_AGES[wanted.order] * row.created_ms, row.id))
    offered = offered[:MOST]
    unread = [row for part in parts for row in part.unread][:MOST_UNREAD]
    hiding = {run.id for run in found_runs if _hides_verdict(run)}
    found = [_hide(row) if row.item.run_id in hiding else row for row in _items(session, [*offered, *unread])]
    answered = _own(session, ids, reviewer, SlotStatus.DECIDED, col(tables.Item.open_slots) > 0)
    held = _own(session, ids, reviewer, SlotStatus.CLAIMED, true())
    matching, beyond, total = (sum(getattr(part, name) for part in parts) for name in ("matching", "beyond", "total"))
    return PendingItems(
        found[: len(offered)], found[len(offered) :], matching, beyond, total, answered=answered, held=held
    )


def _hides_verdict(run: tables.Run) -> bool:
    return run_options(run).view.get("score") == HIDDEN


def _hide(row: PendingItem) -> PendingItem:
    """Return the row without the score and the reason of the detector."""
    return replace(row, score=None, rationale=None, is_hidden=row.item.verdict_id is not None)


def _order(parts: list[list[_Row]], live: Mapping[int, int], mine: Container[int]) -> list[_Row]:
    """Return the rows of all runs in the order in which the queue offers them."""
    rows = [row for part in parts for row in part]
    urgent = [row for row in rows if row.id in live and row.turn != OfferOrder.SKIPPED]
    claimed = [row for row in rows if row.turn == OfferOrder.CLAIMED]
    assigned = [row for row in rows if row.id in mine and row.turn == OfferOrder.FRESH]
    skipped = [row for row in rows if row.turn == OfferOrder.SKIPPED]
    ordered = [
        *sorted(urgent, key=lambda row: live[row.id]),
        *sorted(claimed, key=lambda row: -row.at_ms),
        *sorted(assigned, key=lambda row: (-row.priority, row.id)),
        *_merge([[row for row in part if row.turn == OfferOrder.FRESH] for part in parts]),
        *sorted(skipped, key=lambda row: (row.at_ms, row.id)),
    ]
    once: dict[int, _Row] = {}
    for row in ordered:
        once.setdefault(row.id, row)
    return list(once.values())


def _merge(parts: list[list[_Row]]) -> list[_Row]:
    """Merge the rows of each run, which are in order, by the priority of the first row of each run."""
    heads = [(-part[0].priority, part[0].id, number, 0) for number, part in enumerate(parts) if part]
    heapify(heads)
    merged = []
    while heads:
        _priority, _id, number, position = heappop(heads)
        merged.append(parts[number][position])
        if position + 1 < len(parts[number]):
            row = parts[number][position + 1]
            heappush(heads, (-row.priority, row.id, number, position + 1))
    return merged


def _divide(
    session: Session,
    run: tables.Run,
    reviewer: str,
    wanted: PendingFilter,
    live: Mapping[int, int],
    at_ms: int,
) -> _Divided:
    offered: list[_Row] = []
    unread: list[_Row] = []
    matching = beyond = 0
    left = {trial: budget["left"] for trial, budget in runs.budgets(session, run).items()}
    for trial, (waiting, paid) in _counts(session, run, reviewer, wanted).items():
        rest = left.get(trial)
        rows = _rows(session, run, reviewer, wanted, trial, _MOST_SORTED if wanted.order in _AGES else MOST, at_ms)
        rows.sort(key=lambda row: live.get(row.id, len(live)))
        reached = [row for row, spent in _walked(rows, run) if rest is None or spent <= rest]
        known = {row.id for row in reached}
        offered += reached
        unread += [row for row in rows if row.id not in known]
        matching += waiting
        beyond += 0 if rest is None else max(0, paid - rest)
    everything = _counts(session, run, reviewer, PendingFilter()) if wanted.is_set else {}
    total = sum(waiting for waiting, _ in everything.values()) if wanted.is_set else matching
    return _Divided(offered, unread, matching, beyond, total)


def list_filter_choices(session: Session, run_ids: Sequence[int]) -> tuple[list[str], list[str]]:
    """List the detectors and the environments of the pending items of these runs."""
    item, verdict, record = tables.Item, tables.Verdict, tables.Trajectory
    shown = session.exec(select(tables.Run).where(col(tables.Run.id).in_(run_ids)))
    open_ids = {run.id for run in shown if not _hides_verdict(run)}
    statement = (
        select(item.run_id, verdict.detector, record.environment)
        .select_from(item)
        .join(record, col(record.id) == item.trajectory_id)
        .join(verdict, col(verdict.id) == item.verdict_id, isouter=True)
        .where(col(item.run_id).in_(run_ids), item.open_slots > 0)
        .distinct()
    )
    found = list(session.exec(statement))
    return sorted({one for run, one, _ in found if one and run in open_ids}), sorted({one for _run, _, one in found})


def _own(
    session: Session, run_ids: Sequence[int], reviewer: str, status: SlotStatus, still: ColumnElement[bool]
) -> int:
    item, slot = tables.Item, tables.Slot
    statement = select(func.count()).select_from(slot).join(item, col(item.id) == slot.item_id)
    own = (slot.reviewer == reviewer, slot.status == status)
    return session.exec(statement.where(*own, col(item.run_id).in_(run_ids), still)).one()


def _walked(rows: list[_Row], run: tables.Run) -> list[tuple[_Row, int]]:
    """Return each row with the number of inspections spent up to and including it; a free row gets 0."""
    spent, walked = 0, []
    for row in rows:
        paid = row.turn != OfferOrder.CLAIMED and not (run.halted_free and row.kind == HALTED)
        spent += paid
        # Free items are offered even if the budget is spent.
        walked.append((row, spent if paid else 0))
    return walked


_OWN = aliased(tables.Slot)
_AT: BindParameter[int] = bindparam("at_ms")
_TURN = case(
    (col(_OWN.status) == SlotStatus.CLAIMED, OfferOrder.CLAIMED),
    ((col(_OWN.status) == SlotStatus.SKIPPED) & (col(_OWN.lease_until_ms) > _AT), OfferOrder.SKIPPED),
    else_=OfferOrder.FRESH,
)


def _asked(statement: Any, run: tables.Run, reviewer: str, wanted: PendingFilter) -> Any:
    """Restrict the statement over items to the reviewer's pending items that match the filter."""
    item = tables.Item
    own = (col(_OWN.item_id) == item.id) & (col(_OWN.reviewer) == reviewer)
    waits = or_(col(item.open_slots) > 0, col(_OWN.status) == SlotStatus.CLAIMED)
    unanswered = or_(col(_OWN.id).is_(None), col(_OWN.status) != SlotStatus.DECIDED)
    of_run = (col(item.run_id) == run.id) & col(item.status).in_(UNREVIEWED)
    assigned = tables.ItemReviewer
    of_others = exists().where(col(assigned.item_id) == item.id, col(assigned.reviewer) != reviewer)
    left = (of_run, waits, unanswered, ~of_others)
    return statement.outerjoin(_OWN, own).where(*left, *_conditions(wanted, reviewer, hides=_hides_verdict(run)))


def _conditions(wanted: PendingFilter, reviewer: str, *, hides: bool) -> list[ColumnElement[bool]]:
    """Return the conditions of the filter; if the run hides its verdicts, no item matches a detector."""
    item, verdict, record = tables.Item, tables.Verdict, tables.Trajectory
    found: list[ColumnElement[bool]] = []
    if wanted.detectors:
        judged = exists().where(col(verdict.id) == item.verdict_id, col(verdict.detector).in_(wanted.detectors))
        found.append(false() if hides else judged)
    if wanted.environments:
        of_them = col(record.environment).in_(wanted.environments)
        found.append(exists().where(col(record.id) == item.trajectory_id, of_them))
    if wanted.escalated:
        found.append(_escalated())
    if wanted.mine:
        found.append(_mine(reviewer))
    if words := wanted.text.strip():
        found.append(_says(words, hides=hides))
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


def _says(words: str, *, hides: bool) -> ColumnElement[bool]:
    """Return the condition that the task, task id, action or visible reason contains the text, ignoring case."""
    item, verdict, record, task = tables.Item, tables.Verdict, tables.Trajectory, tables.Task
    asked = and_(col(record.id) == item.trajectory_id, col(task.id) == record.task_id)
    texts = [col(task.instruction), col(task.task_key), col(record.critical_action)]
    in_reason = col(verdict.rationale).icontains(words, autoescape=True)
    in_task = exists().where(asked, or_(*(text.icontains(words, autoescape=True) for text in texts)))
    return in_task if hides else or_(in_task, exists().where(col(verdict.id) == item.verdict_id, in_reason))


def _counts(session: Session, run: tables.Run, reviewer: str, wanted: PendingFilter) -> dict[int, tuple[int, int]]:
    """Return for each trial the number of pending items, and the number of them that would use an inspection."""
    item = tables.Item
    free = col(_OWN.status) == SlotStatus.CLAIMED
    if run.halted_free:
        free = or_(free, col(item.kind) == HALTED)
    statement = sa_select(col(item.trial), func.count(), func.count(case((free, None), else_=1)))
    grouped = _asked(statement, run, reviewer, wanted).group_by(item.trial).order_by(item.trial)
    return {trial: (waiting, paid) for trial, waiting, paid in session.execute(grouped)}


def _rows(
    session: Session, run: tables.Run, reviewer: str, wanted: PendingFilter, trial: int, most: int, at_ms: int
) -> list[_Row]:
    """Return the trial's pending items, in queue order."""
    item = tables.Item
    skipped_order = case((_TURN == OfferOrder.SKIPPED, col(_OWN.lease_until_ms)), else_=0)
    latest_hold = case((_TURN == OfferOrder.CLAIMED, -col(_OWN.claimed_ms)), else_=0)
    own_ms = case((_TURN == OfferOrder.CLAIMED, col(_OWN.claimed_ms)), else_=func.coalesce(_OWN.lease_until_ms, 0))
    columns = (col(item.id), col(item.kind), _TURN, own_ms, col(item.priority), col(item.trial), col(item.created_ms))
    statement = _asked(sa_select(*columns), run, reviewer, wanted)
    ordered = statement.where(item.trial == trial).order_by(
        _TURN, skipped_order, latest_hold, col(item.priority).desc(), item.id
    )
    return [_Row(*row) for row in session.execute(ordered.limit(most), {"at_ms": at_ms})]


def _items(session: Session, rows: list[_Row]) -> list[PendingItem]:
    """Return the rows as pending items with all displayed data, in the same order."""
    item, verdict, record, task = tables.Item, tables.Verdict, tables.Trajectory, tables.Task
    ids = [row.id for row in rows]
    statement = (
        sa_select(item, col(task.task_key), col(task.instruction), col(verdict.score), col(verdict.rationale))
        .join(record, col(record.id) == item.trajectory_id)
        .join(task, col(task.id) == record.task_id)
        .outerjoin(verdict, col(verdict.id) == item.verdict_id)
        .where(col(item.id).in_(ids))
    )
    found: dict[Any, Any] = {row[0].id: row for row in session.execute(statement)}
    escalated = list_escalations(session, ids)
    assigned = list_assignees(session, ids)
    return [
        PendingItem(
            item=found[row.id][0],
            task_id=found[row.id][1],
            instruction=found[row.id][2],
            score=found[row.id][3],
            rationale=found[row.id][4],
            turn=OfferOrder(row.turn),
            escalation=escalated.get(row.id),
            assignee=assigned.get(row.id),
        )
        for row in rows
    ]
