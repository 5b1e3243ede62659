"""Access to runs and claims: the people and groups who may review a run, the person to whom an item is assigned, and
the claim of the next item of one run, the most urgent item of several runs, or a chosen item.

A run without entries is open to every reviewer. Entries restrict reviews only: researchers still see the run. The
terms of a review are the decisions, people and entry points that a policy's rule accepts, and the times to undo.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, String, bindparam, exists, literal
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, delete, or_, select

from console.auth import audit_log, people
from console.auth.audit_log import Door, span
from console.auth.people import Role, name_key
from console.database import now_ms
from console.errors import BadInput, Refused, Unknown
from console.language import _
from console.runs import run_options, withholds_items
from storage import tables
from storage.queue import Claim, NoClaim, NoClaimReason, Queue
from storage.tables import UNREVIEWED, DecisionKind, SlotStatus

OTHERS = "others"
"""The entry of `who` that excludes the person who asked."""
GROUP, ROLE = "group:", "role:"
"""The prefixes of the entries of `who` that name a group or a role."""

_OFFERED = (DecisionKind.APPROVE, DecisionKind.REJECT, DecisionKind.EDIT)
"""Decisions that a rule can exclude; the other decisions never allow an action to run."""


@dataclass(frozen=True, slots=True)
class ReviewTerms:
    """The terms of a review: the decisions, people (names, roles) and entry points accepted by its rule (None: any).

    `members` are the people in the groups of `who`. If `others` decide, `asker` is the person who asked, or an empty
    text if that is unknown; then only admins decide.
    """

    offered: tuple[str, ...] | None = None
    who: tuple[str, ...] | None = None
    doors: tuple[str, ...] | None = None
    members: frozenset[str] = frozenset()
    asker: str | None = None
    stays: bool = False
    """True if the check stays open until its deadline without its agent."""
    undo_ms: int | None = None
    least_undo_ms: int = 0

    def undo_time(self, run: tables.Run) -> int:
        """Return the time in ms in which a decision can be undone: the rule's, else the run's, or a longer time."""
        return combine_undo_times(run.undo_ms, self.undo_ms, self.least_undo_ms)

    def refusal(self, decision: str, reviewer: str, roles: Collection[str], door: str = Door.BROWSER) -> str | None:
        """Explain why this reviewer may not make the decision; return None if the reviewer may make it."""
        if self.offered is not None and decision in _OFFERED and decision not in self.offered:
            offers = _("The rule for this review offers {offered}, not {decision}. Choose one of these decisions.")
            return offers.format(offered=f" {_('and')} ".join(map(_, self.offered)), decision=_(decision))
        if decision == DecisionKind.ESCALATE:
            return None
        if self.who is not None and not self._admits(reviewer, roles):
            leaves = _(
                "The rule for this review accepts decisions by {who}, not by {reviewer}. Escalate or release the item."
            )
            return leaves.format(who=", ".join(self.who) or _("no one"), reviewer=reviewer)
        if self.asker == "" and Role.ADMIN not in roles:
            return _(
                "The rule excludes the person for whom the agent asks, but this person is unknown. Only an admin can "
                "decide."
            )
        if self.asker and name_key(self.asker) == name_key(reviewer):
            return _("The agent asks in your name, so another person must decide. Escalate or release the item.")
        if self.doors is not None and door not in self.doors:
            takes = _(
                "The rule for this review accepts decisions through {doors}, not through {door}. Decide there, or "
                "escalate the item."
            )
            return takes.format(doors=", ".join(self.doors) or "–", door=str(door))
        return None

    def _admits(self, reviewer: str, roles: Collection[str]) -> bool:
        named = {reviewer, *map(str, roles), *(f"{ROLE}{role}" for role in roles)}
        return self.who == (OTHERS,) or reviewer in self.members or bool(named & {*(self.who or ())} - {OTHERS})


def combine_undo_times(run_ms: int, rule_ms: int | None, least_ms: int) -> int:
    """Return the time in ms in which a decision can be undone: the rule's, else the run's, or the least time."""
    return max(run_ms if rule_ms is None else rule_ms, least_ms)


def read_undo_time(terms: str, run_ms: int) -> int:
    """Return the time in ms in which a decision under an item's stored terms can be undone."""
    stated = orjson.loads(terms)
    return combine_undo_times(run_ms, stated.get("undo_ms"), stated.get("least_undo_ms", 0))


