"""Access to runs: the people and groups who may review a run, and the person to whom an item is assigned.

A run without entries is open to every reviewer. Entries restrict reviews only: researchers still see the run.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, String, bindparam, literal
from sqlmodel import Session, col, delete, or_, select

from console.auth import audit_log, groups, people
from console.auth.people import name_key
from console.errors import BadInput, Refused, Unknown
from console.language import _
from console.review.terms import GROUP
from console.runs import run_options
from storage import tables
from storage.tables import UNREVIEWED

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


def list_reviewable_runs(session: Session, reviewer: str) -> list[tables.Run]:
    """List the runs that this person may review, by id; runs of studies and archived runs are excluded.

    Runs of answers to rate have a page of their own and are excluded as well.
    """
    found = session.exec(_REVIEWABLE, params={"person": name_key(reviewer)})
    return [row for row in found if not run_options(row).rates_answers]


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
    assigned = session.get(tables.ItemReviewer, item_id)
    return assigned.reviewer if assigned else None


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
    if not groups.list_members(session, group):
        raise BadInput(f"Group {group!r} has no members. Add people to the group first, then name it here.")
    return entry
