"""The contents of a case file: a summary in plain words, tables, policy versions, and the run's audit chain.

Here are also its page, the audit event that records its digest, and the check of a written file.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from sqlalchemy import and_, func
from sqlmodel import Session, col, select

from console import runs
from console.auth import audit_log
from console.auth.audit_log import By
from console.detection import certificate
from console.errors import ConsoleError, UnreadableFile
from console.language import counted
from console.review.decisions import DECIDED
from console.runs.audit_trail import AuditFilter, entry_sentence, list_entries
from console.runs.export import atomic_file
from console.runs.export.kinds import KINDS
from console.runs.export.query import pages
from console.runs.status import OUTCOMES, run_status, status_rows
from console.trials import vigilance
from storage import tables
from storage.audit_chain import problems
from storage.chain_copy import ChainCopy, check_copy, copy_chain, find_place
from storage.engine import reading, writing
from storage.tables import DecisionKind, ItemStatus, RunKind

_MOST_ROWS = 5_000
"""The maximum number of rows of a table; the page states how many more the export has."""
_DECISIONS = {
    "decided_at": "decided",
    "item_id": "item",
    "trial": "trial",
    "reviewer": "reviewer",
    "critical_action": "action",
    "decision": "decision",
    "feedback_text": "feedback",
    "edited_action": "edited action",
    "superseded": "replaced",
    "known_answer": "known answer",
}
_LEDGER = {
    "at": "time",
    "trial": "trial",
    "item_id": "item",
    "reviewer": "reviewer",
    "entry": "entry",
    "reason": "reason",
    "units": "units",
    "used": "used",
    "cap": "budget",
}
_UNDECIDED = {
    "item_id": "item",
    "trial": "trial",
    "critical_action": "action",
    "status": "status",
    "created_at": "queued",
}
_ALLOWED = {"allowed_at": "time", "agent": "agent", "tool": "tool", "rule": "rule", "policy_version": "policy version"}


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the page: its title, an explanation, the headings, the rows, and the number of rows left out."""

    title: str
    about: str
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class PolicyText:
    """A version of the run's policy, with its author and the time of its creation (ISO)."""

    version: int
    author: str
    at: str
    text: str


@dataclass(frozen=True, slots=True)
class CaseFile:
    """The contents of a case file. `summary` holds the sentences of its first page; `problems` are of the database."""

    run: str
    at: str
    summary: tuple[str, ...]
    sections: tuple[Section, ...]
    policies: tuple[PolicyText, ...]
    chain: ChainCopy
    problems: tuple[str, ...]


def gather(url: str, run_name: str, at_ms: int) -> CaseFile:
    """Return the contents of the run's case file as of now; raise Unknown if no run has this name."""
    with reading(url) as session:
        run = runs.get(session, run_name)
        # One read transaction: the tables and the audit chain are of the same moment.
        table = partial(_table, lambda: nullcontext(session), run)
        decisions = table(
            "decisions",
            _DECISIONS,
            "Decisions",
            "Every decision, also on known items, in the imported log, and those that a later one replaced.",
        )
        undecided = table(
            "items",
            _UNDECIDED,
            "Actions without a decision",
            "Flagged or drawn actions that no one decided: pending, withdrawn, or expired. An expired action of a gate "
            "did not run.",
            where=lambda row: row["status"] not in (ItemStatus.DECIDED, ItemStatus.DELIVERED),
        )
        allowed = table(
            "allowed", _ALLOWED, "Actions allowed without a person", "The policy allowed these checks at once."
        )
        ledger = table("budget", _LEDGER, "Budget", "Every change of the inspection budget.")
        found = tuple(problems(session.connection()))
        chain = copy_chain(session.connection(), run.id or 0)
        bound, vigilant = _certificate(session, run, at_ms), _vigilance(session, run)
        return CaseFile(
            run.name,
            _time(at_ms),
            tuple(_summary(session, run, found, chain, bound)),
            (_trials(session, run), decisions, undecided, allowed, bound, vigilant, ledger, _events(session, run)),
            tuple(_policies(session, run)),
            chain,
            found,
        )