def get_review_terms(session: Session, item_id: int) -> ReviewTerms:
    """Return the terms of the item's review as they are now; the terms are empty if no rule sets any."""
    item = session.get(tables.Item, item_id)
    return read_terms(session, orjson.loads(item.terms) if item else {}, now_ms())


def read_terms(session: Session, stated: Mapping[str, Any], at_ms: int) -> ReviewTerms:
    """Return stored terms with the present members of their groups and the people whom `widen` has added by `at_ms`."""
    lists = {name: tuple(stated[name]) for name in ("decisions", "who", "doors") if name in stated}
    who, widen = lists.get("who"), stated.get("widen")
    if who is not None and {*who} != {OTHERS} and widen and at_ms >= widen["from_ms"]:
        who = tuple(dict.fromkeys((*who, *widen["to"])))
    return ReviewTerms(
        lists.get("decisions"),
        who,
        lists.get("doors"),
        _members(session, who or ()),
        stated.get("asker", "") if OTHERS in (who or ()) else None,
        bool(stated.get("stays")),
        stated.get("undo_ms"),
        stated.get("least_undo_ms", 0),
    )


def _members(session: Session, who: Iterable[str]) -> frozenset[str]:
    named = [entry.removeprefix(GROUP) for entry in who if entry.startswith(GROUP)]
    return frozenset(name for group in named for name in people.list_members(session, group))


OTHER_ITEM = "Reload the list and choose another item."


def _admits() -> ColumnElement[bool]:
    """Return the condition that a run admits the person whose name key is bound to `person`."""
    access, member, person = tables.RunAccess, tables.GroupMember, tables.Person
    key = bindparam("person", type_=String)
    groups_of = select(literal(GROUP) + col(member.name_key)).join(person, col(person.id) == member.person_id)
    named = select(access.id).where(access.run_id == tables.Run.id)
    mine = or_(col(access.entry_key) == key, col(access.entry_key).in_(groups_of.where(person.name_key == key)))
    return or_(~named.exists(), named.where(mine).exists())


# Built once, because building them takes longer than the database needs to answer.
_REVIEWABLE = (
    select(tables.Run)
    .where(col(tables.Run.study_id).is_(None), col(tables.Run.archived_ms).is_(None), _admits())
    .order_by(col(tables.Run.id))
)
_CLOSED = (
    select(tables.Run.id)
    .where(col(tables.Run.id).in_(bindparam("run_ids", expanding=True)), ~_admits())
    .order_by(col(tables.Run.id))
    .limit(1)
)


def list_reviewable_runs(session: Session, reviewer: str, *, offering: bool = False) -> list[tables.Run]:
    """List the runs that this person may review, by id; runs of studies and archived runs are excluded.

    Runs of answers to rate have a page of their own and are excluded as well; with `offering`, so are stopped runs.
    """
    found = session.exec(_REVIEWABLE, params={"person": name_key(reviewer)})
    return [row for row in found if not (run_options(row).rates_answers or (offering and withholds_items(row)))]


def refuse_stranger(session: Session, runs: Sequence[tables.Run], reviewer: str) -> None:
    """Raise Refused if one of the runs names its reviewers and this person is not among them."""
    known = {"run_ids": [run.id for run in runs], "person": name_key(reviewer)}
    closed = session.exec(_CLOSED, params=known).first()
    if closed is not None:
        run = next(run for run in runs if run.id == closed)
        told = _("Only these people review {run}: {who}. Ask a researcher for access.")
        raise Refused(told.format(run=run.name, who=", ".join(list_access(session, run))))


def list_access(session: Session, run: tables.Run) -> list[str]:
    """List the names and the groups (`group:NAME`) that may review the run; the list is empty if everyone may."""
    access = tables.RunAccess
    return list(session.exec(select(access.entry).where(access.run_id == run.id).order_by(access.entry_key)))


def set_access(session: Session, run: tables.Run, entries: Sequence[str], now_ms: int) -> list[str]:
    """Restrict the reviews of the run to these names and groups and record the event; an empty list admits everyone.

    Raise Unknown if a person does not exist, and BadInput if a group has no members.
    """
    access, before = tables.RunAccess, list_access(session, run)
    wanted = {_key(entry): entry for entry in (_checked(session, entry) for entry in entries)}
    session.execute(delete(access).where(col(access.run_id) == run.id))
    for key, entry in sorted(wanted.items()):
        session.add(access(run_id=run.id or 0, entry=entry, entry_key=key))
    session.flush()
    after = list_access(session, run)
    if after != before:
        words = [", ".join(list_) or "everyone" for list_ in (before, after)]
        audit_log.record(session, run, "reviewers set", now_ms, before=words[0], after=words[1])
    return after


