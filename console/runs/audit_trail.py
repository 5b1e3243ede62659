"""The audit trail: events as a person reads them, one sentence each, chosen by run, kind and who; and as CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import orjson
from sqlalchemy import select
from sqlmodel import Session, col

from console.language import counted
from console.runs.export.formats import FORMATS, Column, ColumnKind
from storage import tables

_DOORS = {
    "browser": ", in the browser",
    "cli": ", by command",
    "api": ", over the API",
    "python": ", from Python",
    "import": ", by import",
}
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An event and the name of its run, empty where it belongs to none; before, after and detail are parsed JSON."""

    event_id: int
    at_ms: int
    run: str
    who: str
    kind: str
    subject: str
    door: str
    place: str
    before: Any
    after: Any
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which events: of one run, of one kind, by one person; None stands for all."""

    run: str | None = None
    kind: str | None = None
    who: str | None = None


def entries(session: Session, wanted: AuditFilter, limit: int | None = None) -> list[AuditEntry]:
    """The events, the newest first, at most `limit`."""
    event, run = tables.Event, tables.Run
    statement = select(event, col(run.name)).outerjoin(run, col(run.id) == col(event.run_id))
    chosen = ((run.name, wanted.run), (event.kind, wanted.kind), (event.actor, wanted.who))
    for column, value in chosen:
        if value is not None:
            statement = statement.where(col(column) == value)
    found = session.execute(statement.order_by(col(event.id).desc()).limit(limit)).all()
    return [_entry(row, name or "") for row, name in found]


def choices(session: Session) -> tuple[list[str], list[str], list[str]]:
    """(runs, kinds, people) that have events, each in order."""
    event, run = tables.Event, tables.Run
    # A participant's run stands in no list of runs.
    listed = col(run.id).in_(select(col(event.run_id))) & col(run.study_id).is_(None)
    names = select(col(run.name)).where(listed).order_by(col(run.name))
    kinds, people = select(col(event.kind)).distinct(), select(col(event.actor)).distinct()
    of_runs = list(session.execute(names).scalars())
    return of_runs, sorted(session.execute(kinds).scalars()), sorted(session.execute(people).scalars())


def sentence(entry: AuditEntry) -> str:
    """The event in one sentence: who did what to what, from what to what, through which door."""
    words = _WORDS.get(entry.kind, _plain)(entry)
    if len(words) > _LONGEST:
        words = f"{words[: _LONGEST - 1]}…"
    return f"{words}{_DOORS.get(entry.door, '')}."


def as_csv(found: list[AuditEntry]) -> bytes:
    """The events as CSV that a spreadsheet opens without running any cell."""
    columns = [Column("event_id", ColumnKind.INTEGER), Column("at", ColumnKind.TIME)]
    columns += [Column(name) for name in ("run", "who", "kind", "subject", "door", "where")]
    columns += [Column(name, ColumnKind.JSON) for name in ("before", "after", "detail")] + [Column("sentence")]
    rows = [
        (one.event_id, one.at_ms, one.run, one.who, one.kind, one.subject, one.door, one.place,
         _json(one.before), _json(one.after), _json(one.detail), sentence(one))
        for one in found
    ]  # fmt: skip
    stream = BytesIO()
    FORMATS["csv"].write(columns, [rows], stream)
    return stream.getvalue()


def _entry(row: tables.Event, run: str) -> AuditEntry:
    before, after = (None if text is None else orjson.loads(text) for text in (row.before, row.after))
    detail = orjson.loads(row.detail)
    return AuditEntry(
        row.id or 0, row.at_ms, run, row.actor, row.kind, row.subject, row.door, row.place, before, after, detail
    )


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "nothing"
    if isinstance(value, dict):
        parts = (f"no {name}" if part is None else f"{name} {_value(part)}" for name, part in value.items())
        return ", ".join(parts) or "nothing"
    return "nothing" if value is None else str(value)


def _detail(one: AuditEntry, name: str) -> str:
    return _value(one.detail.get(name))


def _number(one: AuditEntry, name: str, noun: str) -> str:
    return counted(one.detail.get(name) or 0, noun)


def _change(one: AuditEntry) -> str:
    if one.before == one.after:
        return "as before"
    return f"to {_value(one.after)}" if one.before is None else f"from {_value(one.before)} to {_value(one.after)}"


def _withdrawn(one: AuditEntry) -> str:
    count = len(one.detail.get("withdrawn") or ())
    return f"; {counted(count, 'item')} left the queue" if count else ""


def _written(one: AuditEntry) -> str:
    author = one.detail.get("author", one.who)
    return "" if author == one.who else f", said to be written by {author}"


def _counts(value: Any) -> str:
    return ", ".join(f"{count} {name}" for name, count in (value or {}).items())


def _plain(one: AuditEntry) -> str:
    about = " of ".join(part for part in (one.subject, one.run) if part)
    return f"{one.who}: {one.kind.removeprefix(f'{one.who}: ')}{f' ({about})' if about else ''}"


def _withdrew(one: AuditEntry) -> str:
    """A participant's own pseudonym is W and six letters; before there was one, the study stood for them."""
    if one.who == "study":
        return f"A participant withdrew from the study {one.subject}"
    if re.fullmatch(r"W[A-Z0-9]{6}", one.who) and one.door == "browser":
        return f"The participant now called {one.who} withdrew from the study {one.subject}"
    return f"{one.who} took a participant out of the study {one.subject}"


