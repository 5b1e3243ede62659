"""The inbox: what waits in a run, for whom, and since when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from sqlalchemy import BindParameter, bindparam, case, func
from sqlmodel import Session, col, select

from console import runs
from console.language import _, gettext_noop, ngettext
from console.runs.current_decisions import is_current
from storage import tables
from storage.queue import NoClaim, NoClaimReason
from storage.tables import UNREVIEWED, DecisionKind, SlotStatus

# Asked at every answer, so they are built once.
_RUN: BindParameter[int] = bindparam("run")
_item, _decision, _ask, _budget = tables.Item, tables.Decision, tables.Ask, tables.Budget
_MINE = (
    select(func.count(), func.avg(_decision.decided_ms - _decision.claimed_ms))
    .select_from(_decision)
    .join(_item, col(_item.id) == _decision.item_id)
    .where(_item.run_id == _RUN, _decision.reviewer == bindparam("reviewer"), is_current())
    .where(_decision.decision != DecisionKind.ESCALATE)
)
_ASKED = (
    select(_ask)
    .where(col(_ask.item_id).in_(bindparam("items", expanding=True)), col(_ask.answer).is_(None))
    .order_by(col(_ask.id))
)
_WAITING = select(func.count(), func.min(_item.created_ms)).where(
    _item.run_id == _RUN, col(_item.open_slots) > 0, col(_item.status).in_(UNREVIEWED)
)
_OPEN = select(
    func.count(case((col(_item.open_slots) > 0, 1))), func.count(), func.max(_item.id), func.sum(_item.open_slots)
).where(_item.run_id == _RUN, col(_item.status).in_(UNREVIEWED))
_UNITS = select(func.sum(_budget.cap), func.sum(_budget.used)).where(_budget.run_id == _RUN)


def my_reviews(session: Session, run: tables.Run, reviewer: str) -> tuple[int, float | None]:
    """(number of this reviewer's reviews in the run, passing on is none; mean seconds, None below half a second)."""
    count, mean = session.exec(_MINE, params={"run": run.id, "reviewer": reviewer}).one()
    return count, float(mean) / 1_000 if mean and mean >= 500 else None


def listing(session: Session, run: tables.Run, limit: int | None = None) -> list[dict[str, Any]]:
    """The run's items, the next to be offered first, in the shape of `review list --json`."""
    item, verdict, ask = tables.Item, tables.Verdict, tables.Ask
    statement = (
        select(item, verdict, ask)
        .join(verdict, col(verdict.id) == item.verdict_id, isouter=True)
        .join(ask, col(ask.item_id) == item.id, isouter=True)
        .where(item.run_id == run.id)
        .order_by(col(item.trial), col(item.priority).desc(), col(item.id))
        .limit(limit)
    )
    found = list(session.exec(statement))
    holders = _holders(session, [row.id or 0 for row, *_ in found])
    return [_listed(row, judged, holders.get(row.id or 0)) | _waiter(asked) for row, judged, asked in found]


def _holders(session: Session, item_ids: Sequence[int]) -> dict[int, tables.Slot]:
    slot = tables.Slot
    holders: dict[int, tables.Slot] = {}
    for start in range(0, len(item_ids), 500):
        chunk = item_ids[start : start + 500]
        statement = select(slot).where(col(slot.item_id).in_(chunk), slot.status == SlotStatus.CLAIMED)
        holders.update({row.item_id: row for row in session.exec(statement)})
    return holders


def _listed(item: tables.Item, verdict: tables.Verdict | None, holder: tables.Slot | None) -> dict[str, Any]:
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
    }


def _waiter(ask: tables.Ask | None) -> dict[str, Any]:
    """Which agent waits for the item, until when, and when it was last heard of; None where no agent asked."""
    return {
        "agent": ask.asker or None if ask else None,
        "deadline": runs.iso(ask.deadline_ms) if ask else None,
        "heartbeat": runs.iso(ask.heartbeat_ms) if ask else None,
    }


@dataclass(frozen=True, slots=True)
class Waiter:
    """An agent that waits for an item, in ms since 1970: until when, and when it was last heard of.

    `heard_ms` is None where the agent asks now and then and shows no heartbeat.
    """

    agent: str
    deadline_ms: int | None
    heard_ms: int | None


def waiters(session: Session, item_ids: Sequence[int]) -> dict[int, Waiter]:
    """Who waits for each of these items; those that no agent asked about are left out."""
    return {
        row.item_id or 0: Waiter(row.asker or _("An agent"), row.deadline_ms, row.heartbeat_ms if row.beats else None)
        for row in session.exec(_ASKED, params={"items": list(item_ids)})
    }


_WHY = {
    NoClaimReason.EMPTY: gettext_noop("Nothing waits in this run."),
    NoClaimReason.BUDGET_SPENT: gettext_noop("The inspection budget is spent"),
    NoClaimReason.ALL_CLAIMED_BY_OTHERS: gettext_noop("Everything that waits is being reviewed by others"),
    NoClaimReason.ALL_REVIEWED_BY_YOU: gettext_noop(
        "You have answered or passed on everything that waits; it needs another reviewer"
    ),
}


_HEADLINES = {
    NoClaimReason.EMPTY: gettext_noop("Nothing waits here"),
    NoClaimReason.BUDGET_SPENT: gettext_noop("The inspection budget is spent"),
}