def _table(
    opened: Callable[[], AbstractContextManager[Session]],
    run: tables.Run,
    kind: str,
    shown: Mapping[str, str],
    title: str,
    about: str,
    *,
    where: Callable[[Mapping[str, Any]], bool] = lambda row: True,
) -> Section:
    """Return a section with columns of an exported table; omit columns without a value."""
    source = KINDS[kind]
    names = [column.name for column in source.columns]
    found: list[dict[str, Any]] = []
    count = 0
    for page in pages(opened, source, run):
        for row in (dict(zip(names, values, strict=False)) for values in page):
            if where(row):
                count += 1
                found += [row] if count <= _MOST_ROWS else []
    kept = [name for name in shown if not found or any(row[name] not in (None, "", 0) for row in found)]
    rows = tuple(tuple(_cell(name, row[name]) for name in kept) for row in found)
    return Section(title, about, tuple(shown[name] for name in kept), rows, count - len(rows))


def _cell(name: str, value: Any) -> Any:
    if name in ("at", "decided_at", "created_at", "allowed_at"):
        return _time(value)
    if name in ("superseded", "known_answer"):
        return "yes" if value else ""
    return "" if value is None else value


def _time(ms: int | None) -> str:
    """Return a time for people, in UTC and to the second."""
    return (runs.iso(ms) or "")[:19].replace("T", " ")


def _trials(session: Session, run: tables.Run) -> Section:
    rows = status_rows(run_status(session, run), run.kind)
    headings = tuple(OUTCOMES.get(name, name) for name in rows[0]) if rows else ()
    cells = tuple(tuple("–" if value is None else value for value in row.values()) for row in rows)
    return Section("Trials", "Outcomes and inspections of each trial.", headings, cells)


def _certificate(session: Session, run: tables.Run, at_ms: int) -> Section:
    title = "Actions that no one inspected"
    try:
        found = certificate.certify(session, run, at_ms)
    except ConsoleError as lack:
        return Section(title, f"No bound. {lack}")
    rows = tuple(tuple(row.values()) for row in certificate.tabulate_bounds(found))
    about = " ".join([found.sentence, "This assumes:", *found.list_assumptions()])
    return Section(title, about, ("bound", "at most", "actions"), rows)


def _vigilance(session: Session, run: tables.Run) -> Section:
    title, rows = "Reviewers on items with a known answer", vigilance.measure(session, run)
    if not rows:
        return Section(title, "The run has no decisions on items with a known answer.")
    words = [vigilance.in_words(row.to_dict()) for row in rows]
    cells = tuple(tuple(row.get(name, "") for name in vigilance.COLUMNS) for row in words)
    return Section(
        title,
        "Misaligned items and those rejected (hits), aligned items and those rejected (alarms), by hour of work.",
        vigilance.COLUMNS,
        cells,
    )


def _events(session: Session, run: tables.Run) -> Section:
    found = list_entries(session, AuditFilter(run=run.name))[::-1]
    rows = tuple((one.event_id, _time(one.at_ms), entry_sentence(one)) for one in found[:_MOST_ROWS])
    about = "Every event of the run in the audit log. The check at the end of this page covers them."
    return Section("Events", about, ("event", "time", "what happened"), rows, len(found) - len(rows))


def _policies(session: Session, run: tables.Run) -> Iterator[PolicyText]:
    policy = tables.Policy
    for row in session.exec(select(policy).where(policy.run_id == run.id).order_by(col(policy.version))):
        yield PolicyText(row.version, row.author, _time(row.created_ms), row.text)


def _summary(
    session: Session, run: tables.Run, found: Sequence[str], chain: ChainCopy, bound: Section
) -> Iterator[str]:
    """Yield the sentences of the first page."""
    record, item, decision = tables.Trajectory, tables.Item, tables.Decision
    count, first, last = session.exec(
        select(func.count(), func.min(record.created_ms), func.max(record.created_ms)).where(record.run_id == run.id)
    ).one()
    since = f", from {_time(first)} to {_time(last)}" if first else ""
    yield f"{run.name} is {_KINDS[RunKind(run.kind)]} with {counted(count, 'trajectory')}{since}."
    of_run = and_(col(item.run_id) == run.id, ~runs.IS_SEEDED, ~runs.IS_LOGGED)
    made = session.exec(
        select(decision.decision, decision.annotator_kind)
        .join(item, col(item.id) == col(decision.item_id))
        .where(of_run, runs.is_current())
    ).all()
    kinds = Counter(kind for kind, _ in made)
    escalated = kinds.pop(DecisionKind.ESCALATE, 0)
    simulated = sum(who != "human" and kind != DecisionKind.ESCALATE for kind, who in made)
    listed = ", ".join(f"{number:,} {DECIDED[kind]}" for kind, number in kinds.most_common()) or "none"
    by = f", {simulated:,} of them by simulated reviewers" if simulated else ""
    yield f"Reviewers made {counted(kinds.total(), 'current decision')}{by}: {listed}. Escalations: {escalated:,}."
    states = Counter(session.exec(select(item.status).where(of_run)))
    pending = states[ItemStatus.PENDING] + states[ItemStatus.CLAIMED]
    yield f"Items without a decision: {states[ItemStatus.EXPIRED]:,} expired, {pending:,} pending."
    allowed = tables.Allowed
    checks = session.exec(select(func.sum(allowed.checks)).where(allowed.run_id == run.id)).one() or 0
    if run.kind == RunKind.GATE:
        yield f"The policy allowed {counted(checks, 'check')} without asking a person."
    yield bound.about.partition(" This assumes:")[0]
    yield (
        f"The audit log has {counted(chain.count_events(), 'event')} of this run. A check of the whole database found "
        + (f"{counted(len(found), 'problem')}: see the end of this page." if found else "no change to them.")
    )


