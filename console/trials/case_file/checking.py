"""The check of a case file: its own audit chain, and its record in the database."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from sqlmodel import Session, col, select

from console import runs
from console.errors import UnreadableFile
from console.trials.case_file.writing import WRITTEN
from storage import tables
from storage.chain_copy import ChainCopy, check_copy, find_place

_CHAIN = re.compile(r'<script type="application/json" id="chain">(.*?)</script>', re.DOTALL)


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


_NO_CASE_FILE = "This is not a case file{}. Name a file that `inferact case-file write` made."


def _find_record(session: Session, digest: str) -> tuple[str, str, str] | None:
    event, run = tables.Event, tables.Run
    statement = (
        select(run.name, event.actor, event.at_ms)
        .join(run, col(run.id) == col(event.run_id))
        .where(event.kind == WRITTEN, event.subject == digest)
    )
    found = session.exec(statement).first()
    return None if found is None else (found[0], found[1], runs.iso(found[2]) or "")
