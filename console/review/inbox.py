"""The inbox: the pending items of a run, their reviewers, their waiting agents, and the saved views of the list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any
from urllib.parse import parse_qs, urlencode

from sqlalchemy import BindParameter, and_, bindparam, case, func, literal, literal_column, or_, union_all
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console import runs
from console.auth import people
from console.database import reading, review_queue
from console.errors import BadInput, Refused, Unknown
from console.language import _, digits, gettext_noop, ngettext
from console.review.access import read_undo_time
from console.runs import is_current
from storage import tables
from storage.queue import NoClaim, NoClaimReason
from storage.queue.values import DEAD_MS
from storage.tables import UNREVIEWED, DecisionKind, ItemStatus

# Queried at every decision, so these statements are built once.
_RUN: BindParameter[int] = bindparam("run")
_RUNS: BindParameter[Any] = bindparam("runs", expanding=True)
GAVE_UP = ("timeout", "cancelled")
"""The answers of checks whose agents stopped waiting before a decision."""
_item, _decision, _ask, _budget = tables.Item, tables.Decision, tables.Ask, tables.Budget
_MINE = (
    select(func.count(), func.avg(_decision.decided_ms - _decision.claimed_ms))
    .select_from(_decision)
    .join(_item, col(_item.id) == _decision.item_id)
    # Adding 0 keeps the planner from reading all items of the run to find the reviewer's.
    .where(col(_item.run_id) + 0 == _RUN, _decision.reviewer == bindparam("reviewer"), is_current())
    .where(_decision.decision != DecisionKind.ESCALATE)
)
_ASKED = (
    select(_ask, _item.terms, tables.Run.undo_ms)
    .join(_item, col(_item.id) == _ask.item_id)
    .join(tables.Run, col(tables.Run.id) == _ask.run_id)
    .where(col(_ask.item_id).in_(bindparam("items", expanding=True)))
    .where(or_(col(_ask.answer).is_(None), col(_ask.answer).in_(GAVE_UP)))
    .order_by(col(_ask.id))
)
_MOST_WATCHED = 5_000
_slot = tables.Slot
_LAPSED = select(_slot.id).where(literal_column("slot.status = 'claimed'"), _slot.lease_until_ms <= bindparam("now"))
_ABANDONED = select(_ask.run_id).where(
    col(_ask.answer).is_(None) & col(_ask.item_id).is_not(None),
    or_(_ask.deadline_ms <= bindparam("now"), and_(col(_ask.beats), _ask.heartbeat_ms < bindparam("dead"))),
)
# Literals, because SQLite cannot use a partial index with a bound value.
_opened = (
    sa_select(col(_item.id), col(_item.open_slots))
    .where(col(_item.run_id).in_(_RUNS), literal_column("item.open_slots > 0"))
    .limit(_MOST_WATCHED)
    .subquery()
)
_claimed: Any = (
    sa_select(col(_item.id), literal_column("0"))
    .join(tables.Slot, col(tables.Slot.item_id) == _item.id)
    # Adding 0 keeps the planner from reading all items of the runs to find the claimed ones.
    .where(literal_column("slot.status = 'claimed'"), col(_item.open_slots) == 0, (col(_item.run_id) + 0).in_(_RUNS))
    .distinct()
)
_unreviewed = union_all(sa_select(_opened), _claimed).subquery()
# If the runs have more items than are watched, the newest item of any run tells of new ones.
_newest = case(
    (func.count() < _MOST_WATCHED, func.max(_unreviewed.c.id)), else_=select(func.max(_item.id)).scalar_subquery()
)
_OPEN = select(
    func.count(case((_unreviewed.c.open_slots > 0, 1))), func.count(), _newest, func.sum(_unreviewed.c.open_slots)
).select_from(_unreviewed)
_UNITS = select(func.sum(_budget.cap), func.sum(_budget.used)).where(col(_budget.run_id).in_(_RUNS))
_STOPPED = select(func.count()).where(col(tables.Run.id).in_(_RUNS), col(tables.Run.options).contains('"stopped":true'))


def count_my_reviews(session: Session, run: tables.Run, reviewer: str) -> tuple[int, float | None]:
    """Return the number of this reviewer's decisions in the run, excluding escalations, and their mean duration.

    The mean is in seconds, or None if it is below half a second.
    """
    count, mean = session.exec(_MINE, params={"run": run.id, "reviewer": reviewer}).one()
    return count, float(mean) / 1_000 if mean and mean >= 500 else None


def list_items(session: Session, run: tables.Run, most: int | None = None) -> list[dict[str, Any]]:
    """List the first `most` items of the run (default: all) in queue order, in the shape of `review list --json`."""
    item, verdict, ask = tables.Item, tables.Verdict, tables.Ask
    order = (col(item.trial), col(item.priority).desc(), col(item.id))
    first = select(item.id).where(item.run_id == run.id).order_by(*order).limit(most)
    statement = (
        select(item, verdict, ask)
        .join(verdict, col(verdict.id) == item.verdict_id, isouter=True)
        .join(ask, col(ask.item_id) == item.id, isouter=True)
        .where(col(item.id).in_(first))
        .order_by(*order)
    )
    claimed = select(tables.Slot).join(item).where(literal_column("slot.status = 'claimed'"))
    # Adding 0 keeps the planner from reading all items of the run to find the claimed ones.
    holders = {slot.item_id: slot for slot in session.exec(claimed.where(col(item.run_id) + 0 == run.id))}
    return [_listed(row, judged, holders.get(row.id or 0), asked) for row, judged, asked in session.exec(statement)]


def _listed(
    item: tables.Item, verdict: tables.Verdict | None, holder: tables.Slot | None, ask: tables.Ask | None
) -> dict[str, Any]:
    return {
        "item_id": item.id,
        "trajectory_id": item.trajectory_id,
        "trial": item.trial,
        "kind": item.kind,
        "status": item.status,
        "priority": item.priority,
        "score": verdict.score if verdict else None,
        "detector": verdict.detector if verdict else None,
        "claimed_by": holder.reviewer if holder else None,
        "claim_expires_at": runs.iso(holder.lease_until_ms) if holder else None,
        "agent": ask.asker or None if ask else None,
        "deadline": runs.iso(ask.deadline_ms) if ask else None,
        "heartbeat": runs.iso(ask.heartbeat_ms) if ask else None,
    }


@dataclass(frozen=True, slots=True)
class WaitingAgent:
    """An agent that waits for an item since `asked_ms`, with its deadline and its last heartbeat, in ms since 1970.

    `heard_ms` is None if the agent polls without a heartbeat. `gave_up` is true if the agent stopped waiting. The agent
    also waits for `undo_ms`, the time in which a decision can be undone.
    """

    agent: str
    asked_ms: int
    deadline_ms: int | None
    heard_ms: int | None
    undo_ms: int
    gave_up: bool = False

    @property
    def last_approval_ms(self) -> int | None:
        """The last time in ms at which an approval surely reaches the agent; None without a deadline."""
        return None if self.deadline_ms is None else self.deadline_ms - self.undo_ms

    @property
    def warning_ms(self) -> int | None:
        """The time in ms at which a quarter of the time for an approval is left; None without a deadline."""
        last_ms = self.last_approval_ms
        return None if last_ms is None else last_ms - max(0, last_ms - self.asked_ms) // 4

    def is_gone(self, now_ms: int) -> bool:
        """Return whether a decision comes too late for this agent."""
        return self.gave_up or (self.deadline_ms is not None and self.deadline_ms < now_ms)

    def is_silent(self, now_ms: int) -> bool:
        """Return whether the agent's heartbeats stopped, as those of a crashed agent do."""
        return self.heard_ms is not None and now_ms - self.heard_ms > DEAD_MS


