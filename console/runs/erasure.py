"""Erasure of a person or of old runs; a legal hold prevents it.

An erased person gets a pseudonym in the records that stay, so that figures, budgets and the audit chain stay correct.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, delete, exists, or_, update
from sqlmodel import Session, col, func, select

from console import runs
from console.auth import audit_log
from console.auth.people import disable, find_person, get_person, name_key
from console.errors import BadInput, Refused
from console.language import counted
from console.runs import maintenance
from storage import chain_pruning, tables
from storage.audit_chain import problems
from storage.run_counts import forget_reviewers
from storage.tables import RunKind

_RENAMED: tuple[tuple[Any, str], ...] = (
    (tables.Decision, "reviewer"),
    (tables.Slot, "reviewer"),
    (tables.LedgerEntry, "reviewer"),
    (tables.LineCorrection, "reviewer"),
    (tables.ItemReviewer, "assigned_by"),
    (tables.Note, "author"),
    (tables.Note, "addressee"),
    (tables.Adjudication, "adjudicator"),
    (tables.Policy, "author"),
    (tables.ReplacedPolicy, "author"),
    (tables.PlanVersion, "author"),
    (tables.AgentOwner, "owner"),
    (tables.Invitation, "invited_by"),
)
"""The columns that hold a person's name and stay, with the pseudonym instead of the name."""

_OWNED: dict[str, Any] = {
    "sessions": tables.PersonSession,
    "invitations": tables.Invitation,
    "notice channels": tables.NoticeChannel,
    "saved views": tables.SavedView,
    "group memberships": tables.GroupMember,
}
"""The tables whose rows belong to a person and go."""

_STAYS_BEHIND = "Backups, exported files and kept model replies stay. Delete them yourself."
_AUDIT_STAYS = "Logs of people, agents, studies and held runs stay. If links go, a checkpoint takes their place."
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Erasure:
    """The extent of an erasure: counts by kind, and a sentence for each kind of record that stays."""

    gone: dict[str, int]
    stays: tuple[str, ...]


def count_person(session: Session, name: str) -> Erasure:
    """Return what the erasure of a person would remove; raise Unknown if no record has this name."""
    known = find_person(session, name)
    written = known.name if known else name
    decisions = _count(session, tables.Decision, tables.Decision.reviewer == written)
    if not decisions:
        known = get_person(session, name)
    notes = _count(session, tables.Note, tables.Note.author == written)
    gone = {
        "drafts": _count(session, tables.Draft, tables.Draft.reviewer == written),
        "texts of notes": notes,
        "contents of events": _count(session, tables.Event, _names(written)),
    }
    for noun, table in _OWNED.items():
        gone[noun] = _count(session, table, table.person_id == (known.id if known else None))
    quoted = col(tables.Policy.text).contains(written, autoescape=True)
    named = _count(session, tables.Policy, quoted)
    stays = [
        f"Decisions with feedback ({decisions}) stay under a pseudonym, because figures and the audit log need them.",
        "The kind and the time of each event stay in the audit log.",
        _STAYS_BEHIND,
    ]
    if named:
        stays.insert(1, f"Policy versions that contain the name ({named}) stay, because checks refer to their text.")
    return Erasure(gone, tuple(stays))


def erase_person(session: Session, name: str, now_ms: int) -> str:
    """Erase a person, end their access, and return the pseudonym that replaces the name in the records that stay.

    Raise Unknown if no record has this name, and Refused if the person, or a run that they reviewed, is on hold.
    """
    count_person(session, name)
    person, pseudonym = find_person(session, name), f"erased-{secrets.token_hex(4)}"
    written = person.name if person else name
    _refuse_held_reviews(session, written)
    if person is not None:
        maintenance.refuse_held(person, "erased")
        disable(session, person, now_ms)
        _erase_account(session, person, pseudonym)
    event = tables.Event
    events = [found for found in session.exec(select(event.id).where(_names(written))) if found is not None]
    session.execute(delete(tables.Draft).where(col(tables.Draft.reviewer) == written))
    session.execute(delete(tables.ItemReviewer).where(col(tables.ItemReviewer.reviewer) == written))
    session.execute(update(tables.Note).where(col(tables.Note.author) == written).values(text=""))
    for table, column in _RENAMED:
        session.execute(update(table).where(getattr(table, column) == written).values({column: pseudonym}))
    _rename_in_lists(session, written, pseudonym)
    forget_reviewers(session.connection())
    audit_log.record(
        session, None, "person erased", now_ms, subject=pseudonym, detail={"events": len(events)}, erases=events
    )
    return pseudonym


def plan_runs(
    session: Session, run: str | None, older_than: str | None, now_ms: int
) -> tuple[list[tables.Run], Erasure]:
    """Return the run with this name, or all runs without activity for this long, with what their erasure removes.

    Raise Refused if the named run cannot be erased; an old run that cannot be erased stays, with the reason.
    """
    if run is not None:
        named = runs.get(session, run)
        maintenance.refuse_deletion(session, named)
        checked = [(named, "")]
    else:
        checked = [(one, _why_kept(session, one)) for one in _list_old(session, parse_age(older_than or "", now_ms))]
    going = [one for one, why in checked if not why]
    gone = {"runs": len(going)}
    for one in going:
        for noun, count in maintenance.count_records(session, one).items():
            gone[noun] = gone.get(noun, 0) + count
    return going, Erasure(gone, (*(why for _, why in checked if why), _STAYS_BEHIND))