def assign_item(session: Session, item_id: int, reviewer: str | None, by: str, now_ms: int) -> None:
    """Assign a pending item to this person and record the event; None makes it available to all reviewers again.

    Raise Unknown if the item or the person does not exist, and Refused if the person may not review the run.
    """
    item = session.get(tables.Item, item_id)
    if item is None or item.status not in UNREVIEWED:
        raise Unknown("pending review item", item_id, advice=OTHER_ITEM)
    run, assigned = session.get_one(tables.Run, item.run_id), tables.ItemReviewer
    before = find_assignee(session, item_id)
    if reviewer is not None:
        reviewer = people.get_person(session, reviewer).name
        refuse_stranger(session, [run], reviewer)
    session.execute(delete(assigned).where(col(assigned.item_id) == item_id))
    if reviewer is not None:
        session.add(assigned(item_id=item_id, reviewer=reviewer, assigned_by=by, assigned_ms=now_ms))
    audit_log.record(
        session,
        run,
        "item assigned",
        now_ms,
        subject=f"item {item_id}",
        before=before or "everyone",
        after=reviewer or "everyone",
    )


def find_assignee(session: Session, item_id: int) -> str | None:
    """Return the person to whom the item is assigned, or None."""
    return list_assignees(session, [item_id]).get(item_id)


def is_assigned_to_others(reviewer: str) -> ColumnElement[bool]:
    """Return the condition that an item is assigned to another person who has neither decided nor escalated it."""
    assigned, slot = tables.ItemReviewer, aliased(tables.Slot)
    decided = exists().where(col(slot.item_id) == assigned.item_id, col(slot.reviewer) == assigned.reviewer)
    of_others = (col(assigned.item_id) == tables.Item.id, col(assigned.reviewer) != reviewer)
    return exists().where(*of_others, ~decided.where(col(slot.status) == SlotStatus.DECIDED))


def list_assignees(session: Session, item_ids: Sequence[int]) -> dict[int, str]:
    """Return the people to whom these items are assigned, by item id."""
    assigned = tables.ItemReviewer
    rows = session.exec(select(assigned).where(col(assigned.item_id).in_(item_ids)))
    return {row.item_id: row.reviewer for row in rows}


def _key(entry: str) -> str:
    return f"{GROUP}{name_key(entry.removeprefix(GROUP))}" if entry.startswith(GROUP) else name_key(entry)


def _checked(session: Session, entry: str) -> str:
    """Return the entry in its stored spelling; raise Unknown or BadInput if the person or group does not exist."""
    if not entry.startswith(GROUP):
        return people.get_person(session, entry).name
    group = entry.removeprefix(GROUP)
    if not people.list_members(session, group):
        raise BadInput(f"Group {group!r} has no members. Add people to the group first, then name it here.")
    return entry


_ROUNDS = 20
"""The number of attempts to claim an item if other reviewers claim each offered item first."""


def claim_next_item(
    queue: Queue, session: Session, run: tables.Run, reviewer: str, now_ms: int, *, settles: bool = True
) -> Claim | NoClaim:
    """Claim the next item of the run, the earliest trial first; return NoClaim with the reason if the claim fails.

    Items that the reviewer skipped come last, after the items of later trials. Raise Refused without access to the run.
    """
    return claim_most_urgent(queue, session, [run], reviewer, now_ms, settles=settles)


def claim_most_urgent(
    queue: Queue, session: Session, runs: Sequence[tables.Run], reviewer: str, now_ms: int, *, settles: bool = True
) -> Claim | NoClaim:
    """Claim the most urgent item of the runs: live items by deadline, the reviewer's claims, then priority.

    Return NoClaim with the reason if the claim fails. Raise Refused without access to one of the runs.
    """
    refuse_stranger(session, runs, reviewer)
    offering = [run for run in runs if not withholds_items(run)]
    by_id = {run.id or 0: run for run in offering if not _stops_here(session, run, reviewer, now_ms)}
    if runs and not by_id:
        return NoClaim(NoClaimReason.BEYOND_CAPACITY if offering else NoClaimReason.RUN_STOPPED, 0)
    for _round in range(_ROUNDS):
        offers = queue.list_offers(run_ids=list(by_id), reviewer=reviewer, now_ms=now_ms)
        for offer in offers:
            found = _claim_in_run(queue, by_id[offer.run_id], offer.trial, reviewer, now_ms, settles, offer.item_id)
            if isinstance(found, Claim):
                return found
        if not offers:
            break
    return _claim_in_order(queue, session, by_id, reviewer, now_ms, settles)