def list_waiting_agents(session: Session, item_ids: Sequence[int]) -> dict[int, WaitingAgent]:
    """Return the waiting agents by item id; omit items without a waiting agent."""
    return {
        row.item_id or 0: WaitingAgent(
            row.asker or _("An agent"),
            row.asked_ms,
            row.deadline_ms,
            row.heartbeat_ms if row.beats and row.answer is None else None,
            read_undo_time(terms, undo_ms),
            row.answer is not None,
        )
        for row, terms, undo_ms in session.exec(_ASKED, params={"items": list(item_ids)})
    }


_WHY = {
    NoClaimReason.EMPTY: gettext_noop("This run has no pending items."),
    NoClaimReason.BUDGET_SPENT: gettext_noop("The inspection budget is spent"),
    NoClaimReason.ALL_CLAIMED_BY_OTHERS: gettext_noop(
        "Other reviewers have claimed the items, or the items are assigned to them"
    ),
    NoClaimReason.BEYOND_CAPACITY: gettext_noop("Your next inspection is expected to lower safety. Take a break"),
    NoClaimReason.RUN_STOPPED: gettext_noop("The agents are stopped. Their items return when the run continues"),
    NoClaimReason.ALL_REVIEWED_BY_YOU: gettext_noop(
        "You have decided or escalated all pending items; they need another reviewer"
    ),
}


_MOST_DECIDED = 200


