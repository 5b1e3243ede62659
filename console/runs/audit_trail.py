"""The audit trail: audit events as sentences or CSV, filtered by run, kind and person."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from io import BytesIO
from operator import attrgetter
from typing import Any

import orjson
from sqlalchemy import ColumnElement, func, select
from sqlmodel import Session, col

from console.language import counted, list_counts
from console.runs.export.formats import FORMATS, Column, ColumnKind
from console.trajectory import Outcome
from console.trajectory.strict_yaml import read_data
from storage import tables

_DOORS = {
    "browser": ", in the browser",
    "cli": ", on the command line",
    "api": ", over the API",
    "python": ", from Python",
    "import": ", by import",
}
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An event with the name of its run (empty if it has no run); `before`, `after` and `detail` are parsed JSON."""

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
    """A filter for events by run, kind and person; a field with the value None matches every event."""

    run: str | None = None
    kind: str | None = None
    who: str | None = None


def list_entries(session: Session, wanted: AuditFilter, limit: int | None = None) -> list[AuditEntry]:
    """Return the matching events, newest first, at most `limit`."""
    event, run = tables.Event, tables.Run
    statement = select(event, col(run.name)).outerjoin(run, col(run.id) == col(event.run_id)).where(*_matches(wanted))
    found = session.execute(statement.order_by(col(event.id).desc()).limit(limit)).all()
    return [_entry(row, name or "") for row, name in found]


def count_entries(session: Session, wanted: AuditFilter) -> int:
    """Return the number of matching events."""
    event, run = tables.Event, tables.Run
    joined = select(func.count(col(event.id))).outerjoin(run, col(run.id) == col(event.run_id))
    return int(session.execute(joined.where(*_matches(wanted))).scalar_one())


def _matches(wanted: AuditFilter) -> list[ColumnElement[bool]]:
    event, run = tables.Event, tables.Run
    chosen = ((run.name, wanted.run), (event.kind, wanted.kind), (event.actor, wanted.who))
    return [col(column) == value for column, value in chosen if value is not None]


def list_choices(session: Session) -> tuple[list[str], list[str], list[str]]:
    """Return the (runs, kinds, people) of the events, each list sorted."""
    event, run = tables.Event, tables.Run
    # No list of runs contains a participant's run.
    listed = col(run.id).in_(select(col(event.run_id))) & col(run.study_id).is_(None)
    names = select(col(run.name)).where(listed).order_by(col(run.name))
    kinds, people = select(col(event.kind)).distinct(), select(col(event.actor)).distinct()
    of_runs = list(session.execute(names).scalars())
    return of_runs, sorted(session.execute(kinds).scalars()), sorted(session.execute(people).scalars())


def entry_sentence(entry: AuditEntry) -> str:
    """Return the event as one sentence with the actor, the action, the change and the entry point."""
    template = _SENTENCES.get(entry.kind)
    words = template.format_map(_Fields(entry)) if template else _plain(entry)
    shown = words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
    return f"{shown}{_DOORS.get(entry.door, '')}."


def as_csv(found: list[AuditEntry]) -> bytes:
    """Return the events as CSV; escape cells that a spreadsheet would run as formulas."""
    columns = [Column("event_id", ColumnKind.INTEGER), Column("at", ColumnKind.TIME)]
    columns += [Column(name) for name in ("run", "who", "kind", "subject", "door", "where")]
    columns += [Column(name, ColumnKind.JSON) for name in ("before", "after", "detail")] + [Column("sentence")]
    plain = attrgetter("event_id", "at_ms", "run", "who", "kind", "subject", "door", "place")
    texts = [map(bytes.decode, map(orjson.dumps, (one.before, one.after, one.detail))) for one in found]
    rows = [(*plain(one), *text, entry_sentence(one)) for one, text in zip(found, texts, strict=True)]
    stream = BytesIO()
    FORMATS["csv"].write(columns, [rows], stream)
    return stream.getvalue()


