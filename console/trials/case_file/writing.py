"""The page of a case file, the audit event that records its digest, and the check of a written file."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import jinja2
from sqlmodel import Session, col, select

from console import runs
from console.auth import audit_log
from console.auth.audit_log import By
from console.errors import UnreadableFile
from console.runs.export import atomic_file
from console.trials.case_file.contents import gather
from storage import tables
from storage.chain_copy import ChainCopy, check_copy, find_place
from storage.engine import writing

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