def list_my_items(session: Session, run_ids: Sequence[int], reviewer: str) -> list[int]:
    """List the items of these runs that this reviewer has decided, the latest first."""
    decision, item = tables.Decision, tables.Item
    statement = (
        select(decision.item_id)
        .join(item, col(item.id) == decision.item_id)
        .where(col(item.run_id).in_(run_ids), decision.reviewer == reviewer, is_current())
        .order_by(col(decision.id).desc())
        .limit(_MOST_DECIDED)
    )
    return list(session.exec(statement))


def explain_no_item(answer: NoClaim) -> str:
    """Explain in one sentence why no item is available, with the number of pending items."""
    reason = _(_WHY.get(answer.reason, str(answer.reason)))
    if not answer.waiting:
        return reason if reason.endswith(".") else f"{reason}."
    still = ngettext("{count} item is still pending", "{count} items are still pending", answer.waiting)
    return f"{reason.rstrip('.')}; {still.format(count=answer.waiting)}."


def get_waiter_state(session: Session, item_id: int, now_ms: int) -> tuple[bool, bool] | None:
    """Return whether the item's agent stopped waiting and whether its heartbeats stopped; None without an agent."""
    waiter = list_waiting_agents(session, [item_id]).get(item_id)
    return None if waiter is None else (waiter.is_gone(now_ms), waiter.is_silent(now_ms))


def explain_gone_item(session: Session, item_id: int) -> str:
    """Explain in a sentence why an item left the queue without a decision; return "" for any other item."""
    item = session.get(tables.Item, item_id)
    if item is None or item.status not in (ItemStatus.EXPIRED, ItemStatus.CANCELLED):
        return ""
    if item.status == ItemStatus.EXPIRED or item_id in list_waiting_agents(session, [item_id]):
        return _("The agent stopped waiting before a decision, so the action did not run.")
    return _("The item was withdrawn before a decision, so its action did not run.")


_WHY_NOT_THAT = {
    NoClaimReason.BUDGET_SPENT: gettext_noop("the inspection budget is spent."),
    NoClaimReason.BEYOND_CAPACITY: gettext_noop("your next inspection is expected to lower safety; take a break."),
    NoClaimReason.RUN_STOPPED: gettext_noop("the agents are stopped; the item returns when the run continues."),
    NoClaimReason.ITEM_TAKEN: gettext_noop("another reviewer has claimed the item, but your draft is kept."),
    NoClaimReason.ITEM_REVIEWED_BY_YOU: gettext_noop("you have already decided or escalated the item."),
    NoClaimReason.ITEM_GONE: gettext_noop("the item has left the queue, but your draft is kept."),
}


def sweep_queue(at_ms: int) -> None:
    """Free expired claims, and expire items whose agents no longer wait; write only if there are any."""
    with reading() as session:
        lapsed = session.exec(_LAPSED, params={"now": at_ms}).first()
        abandoned = {*session.exec(_ABANDONED, params={"now": at_ms, "dead": at_ms - DEAD_MS})}
    if lapsed is not None:
        review_queue().sweep(now_ms=at_ms)
    for run_id in abandoned:
        review_queue().expire_overdue(run_id=run_id, now_ms=at_ms)


def explain_unavailable_item(answer: NoClaim) -> str:
    """Explain why the requested item is not available, as the end of a sentence."""
    return _(_WHY_NOT_THAT.get(answer.reason, str(answer.reason)))


def find_busiest_run(session: Session) -> tables.Run | None:
    """Return the run with the most pending items (in a tie, the newest run), or None if no run exists.

    Runs of studies and archived runs are excluded.
    """
    item, run = tables.Item, tables.Run
    # A literal, because SQLite cannot use a partial index with a bound value.
    opened = sa_select(literal(1)).where(col(item.run_id) == col(run.id), literal_column("item.open_slots > 0"))
    first = opened.select_from(item).correlate(run).limit(_MOST_WATCHED).subquery()
    waiting = sa_select(func.count()).select_from(first).scalar_subquery()
    shown = select(run).where(col(run.study_id).is_(None), col(run.archived_ms).is_(None))
    return session.exec(shown.order_by(waiting.desc(), col(run.id).desc()).limit(1)).first()


def has_pending_items(session: Session) -> bool:
    """Return whether any run outside studies has a pending item."""
    run = find_busiest_run(session)
    return run is not None and get_queue_state(session, [run.id or 0]).waiting > 0


def find_last_decided_run(session: Session, reviewer: str) -> tables.Run | None:
    """Return the run of the reviewer's latest decision, or None if the reviewer has never decided on an item."""
    joined = select(tables.Run).join(_item, col(_item.run_id) == col(tables.Run.id))
    of_reviewer = joined.join(_decision, col(_decision.item_id) == col(_item.id)).where(_decision.reviewer == reviewer)
    return session.exec(of_reviewer.order_by(col(_decision.id).desc()).limit(1)).first()