@span("claim")
def _claim_in_run(
    queue: Queue, run: tables.Run, trial: int, reviewer: str, now_ms: int, settles: bool, item_id: int | None = None
) -> Claim | NoClaim:
    return queue.claim(
        run_id=run.id or 0,
        trial=trial,
        reviewer=reviewer,
        now_ms=now_ms,
        lease_ms=run.lease_ms,
        item_id=item_id,
        settles=settles,
        halted_free=run.halted_free,
    )


def _claim_in_order(
    queue: Queue, session: Session, runs: Mapping[int, tables.Run], reviewer: str, now_ms: int, settles: bool
) -> Claim | NoClaim:
    """Claim an item that needs no budget, or return the reason why the runs have no item for the reviewer.

    The reason comes from the last run and trial with pending items.
    """
    reason, waiting = NoClaimReason.EMPTY, 0
    for run_id, trial in _list_pending(session, list(runs)):
        found = _claim_in_run(queue, runs[run_id], trial, reviewer, now_ms, settles)
        if isinstance(found, Claim):
            return found
        waiting += found.waiting
        if found.reason != NoClaimReason.EMPTY:
            reason = found.reason
    return NoClaim(reason, waiting)


def claim_item(
    queue: Queue, session: Session, run: tables.Run, item_id: int, reviewer: str, now_ms: int, *, settles: bool = True
) -> Claim | NoClaim:
    """Claim this item; return NoClaim with the reason if the claim fails. A stopped run renews claims only.

    Raise Unknown if the item is not in the run, and Refused without access to the run.
    """
    item = session.get(tables.Item, item_id)
    if item is None or item.run_id != run.id:
        raise Unknown("review item", item_id, advice=OTHER_ITEM)
    refuse_stranger(session, [run], reviewer)
    if withholds_items(run) and not _holds_claim(session, run, reviewer, now_ms, item_id):
        return NoClaim(NoClaimReason.RUN_STOPPED, 0)
    if _stops_here(session, run, reviewer, now_ms):
        return NoClaim(NoClaimReason.BEYOND_CAPACITY, 0)
    return _claim_in_run(queue, run, item.trial, reviewer, now_ms, settles, item_id)


def _stops_here(session: Session, run: tables.Run, reviewer: str, now_ms: int) -> bool:
    """Return whether the run stops at the reviewer's capacity, the capacity is spent, and no item of it is claimed."""
    if not run_options(run).stops_at_capacity:
        return False
    from console.review.capacity import is_beyond_capacity  # numpy and scipy, which few claims need

    return not _holds_claim(session, run, reviewer, now_ms) and is_beyond_capacity(session, run, reviewer, now_ms)


def _holds_claim(session: Session, run: tables.Run, reviewer: str, now_ms: int, item_id: int | None = None) -> bool:
    """Return whether the reviewer has a valid claim on this item, or on any item of the run."""
    slot, item = tables.Slot, tables.Item
    held = select(slot.id).join(item, col(item.id) == slot.item_id).where(item.run_id == run.id)
    held = held.where(slot.reviewer == reviewer, slot.status == SlotStatus.CLAIMED, col(slot.lease_until_ms) > now_ms)
    return session.exec(held if item_id is None else held.where(slot.item_id == item_id)).first() is not None


def list_pending_trials(session: Session, run: tables.Run) -> list[int]:
    """List the trials of a run that have a pending or claimed item, in order."""
    return [trial for _run_id, trial in _list_pending(session, [run.id or 0])]


def _list_pending(session: Session, run_ids: Sequence[int]) -> list[tuple[int, int]]:
    """List the run and the trial of all pending or claimed items, each pair once, in order."""
    item = tables.Item
    statement = (
        select(item.run_id, item.trial)
        .where(col(item.run_id).in_(run_ids), col(item.status).in_(UNREVIEWED))
        .distinct()
        .order_by(col(item.run_id), col(item.trial))
    )
    return list(session.exec(statement))