def headline(answer: NoClaim) -> str:
    """Why no item is offered, in a few words."""
    return _(_HEADLINES.get(answer.reason, gettext_noop("Nothing for you right now")))


def my_items(session: Session, run_ids: Sequence[int], reviewer: str, limit: int = 200) -> list[int]:
    """The items of these runs that this reviewer has answered, the latest first."""
    decision, item = tables.Decision, tables.Item
    statement = (
        select(decision.item_id)
        .join(item, col(item.id) == decision.item_id)
        .where(col(item.run_id).in_(run_ids), decision.reviewer == reviewer, is_current())
        .order_by(col(decision.id).desc())
        .limit(limit)
    )
    return list(session.exec(statement))


def why_nothing(answer: NoClaim) -> str:
    """Why no item is offered, and how many wait all the same, as one sentence."""
    reason = _(_WHY.get(answer.reason, str(answer.reason)))
    if not answer.waiting:
        return reason if reason.endswith(".") else f"{reason}."
    still = ngettext("{count} item still waits", "{count} items still wait", answer.waiting)
    return f"{reason.rstrip('.')}; {still.format(count=answer.waiting)}."


_WHY_NOT_THAT = {
    NoClaimReason.BUDGET_SPENT: gettext_noop("the inspection budget is spent."),
    NoClaimReason.ITEM_TAKEN: gettext_noop("somebody else holds it by now; your words are kept with it."),
    NoClaimReason.ITEM_REVIEWED_BY_YOU: gettext_noop("you have answered it or passed it on."),
    NoClaimReason.ITEM_GONE: gettext_noop("it is no longer in the queue; your words are kept with it."),
}


def why_not_that(answer: NoClaim) -> str:
    """Why an item that was asked for is not offered, as the end of a sentence."""
    return _(_WHY_NOT_THAT.get(answer.reason, str(answer.reason)))


def busiest_run(session: Session) -> tables.Run | None:
    """The run with the most items waiting, the newest among equals, none of a study or archived; None without any."""
    item, run = tables.Item, tables.Run
    waiting = func.count(item.id)  # type: ignore[arg-type]
    statement = (
        select(run)
        .join(item, (col(item.run_id) == run.id) & (col(item.open_slots) > 0), isouter=True)
        .where(col(run.study_id).is_(None), col(run.archived_ms).is_(None))
        .group_by(col(run.id))
        .order_by(waiting.desc(), col(run.id).desc())
        .limit(1)
    )
    return session.exec(statement).first()


def waits_anywhere(session: Session) -> bool:
    """Whether an item waits for anybody, in whichever run that no participant reviews."""
    run = busiest_run(session)
    return run is not None and waits(session, run)[0] > 0


def has_answered(session: Session, reviewer: str) -> bool:
    """Whether the reviewer has ever decided on an item."""
    decision = tables.Decision
    return session.exec(select(decision.id).where(decision.reviewer == reviewer).limit(1)).first() is not None


def item_statuses(session: Session, run: tables.Run) -> set[str]:
    """How what was ever in the run's queue stands; empty where nothing was."""
    return set(session.exec(select(tables.Item.status).where(tables.Item.run_id == run.id).distinct()))


def nothing_queued(session: Session, run: tables.Run) -> str:
    """Why nothing ever came into a run's queue, as a sentence; empty where something did, or nobody judged it."""
    item = tables.Item
    if run.detector is None or session.exec(select(item.id).where(item.run_id == run.id).limit(1)).first() is not None:
        return ""
    if run.feedback_mode == "none":
        return (
            f"Nothing of this run is inspected: its feedback is none. Go on with: inferact run next {quote(run.name)}"
        )
    return f"Nothing is flagged by {run.detector} so far, so there is nothing to inspect."


def waits(session: Session, run: tables.Run) -> tuple[int, int | None]:
    """(how many items wait for anybody, when the oldest came, in ms since 1970)."""
    count, oldest = session.exec(_WAITING, params={"run": run.id}).one()
    return count, oldest


@dataclass(frozen=True, slots=True)
class Pulse:
    """The pulse of a run's queue: two differ once an item came or went, or the budget lets more or fewer be offered.

    `waiting` counts what waits for anybody, `undecided` what is being reviewed, too.
    """

    waiting: int
    undecided: int
    newest: int | None
    open_slots: int | None
    cap: int | None
    used: int | None


def pulse(session: Session, run_id: int) -> Pulse:
    """The run's pulse at this moment."""
    items, units = (session.exec(asked, params={"run": run_id}).one() for asked in (_OPEN, _UNITS))
    return Pulse(*items, *units)


@dataclass(frozen=True, slots=True)
class WaitingDraft:
    """Words that a reviewer wrote for an item and never sent."""

    item: int
    words: str


def waiting_drafts(session: Session, run: tables.Run, reviewer: str) -> list[WaitingDraft]:
    """The reviewer's drafts with words for items of the run that still wait, the latest first."""
    draft, item = tables.Draft, tables.Item
    statement = (
        select(draft)
        .join(item, col(item.id) == draft.item_id)
        .where(item.run_id == run.id, draft.reviewer == reviewer, draft.feedback_text != "")
        .where(col(item.status).in_(UNREVIEWED))
        .order_by(col(draft.updated_ms).desc())
    )
    return [WaitingDraft(row.item_id, row.feedback_text) for row in session.exec(statement)]