def plan_audit(session: Session, older_than: str, now_ms: int) -> tuple[list[chain_pruning.Cut], Erasure]:
    """Return the parts of the runs' audit chains that were sealed this long ago, with what their erasure removes.

    The chains of runs on hold and of studies stay. Raise Refused if a person is on hold or the audit log has a problem.
    """
    before_ms, person, run = parse_age(older_than, now_ms), tables.Person, tables.Run
    held = session.exec(select(person.name).where(col(person.hold).is_not(None)).limit(1)).first()
    if held is not None:
        raise Refused(f"{held!r} is on legal hold, so no part of the audit log can be erased. Release the hold first.")
    if found := problems(session.connection()):
        raise Refused(f"The audit log has {counted(len(found), 'problem')}, so no part can be erased. {found[0]}")
    kept = session.exec(select(run.id).where(or_(col(run.hold).is_not(None), col(run.study_id).is_not(None)))).all()
    cuts = chain_pruning.plan_cuts(session.connection(), before_ms, {one or 0 for one in kept})
    gone = {"links of the audit log": sum(cut.links for cut in cuts), "events": sum(cut.events for cut in cuts)}
    return cuts, Erasure(gone, (_AUDIT_STAYS, _STAYS_BEHIND))


def prune_audit(session: Session, cuts: list[chain_pruning.Cut], older_than: str, now_ms: int) -> None:
    """Erase these parts of the runs' audit chains, and record the counts."""
    told = {"links": sum(cut.links for cut in cuts), "events": sum(cut.events for cut in cuts)}
    audit_log.record(session, None, "audit log pruned", now_ms, subject=older_than, detail=told)
    chain_pruning.prune(session.connection(), cuts)


def parse_age(text: str, now_ms: int) -> int:
    """Return the time this many days before now; raise BadInput if the text is not such as 90d."""
    days = text.strip().removesuffix("d").strip()
    if not days.isdecimal() or not 0 < int(days) <= 36_500:
        raise BadInput(f"{text!r} is not an age. Give whole days, for example 90d.")
    return now_ms - int(days) * _DAY_MS


def _list_old(session: Session, before_ms: int) -> list[tables.Run]:
    """Return the runs without an event, a trajectory or a decision since that time."""
    run, record, event, item, decision = tables.Run, tables.Trajectory, tables.Event, tables.Item, tables.Decision
    old = select(run).where(
        run.created_ms < before_ms,
        ~exists().where(col(record.run_id) == col(run.id), col(record.created_ms) >= before_ms),
        ~exists().where(col(event.run_id) == col(run.id), col(event.at_ms) >= before_ms),
        ~exists().where(
            col(item.run_id) == col(run.id),
            col(decision.item_id) == col(item.id),
            col(decision.decided_ms) >= before_ms,
        ),
    )
    return list(session.exec(old.order_by(run.name)))


def _why_kept(session: Session, run: tables.Run) -> str:
    if run.kind == RunKind.GATE:
        return f"{run.name!r} stays, because agents use its name. To erase the gate: inferact db erase --run NAME"
    try:
        maintenance.refuse_deletion(session, run)
    except Refused as refused:
        return str(refused)
    return ""


def _refuse_held_reviews(session: Session, reviewer: str) -> None:
    run, item, slot = tables.Run, tables.Item, tables.Slot
    held = select(run.name).join(item, col(item.run_id) == run.id).join(slot, col(slot.item_id) == item.id)
    found = session.exec(held.where(slot.reviewer == reviewer, col(run.hold).is_not(None)).limit(1)).first()
    if found is not None:
        raise Refused(f"This person reviewed {found!r}, which is on legal hold. Release the hold first.")


def _erase_account(session: Session, person: tables.Person, pseudonym: str) -> None:
    """Delete the person's own rows, and rename the person where a removed row would grant access to others."""
    for table in _OWNED.values():
        session.execute(delete(table).where(table.person_id == person.id))
    access = tables.RunAccess
    named = {"entry": pseudonym, "entry_key": name_key(pseudonym)}
    session.execute(update(access).where(col(access.entry_key) == person.name_key).values(named))
    person.name, person.name_key = pseudonym, name_key(pseudonym)
    session.add(person)
    session.flush()


def _rename_in_lists(session: Session, name: str, pseudonym: str) -> None:
    """Replace the name in the lists of the people who may decide an item or who gave a known answer."""
    for table, column in ((tables.Item, "terms"), (tables.SeededItem, "reviewers")):
        listed = getattr(table, column)
        for row in session.exec(select(table).where(listed.contains(_quoted(name), autoescape=True))).all():
            setattr(row, column, getattr(row, column).replace(_quoted(name), _quoted(pseudonym)))
            session.add(row)
    session.flush()


def _names(name: str) -> ColumnElement[bool]:
    """Return the condition for events by or about this person."""
    event = tables.Event
    within = (event.before, event.after, event.detail)
    return or_(
        col(event.actor) == name,
        col(event.subject) == name,
        *(col(column).contains(_quoted(name), autoescape=True) for column in within),
    )


def _quoted(name: str) -> str:
    return orjson.dumps(name).decode()


def _count(session: Session, table: Any, condition: Any) -> int:
    return int(session.exec(select(func.count()).select_from(table).where(condition)).one())