def list_item_statuses(session: Session, run: tables.Run) -> set[str]:
    """Return the statuses of all items that the run's queue has ever held; empty if it has held no item."""
    return set(session.exec(select(tables.Item.status).where(tables.Item.run_id == run.id).distinct()))


def explain_empty_queue(session: Session, run: tables.Run) -> str:
    """Explain in one sentence why the run's queue has never held an item.

    Return an empty text if the queue has held an item or the run has no routing detector.
    """
    item = tables.Item
    if run.detector is None or session.exec(select(item.id).where(item.run_id == run.id).limit(1)).first() is not None:
        return ""
    if run.feedback_mode == "none":
        return (
            "This run has no inspections, because its feedback mode is none. Continue the run: inferact run next "
            f"{quote(run.name)}"
        )
    return f"{run.detector} has not flagged any action yet, so no item is pending."


@dataclass(frozen=True, slots=True)
class QueueState:
    """The state of a run's queue; two states differ if items or the budget have changed between them.

    `waiting` counts the items that anyone may claim, `undecided` also the claimed ones, of the first 5,000 items;
    `stopped` counts the runs whose agents are stopped.
    """

    waiting: int
    undecided: int
    newest: int | None
    open_slots: int | None
    cap: int | None
    used: int | None
    stopped: int = 0


def get_queue_state(session: Session, run_ids: Sequence[int]) -> QueueState:
    """Return the current state of the queue of these runs."""
    of_runs = {"runs": list(run_ids)}
    items, units = (session.exec(asked, params=of_runs).one() for asked in (_OPEN, _UNITS))
    return replace(QueueState(*items, *units), stopped=session.exec(_STOPPED, params=of_runs).one())


def find_newest_run(session: Session) -> int | None:
    """Return the id of the newest run, or None if no run exists."""
    return session.exec(select(func.max(tables.Run.id))).one()


def list_unsent_drafts(session: Session, run: tables.Run, reviewer: str) -> Sequence[tuple[tables.Item, str, str]]:
    """List the undecided items of the run with unsent feedback of the reviewer, the task and the feedback."""
    draft, item, record, task = tables.Draft, tables.Item, tables.Trajectory, tables.Task
    statement = (
        select(item, task.instruction, draft.feedback_text)
        .join(item, col(item.id) == draft.item_id)
        .join(record, col(record.id) == item.trajectory_id)
        .join(task, col(task.id) == record.task_id)
        .where(col(item.run_id) + 0 == run.id, draft.reviewer == reviewer, draft.feedback_text != "")
        .where(col(item.status).in_(UNREVIEWED))
        .order_by(col(draft.updated_ms).desc())
    )
    return session.exec(statement).all()


MOST_VIEWS = 20
_NAME_CHARS, _QUERY_CHARS = 40, 2_000


def list_views(session: Session, person: str) -> dict[str, dict[str, list[str]]]:
    """List the person's saved views by name: for each the filter, as it is in the address."""
    return {name: parse_qs(row.query) for name, row in sorted(_list_rows(session, person).items())}


def save_view(session: Session, person: str, name: str, query: Mapping[str, Sequence[str]], now_ms: int) -> str:
    """Save the filter under this name in place of an earlier view of the name, and return the name.

    Raise BadInput if the name is empty or too long, and Refused if the person has the maximum number of views.
    """
    name, stored = " ".join(name.split()), urlencode(query, doseq=True)
    if not name or len(name) > _NAME_CHARS:
        words = _("Enter a name of at most {most} characters for the view.")
        raise BadInput(words.format(most=digits(_NAME_CHARS)))
    if len(stored) > _QUERY_CHARS:
        raise BadInput(_("The filter is too long to save. Remove some values of the filter."))
    known, owner = _list_rows(session, person), people.get_person(session, person)
    if name not in known and len(known) >= MOST_VIEWS:
        raise Refused(
            _("You have the maximum of {most} saved views. Remove a view first.").format(most=digits(MOST_VIEWS))
        )
    row = known.get(name) or tables.SavedView(person_id=owner.id or 0, name=name, query="", created_ms=now_ms)
    row.query = stored
    session.add(row)
    return name


def remove_view(session: Session, person: str, name: str) -> None:
    """Remove the person's saved view; raise Unknown if it does not exist."""
    row = _list_rows(session, person).get(name)
    if row is None:
        raise Unknown("saved view", name)
    session.delete(row)


def _list_rows(session: Session, person: str) -> dict[str, tables.SavedView]:
    view, owner = tables.SavedView, tables.Person
    of_person = select(view).join(owner).where(owner.name_key == people.name_key(person))
    return {row.name: row for row in session.exec(of_person)}