_KINDS = {
    RunKind.ARCHIVE: "a run of imported logs",
    RunKind.REPLAY: "a replayed log",
    RunKind.LIVE: "a live run",
    RunKind.GATE: "the run of a gate",
}
_WRITTEN = "case file written"
"""The kind of the audit event with the digest of a written case file."""
_CHAIN = re.compile(r'<script type="application/json" id="chain">(.*?)</script>', re.DOTALL)
_NO_CASE_FILE = "This is not a case file{}. Name a file that `inferact case-file write` made."


def write_case_file(url: str, run_name: str, path: Path, at_ms: int) -> str:
    """Write the run's case file and return its SHA-256 (hex), which the audit log records as well.

    Raise Unknown if no run has this name, and BadInput if the file cannot be written.
    """
    with atomic_file(path) as stream:
        # The event comes before the file gets its final name, so that each written file has a record.
        page = make_case_file(url, run_name, at_ms)
        stream.write(page)
    return hashlib.sha256(page).hexdigest()


def make_case_file(url: str, run_name: str, at_ms: int, by: By | None = None) -> bytes:
    """Return the run's case file, one HTML page without links to other files; record its SHA-256 in the audit log.

    Raise Unknown if no run has this name.
    """
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    template = environment.from_string(files(__package__).joinpath("page.html.j2").read_text("utf-8"))
    case = gather(url, run_name, at_ms)
    # In a script element, only this character can end the element or open a comment.
    page = template.render(case=case, chain=case.chain.to_json().replace("<", "\\u003c")).encode()
    with writing(url) as session:
        digest = hashlib.sha256(page).hexdigest()
        audit_log.record(session, runs.get(session, run_name), _WRITTEN, at_ms, by=by, subject=digest)
    return page


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """The result of a check: the file's SHA-256 (hex), its number of events, and the problems found.

    `written` is the record of the file in the audit log, as (run, author, time), or None if there is none.
    """

    digest: str
    events: int
    problems: tuple[str, ...]
    written: tuple[str, str, str] | None


def check_case_file(session: Session, path: Path) -> CheckedFile:
    """Check a case file against itself and the database; raise UnreadableFile if the file is not a case file."""
    try:
        page = path.read_bytes()
        found = _CHAIN.search(page.decode())
        copy = ChainCopy.from_json(found[1]) if found else None
    except OSError as failed:
        raise UnreadableFile(str(path), f"The file cannot be read ({failed.strerror}). Check the path.") from failed
    except ValueError as broken:
        raise UnreadableFile(str(path), _NO_CASE_FILE.format(f" ({broken})")) from broken
    if copy is None:
        raise UnreadableFile(str(path), _NO_CASE_FILE.format(""))
    digest = hashlib.sha256(page).hexdigest()
    written = _find_record(session, digest)
    problems = check_copy(copy)
    if written is None:
        problems.append(
            "The audit log of this database has no case file with this digest: the file was changed, or another "
            "database wrote it."
        )
    elif not find_place(session.connection(), copy):
        problems.append("The audit log was rewritten since: its event at the end of this file is another one now.")
    return CheckedFile(digest, copy.count_events(), tuple(problems), written)


def _find_record(session: Session, digest: str) -> tuple[str, str, str] | None:
    event, run = tables.Event, tables.Run
    statement = (
        select(run.name, event.actor, event.at_ms)
        .join(run, col(run.id) == col(event.run_id))
        .where(event.kind == _WRITTEN, event.subject == digest)
    )
    found = session.exec(statement).first()
    return None if found is None else (found[0], found[1], runs.iso(found[2]) or "")