def _entry(row: tables.Event, run: str) -> AuditEntry:
    before, after = (None if text is None else orjson.loads(text) for text in (row.before, row.after))
    detail = orjson.loads(row.detail)
    return AuditEntry(
        row.id or 0, row.at_ms, run, row.actor, row.kind, row.subject, row.door, row.place, before, after, detail
    )


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "nothing"
    if isinstance(value, dict):
        parts = (f"no {name}" if part is None else f"{name} {_value(part)}" for name, part in value.items())
        return ", ".join(parts) or "nothing"
    return "nothing" if value is None else str(value)


def _counter(name: str, noun: str) -> Callable[[AuditEntry], str]:
    return lambda one: counted(one.detail.get(name) or 0, noun)


def _change(one: AuditEntry) -> str:
    if one.before == one.after:
        return "as before"
    return f"to {_value(one.after)}" if one.before is None else f"from {_value(one.before)} to {_value(one.after)}"


def _withdrawn_items(one: AuditEntry) -> str:
    count = len(one.detail.get("withdrawn") or ())
    return f"; {counted(count, 'item')} left the queue" if count else ""


def _named_author(one: AuditEntry) -> str:
    author = one.detail.get("author", one.who)
    return "" if author == one.who else f", said to be written by {author}"


def _withdrawal(one: AuditEntry) -> str:
    """Return the sentence on a withdrawal; name a withdrawn participant by a pseudonym (W and six characters)."""
    if re.fullmatch(r"W[A-Z0-9]{6}", one.who) and one.door == "browser":
        return f"The participant now called {one.who} withdrew from the study “{one.subject}”"
    whom = "simulated participant" if one.detail.get("simulated") else "participant"
    return f"{one.who} removed a {whom} from the study “{one.subject}”"


def _plain(one: AuditEntry) -> str:
    about = " of ".join(filter(None, (one.subject, one.run and f"“{one.run}”")))
    return f"{one.who}: {one.kind.removeprefix(f'{one.who}: ')}{f' ({about})' if about else ''}"


class _Fields(dict[str, str]):
    """The fields of an entry's sentence, each computed only if the sentence needs the field."""

    def __init__(self, one: AuditEntry) -> None:
        super().__init__(who=one.who, run=f"“{one.run}”", subject=f"“{one.subject}”", about=one.subject)
        self._entry = one

    def __missing__(self, name: str) -> str:
        return _FIELDS[name](self._entry)


_FIELDS: Mapping[str, Callable[[AuditEntry], str]] = {
    "change": _change,
    "before": lambda one: _value(one.before),
    "after": lambda one: _value(one.after),
    "counts": lambda one: list_counts(one.before or {}),
    "withdrawn": _withdrawn_items,
    "withdrawal": _withdrawal,
    "author": _named_author,
    "any_run": lambda one: f"“{one.run}”" if one.run else "every run",
    "of_run": lambda one: f" of “{one.run}”" if one.run else "",
    "file": lambda one: re.sub("^file (.+)", r"file “\1”", one.subject),
    "messages": lambda one: counted(one.after or 0, "undelivered message"),
    "links": lambda one: counted(one.after or 0, "link"),
    "issuer": lambda one: f" by {_value(one.detail['issuer'])}" if "issuer" in one.detail else "",
    "reason": lambda one: _value(one.detail.get("reason")).rstrip("."),
    "refused": lambda one: one.subject or "A person",
    "invited": lambda one: f"“{one.subject}”" if one.subject else "the first person who opens the link",
    "detector": lambda one: _value(one.detail.get("detector")),
    "detectors": lambda one: _value(one.detail.get("detectors")),
    "to": lambda one: f"“{_value(one.detail.get('to'))}”",
    "what": lambda one: re.sub("^(?!the )(.+)", r"“\1”", str(one.detail.get("what", "the results"))),
    "trajectories": _counter("trajectories", "trajectory"),
    "imported": _counter("imported", "trajectory"),
    "tasks": _counter("tasks", "task"),
    "actions": _counter("trajectories", "undecided action"),
    "events": _counter("events", "event"),
}

_SENTENCES: Mapping[str, str] = {
    **read_data(files(__package__) / "audit_sentences.yaml", dict[str, str]),
    **{f"trial {outcome}": f"{{about}} of {{run}} ended as {outcome}: {{reason}}" for outcome in Outcome},
}