_WORDS: Mapping[str, Callable[[AuditEntry], str]] = {
    "run created": lambda one: f"{one.who} made the run {one.run}",
    "critical actions set": lambda one: (
        f"{one.who} set the critical actions of {one.run} {_change(one)}{_withdrawn(one)}"
    ),
    "reasons set": lambda one: f"{one.who} set the reasons of {one.run} {_change(one)}",
    "budget set": lambda one: f"{one.who} set the budget of {one.run} {_change(one)}",
    "policy set": lambda one: (
        f"{one.who} set the policy of {one.run or 'every run'}, version {_value(one.after)}{_written(one)}"
    ),
    "judged": lambda one: (
        f"{one.who} asked {_value(one.detail.get('detectors'))} to judge {one.run}; settings {_change(one)}"
    ),
    "detector recalibrated": lambda one: f"{one.who} recalibrated {_detail(one, 'detector')} on {one.run}",
    "run renamed": lambda one: f"{one.who} renamed the run {_value(one.before)} to {_value(one.after)}",
    "run tagged": lambda one: f"{one.who} set the tags of {one.run} {_change(one)}",
    "run archived": lambda one: f"{one.who} archived the run {one.run}",
    "run brought back": lambda one: f"{one.who} brought the run {one.run} back into the lists",
    "run deleted": lambda one: f"{one.who} deleted the run {one.subject} with {_counts(one.before)}",
    "import undone": lambda one: (
        f"{one.who} undid the import of {one.subject} into {one.run}: {_number(one, 'trajectories', 'trajectory')} gone"
    ),
    "trajectories moved": lambda one: (
        f"{one.who} moved {_number(one, 'trajectories', 'trajectory')} of {one.run} to {_detail(one, 'to')}"
    ),
    "imported": lambda one: (
        f"{one.who} imported {_number(one, 'imported', 'trajectory')} of {one.subject} into {one.run}"
    ),
    "exported": lambda one: f"{one.who} exported the {one.subject}{f' of {one.run}' if one.run else ''}",
    "study exported": lambda one: (
        f"{one.who} exported {one.detail.get('what', 'the results')} of the study {one.subject}"
    ),
    "label settled": lambda one: f"{one.who} settled the label of {one.subject} {_change(one)}",
    "next trial": lambda one: f"{one.who} began the next trial of {_number(one, 'tasks', 'task')} of {one.run}",
    "released": lambda one: f"{one.who} let {_number(one, 'trajectories', 'undecided action')} of {one.run} run",
    "study invitations": lambda one: f"{one.who} made {counted(one.after or 0, 'link')} to the study {one.subject}",
    "study created": lambda one: f"{one.who} made the study {one.subject}",
    "study open": lambda one: f"{one.who} opened the study {one.subject}",
    "study paused": lambda one: f"{one.who} paused the study {one.subject}",
    "study closed": lambda one: f"{one.who} closed the study {one.subject}",
    "participant withdrew": lambda one: _withdrew(one),
    "content erased": lambda one: f"The content of {_number(one, 'events', 'event')} was erased, as a consent asks",
    "signed in": lambda one: (
        f"{one.who} signed in" + (f" by {_detail(one, 'issuer')}" if "issuer" in one.detail else "")
    ),
    "sign-in refused": lambda one: (
        f"{one.subject or 'Somebody'} was refused at the sign-in by an organisation: "
        f"{_detail(one, 'reason').rstrip('.')}"
    ),
    "signed out": lambda one: f"{one.who} signed out",
    "session ended": lambda one: f"{one.who} ended a session of {one.subject}",
    "person added": lambda one: f"{one.who} added {one.subject} as a reviewer",
    "person invited": lambda one: f"{one.who} invited {one.subject or 'whoever opens the link first'}",
    "person disabled": lambda one: f"{one.who} disabled {one.subject}",
    "agent added": lambda one: f"{one.who} gave the agent {one.subject} a token",
    "agent disabled": lambda one: f"{one.who} disabled the agent {one.subject}",
    "database backed up": lambda one: f"{one.who} began to back the database up to {one.subject}",
    "backup failed": lambda one: f"{one.who} got no backup of the database at {one.subject}",
    "database restored": lambda one: f"{one.who} restored the database from {one.subject}",
}
