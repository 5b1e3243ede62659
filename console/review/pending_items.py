"""The pending items of a run for one reviewer, in queue order, divided at the end of the budget."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from heapq import merge
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    and_,
    bindparam,
    case,
    exists,
    false,
    func,
    literal,
    literal_column,
    or_,
    true,
)
from sqlalchemy import select as sa_select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from console import runs
from console.database import now_ms
from console.review.access import is_assigned_to_others, list_assignees
from console.review.blinding import HIDDEN
from console.review.decision_details import Escalation, list_escalations
from console.runs import is_current, run_options
from storage import tables
from storage.queue import HALTED
from storage.queue.offers import list_live_items
from storage.queue.transaction import Transaction
from storage.tables import UNREVIEWED, DecisionKind, RunKind, SlotStatus

MOST, MOST_UNREAD, MOST_COUNTED = 100, 20, 2_000
"""The maximum numbers of offered rows within the budget, of rows beyond the budget, and of a trial's counted items."""
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
    items that the reviewer has claimed, and `withheld` the items of stopped runs, which no other count includes.
    """

    offered: list[PendingItem]
    unread: list[PendingItem]
    matching: int
    beyond: int
    total: int
    answered: int
    held: int
    withheld: int = 0

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


def list_pending_items(
    session: Session, found_runs: Sequence[tables.Run], reviewer: str, wanted: PendingFilter | None = None
) -> PendingItems:
    """List the reviewer's pending items of these runs.

    `offered` holds, in order, the items that the queue offers under the current budgets: live items by deadline, the
    reviewer's claims, items assigned to the reviewer, then by priority; skipped items come last.
    """
    wanted, at_ms = wanted or PendingFilter(), now_ms()
    at_rest = [run.id for run in found_runs if runs.withholds_items(run)]
    found_runs = [run for run in found_runs if run.id not in at_rest]
    ids = [run.id or 0 for run in found_runs]
    live = list_live_items(Transaction.joined(session), ids, reviewer, at_ms, MOST)
    ranks = {item.item_id: rank for rank, item in enumerate(live)}
    parts = [_divide(session, run, reviewer, wanted, ranks, at_ms) for run in found_runs]
    in_budget, beyond_budget, *counts = zip(*parts, strict=True) if parts else [()] * 5
    mine = {id for id, who in list_assignees(session, [row.id for part in in_budget for row in part]).items()}
    offered = _order(in_budget, ranks, mine)
    if wanted.order in _AGES:
        offered.sort(key=lambda row: (_AGES[wanted.order] * row.created_ms, row.id))
    offered = offered[:MOST]
    unread = [row for part in beyond_budget for row in part][:MOST_UNREAD]
    hiding = {run.id for run in found_runs if _hides_verdict(run)}
    found = [
        replace(row, score=None, rationale=None, is_hidden=row.item.verdict_id is not None)
        if row.item.run_id in hiding
        else row
        for row in _items(session, [*offered, *unread], reviewer)
    ]
    answered = _own(session, ids, reviewer, SlotStatus.DECIDED, col(tables.Item.open_slots) > 0)
    held = _own(session, ids, reviewer, SlotStatus.CLAIMED, true())
    matching, beyond, total = map(sum, counts)
    is_open: tuple[Any, ...] = (col(tables.Item.run_id).in_(at_rest), literal_column("item.open_slots > 0"))
    withheld = session.exec(select(func.count()).select_from(tables.Item).where(*is_open)).one() if at_rest else 0
    return PendingItems(found[: len(offered)], found[len(offered) :], matching, beyond, total, answered, held, withheld)


def _hides_verdict(run: tables.Run) -> bool:
    return run_options(run).view.get("score") == HIDDEN


def _order(parts: Sequence[list[_Row]], live: Mapping[int, int], mine: Container[int]) -> list[_Row]:
    """Return the rows of all runs in the order in which the queue offers them."""
    rows = [row for part in parts for row in part]
    urgent = [row for row in rows if row.id in live and row.turn != OfferOrder.SKIPPED]
    claimed = [row for row in rows if row.turn == OfferOrder.CLAIMED]
    assigned = [row for row in rows if row.id in mine and row.turn == OfferOrder.FRESH]
    skipped = [row for row in rows if row.turn == OfferOrder.SKIPPED]
    fresh = [[row for row in part if row.turn == OfferOrder.FRESH] for part in parts]
    ordered = [
        *sorted(urgent, key=lambda row: live[row.id]),
        *sorted(claimed, key=lambda row: -row.at_ms),
        *sorted(assigned, key=lambda row: (-row.priority, row.id)),
        # By the priority of the first row that is left of each run, whose rows are in order of trials.
        *merge(*fresh, key=lambda row: (-row.priority, row.id)),
        *sorted(skipped, key=lambda row: (row.at_ms, row.id)),
    ]
    once: dict[int, _Row] = {}
    for row in ordered:
        once.setdefault(row.id, row)
    return list(once.values())


def _divide(
    session: Session, run: tables.Run, reviewer: str, wanted: PendingFilter, live: Mapping[int, int], at_ms: int
) -> tuple[list[_Row], list[_Row], int, int, int]:
    """Return the rows within the budget and beyond it, and how many items match, lie beyond the budget and pend."""
    offered: list[_Row] = []
    unread: list[_Row] = []
    matching = beyond = total = 0
    for trial, budget in runs.budgets(session, run).items():
        place, rest = (run, trial, reviewer), budget["left"]
        own = _own_rows(session, *place, wanted, at_ms)
        claimed = [row for row in own if row.turn == OfferOrder.CLAIMED]
        fresh = _fresh_rows(session, *place, wanted, _MOST_SORTED if wanted.order in _AGES else MOST, at_ms)
        rows = [*claimed, *fresh, *(row for row in own if row.turn == OfferOrder.SKIPPED)]
        rows.sort(key=lambda row: live.get(row.id, len(live)))
        spent, reached = 0, []
        for row in rows:
            paid = row.turn != OfferOrder.CLAIMED and not (run.halted_free and row.kind == HALTED)
            spent += paid
            # Free items are offered even if the budget is spent.
            reached += [row] if rest is None or not paid or spent <= rest else []
        known = {row.id for row in reached}
        offered += reached
        unread += [row for row in rows if row.id not in known]
        waiting, using = _count_open(session, *place, wanted)
        matching += waiting + len(claimed)
        beyond += 0 if rest is None else max(0, using - rest)
        if wanted.is_set:
            own = _own_rows(session, *place, PendingFilter(), at_ms)
            waiting, _ = _count_open(session, *place, PendingFilter())
        total += waiting + sum(row.turn == OfferOrder.CLAIMED for row in own)
    return offered, unread, matching, beyond, total


def list_filter_choices(session: Session, run_ids: Sequence[int]) -> tuple[list[str], list[str]]:
    """List the detectors and the environments whose items may be pending in these runs."""
    item, verdict = tables.Item, tables.Verdict
    found = session.exec(select(tables.Run).where(col(tables.Run.id).in_(run_ids))).all()
    environments = {name for run in found for name in run.environment.split(",")}
    shown = [run for run in found if not _hides_verdict(run)]
    # On a gate, the policy selects the items of several detectors; elsewhere only the routing detector selects items.
    several = [run.id for run in shown if run.kind == RunKind.GATE or not run.detector]
    first = select(item.verdict_id).where(col(item.run_id).in_(several), literal_column("item.open_slots > 0"))
    judged = select(verdict.detector).where(col(verdict.id).in_(first.limit(MOST_COUNTED))).distinct()
    detectors = {*session.exec(judged)} if several else set()
    return sorted(detectors | {run.detector for run in shown if run.detector}), sorted(environments)


def _own(
    session: Session, run_ids: Sequence[int], reviewer: str, status: SlotStatus, still: ColumnElement[bool]
) -> int:
    item, slot = tables.Item, tables.Slot
    statement = select(func.count()).select_from(slot).join(item, col(item.id) == slot.item_id)
    own = (slot.reviewer == reviewer, slot.status == status)
    return session.exec(statement.where(*own, col(item.run_id).in_(run_ids), still)).one()


_OWN = aliased(tables.Slot)
_AT: BindParameter[int] = bindparam("at_ms")
_TURN = case(
    (col(_OWN.status) == SlotStatus.CLAIMED, OfferOrder.CLAIMED),
    ((col(_OWN.status) == SlotStatus.SKIPPED) & (col(_OWN.lease_until_ms) > _AT), OfferOrder.SKIPPED),
    else_=OfferOrder.FRESH,
)


def _join_own(statement: Any, run: tables.Run, trial: int, reviewer: str, wanted: PendingFilter, *, opens: bool) -> Any:
    """Restrict the statement over items to the reviewer's pending items that match the filter.

    With `opens`, take the open items that the reviewer has neither claimed nor decided, in the order of the index on
    open items. Otherwise, take the items that the reviewer has claimed or skipped.
    """
    item = tables.Item
    own = (col(_OWN.item_id) == item.id) & (col(_OWN.reviewer) == reviewer)
    of_others = is_assigned_to_others(reviewer)
    left = (item.trial == trial, ~of_others, *_conditions(wanted, reviewer, hides=_hides_verdict(run)))
    if opens:
        # Not by an outer join, of which PostgreSQL expects a single row: it then sorts all items of the trial.
        taken = exists().where(own, col(_OWN.status).in_((SlotStatus.CLAIMED, SlotStatus.DECIDED)))
        # A literal, because SQLite cannot use a partial index with a bound value.
        return statement.where(item.run_id == run.id, literal_column("item.open_slots > 0"), ~taken, *left)
    claimed = (col(_OWN.status) == SlotStatus.CLAIMED) & col(item.status).in_(UNREVIEWED)
    skipped = (col(_OWN.status) == SlotStatus.SKIPPED) & (col(_OWN.lease_until_ms) > _AT) & (col(item.open_slots) > 0)
    held = col(_OWN.status).in_((SlotStatus.CLAIMED, SlotStatus.SKIPPED))
    # Adding 0 hides the index on items from the planner: a reviewer has few such slots.
    return statement.join(_OWN, own).where(col(item.run_id) + 0 == run.id, held, or_(claimed, skipped), *left)


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
        is_escalation = col(tables.Decision.decision) == DecisionKind.ESCALATE
        found.append(exists().where(col(tables.Decision.item_id) == item.id, is_escalation, is_current()))
    if wanted.mine:
        found.append(_mine(reviewer))
    if words := wanted.text.strip():
        found.append(_says(words, hides=hides))
    return found


def _mine(reviewer: str) -> ColumnElement[bool]:
    item, draft, note, decision, slot = tables.Item, tables.Draft, tables.Note, tables.Decision, tables.Slot
    begun = (col(draft.reviewer) == reviewer) & (col(draft.feedback_text) != "")
    marked = (col(note.addressee) == reviewer) & (col(decision.id) == note.decision_id)
    held = (col(slot.item_id) == item.id) & (col(slot.reviewer) == reviewer)
    return or_(
        exists().where(held, col(slot.status) == SlotStatus.CLAIMED),
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


def _count_open(session: Session, run: tables.Run, trial: int, reviewer: str, wanted: PendingFilter) -> tuple[int, int]:
    """Return the number of open items, at most MOST_COUNTED, and the number of them that would use an inspection."""
    paid = case((col(tables.Item.kind) == HALTED, None), else_=1) if run.halted_free else literal(1)
    statement = _join_own(sa_select(paid.label("paid")), run, trial, reviewer, wanted, opens=True)
    found = statement.select_from(tables.Item).limit(MOST_COUNTED).subquery()
    waiting, using = session.execute(sa_select(func.count(), func.count(found.c.paid)).select_from(found)).one()
    return waiting, using


_CLAIM_AT = case((col(_OWN.status) == SlotStatus.CLAIMED, col(_OWN.claimed_ms)), else_=_OWN.lease_until_ms)


def _select_row(turn: Any, at_ms: Any) -> Any:
    item = tables.Item
    columns: list[Any] = [item.id, item.kind, turn, at_ms, item.priority, item.trial, item.created_ms]
    return sa_select(*columns)


def _own_rows(
    session: Session, run: tables.Run, trial: int, reviewer: str, wanted: PendingFilter, at_ms: int
) -> list[_Row]:
    """Return the items of the trial that the reviewer has claimed, the latest first, or skipped, the first first."""
    statement = _join_own(_select_row(_TURN, _CLAIM_AT), run, trial, reviewer, wanted, opens=False)
    rows = [_Row(*row) for row in session.execute(statement, {"at_ms": at_ms})]
    return sorted(rows, key=lambda row: (row.at_ms if row.turn == OfferOrder.SKIPPED else -row.at_ms, row.id))


def _fresh_rows(
    session: Session, run: tables.Run, trial: int, reviewer: str, wanted: PendingFilter, most: int, at_ms: int
) -> list[_Row]:
    """Return the trial's items that are new to the reviewer, by priority."""
    item, fresh = tables.Item, _select_row(literal_column(str(int(OfferOrder.FRESH))), literal_column("0"))
    own = (col(_OWN.item_id) == item.id) & (col(_OWN.reviewer) == reviewer)
    skipped = exists().where(own, col(_OWN.status) == SlotStatus.SKIPPED, col(_OWN.lease_until_ms) > _AT)
    statement = _join_own(fresh, run, trial, reviewer, wanted, opens=True).where(~skipped)
    ordered = statement.order_by(col(item.priority).desc(), item.id).limit(most)
    return [_Row(*row) for row in session.execute(ordered, {"at_ms": at_ms})]


def _items(session: Session, rows: list[_Row], reviewer: str) -> list[PendingItem]:
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
    escalated = list_escalations(session, ids, reviewer)
    assigned = list_assignees(session, ids)
    return [
        PendingItem(item, key, asked, score, why, OfferOrder(row.turn), escalated.get(row.id), assigned.get(row.id))
        for row, (item, key, asked, score, why) in ((row, found[row.id]) for row in rows)
    ]
