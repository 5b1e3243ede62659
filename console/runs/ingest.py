"""Ingest: a log file into a run, all or nothing: it is read whole first; then one short transaction inserts it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

import orjson
from sqlalchemy import bindparam, select
from sqlmodel import Session, col

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.environments import environment
from console.errors import BadInput, UnreadableFile
from console.runs import audit_log, text_index
from console.runs.importers import IMPORTERS, read_log
from console.runs.importers.records import Duplicate, Found, Skipped
from console.runs.trajectory_rows import Prepared, insert_rows, prepare
from storage import tables

_BATCH = 1_000
_IN_MEMORY = 64 * 2**20
_TOO_DEEP = "the JSON is nested too deeply; flatten it, or leave out what no reviewer would read"


@dataclass(slots=True)
class FileReport:
    """What became of one file: every record read is imported, a duplicate, skipped, or names its reason."""

    path: str
    format: str = ""
    read: int = 0
    imported: int = 0
    duplicates: int = 0
    skipped: int = 0
    rejected: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    environments: set[str] = field(default_factory=set)

    def to_dict(self) -> dict[str, Any]:
        """The shape that `trajectory import --json` prints per file."""
        return {
            "path": self.path,
            "format": self.format,
            "read": self.read,
            "imported": self.imported,
            "duplicates": self.duplicates,
            "skipped": self.skipped,
            "rejected": self.rejected,
        }


@dataclass(slots=True)
class Spool:
    """A file that was read to its end without a fault, waiting for one short write transaction."""

    report: FileReport
    lines: IO[bytes]

    def close(self) -> None:
        """Drops the temporary file."""
        self.lines.close()


def read_file(
    path: Path,
    format: str = "auto",
    patterns: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> Spool:
    """The whole file, read and checked, on a temporary file; raises UnreadableFile and leaves nothing behind.

    `patterns` are the run's own critical patterns; those of each record's environment count beside them.
    """
    report = FileReport(path=str(path))
    report.format, records = read_log(path, format, progress)
    lines = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (the spool owns it until the transaction has run)
    try:
        for record in records:
            report.read += 1
            _spool(record, report, lines, patterns)
    except orjson.JSONEncodeError as deep:
        lines.close()
        raise UnreadableFile(str(path), _TOO_DEEP) from deep
    except BaseException:
        lines.close()
        raise
    lines.seek(0)
    return Spool(report, lines)


def store(session: Session, run: tables.Run, spool: Spool, now_ms: int) -> FileReport:
    """Inserts what the run does not hold yet; a record known by its content is a duplicate."""
    widen_critical(session, run, spool.report.environments)
    known: set[str] = set()
    made = tables.LogImport(run_id=run.id or 0, file=Path(spool.report.path).name, created_ms=now_ms)
    session.add(made)
    session.flush()
    for batch in _batches(spool.lines):
        imported = insert_fresh(session, run, batch, known, now_ms, made.id)
        spool.report.imported += imported
        spool.report.duplicates += len(batch) - imported
    made.imported = spool.report.imported
    session.add(made)
    return spool.report


def insert_fresh(
    session: Session,
    run: tables.Run,
    batch: Sequence[Prepared],
    known: set[str],
    now_ms: int,
    import_id: int | None = None,
) -> int:
    """Inserts those of the batch that the run does not hold by content; returns how many. `known` grows by them."""
    fresh = _unknown(session, run, batch, known)
    insert_rows(session, run, fresh, now_ms, import_id)
    return len(fresh)


def _spool(record: Found | Skipped | Duplicate, report: FileReport, lines: IO[bytes], patterns: Sequence[str]) -> None:
    if isinstance(record, Found):
        name = record.trajectory.environment
        report.environments.add(name)
        try:
            ready = prepare(record.trajectory, (*patterns, *environment(name).critical))
        except orjson.JSONEncodeError as deep:
            raise UnreadableFile(report.path, _TOO_DEEP, record.line) from deep
        lines.write(orjson.dumps([ready.task, ready.row]) + b"\n" + ready.body.encode() + b"\n")
        return
    report.notes.append({"line": record.line, "reason": record.reason})
    if isinstance(record, Duplicate):
        report.duplicates += 1
    else:
        report.skipped += 1


def _batches(lines: Iterable[bytes]) -> Iterator[list[Prepared]]:
    stream = iter(lines)
    while pairs := list(islice(zip(stream, stream, strict=True), _BATCH)):
        yield [_prepared(head, body) for head, body in pairs]


def _prepared(head: bytes, body: bytes) -> Prepared:
    task, row = orjson.loads(head)
    return Prepared(task, row, body[:-1].decode())


def _unknown(session: Session, run: tables.Run, batch: Sequence[Prepared], known: set[str]) -> list[Prepared]:
    record = tables.Trajectory
    digests = [one.row["digest"] for one in batch]
    # One parameter for all digests: a thousand would each be looked at by SQLAlchemy before they are sent.
    among = col(record.digest).in_(bindparam("digests", expanding=True))
    statement = select(col(record.digest)).where(col(record.run_id) == run.id, among)
    known.update(session.execute(statement, {"digests": digests}).scalars())
    fresh = []
    for one, digest in zip(batch, digests, strict=True):
        if digest not in known:
            known.add(digest)
            fresh.append(one)
    return fresh


def widen_critical(session: Session, run: tables.Run, environments: set[str]) -> None:
    """Adds the critical patterns of environments that are new to the run."""
    patterns: list[str] = orjson.loads(run.critical)
    for name in sorted(environments - set(run.environment.split(","))):
        patterns += [pattern for pattern in environment(name).critical if pattern not in patterns]
    run.critical = orjson.dumps(patterns).decode()
    run.environment = ",".join(sorted({*run.environment.split(","), *environments} - {""}))
    session.add(run)


def import_file(path: Path, run_name: str, format: str, progress: Callable[[int], None]) -> FileReport:
    """What became of one file; one that cannot be read is reported as rejected and leaves nothing behind."""
    if format != "auto" and format not in IMPORTERS:
        raise BadInput(f"There is no format {format!r}; use auto or one of {', '.join(IMPORTERS)}.")
    runs.check_name(run_name)
    try:
        spool = read_file(path, format, _patterns(run_name), progress)
    except UnreadableFile as broken:
        return FileReport(path=str(path), rejected=[{"line": broken.line, "reason": broken.reason}])
    try:
        with writing() as session:
            run = runs.archive(session, run_name, now_ms())
            report = store(session, run, spool, now_ms())
            told = {"imported": report.imported, "duplicates": report.duplicates, "format": report.format}
            audit_log.record(session, run, "imported", now_ms(), subject=path.name, detail=told)
    finally:
        spool.close()
    text_index.catch_up()
    return report


def set_budget(run_name: str, wanted: str | None) -> int | None:
    """Sets the budget of every trial of a run; returns the cap that it comes to, None for no cap."""
    with writing() as session:
        run = runs.get(session, run_name)
        runs.set_budget(session, run, wanted, now_ms())
        session.flush()
        run_id, cap = run.id or 0, runs.cap(session, run)
        open_trials = [row["trial"] for row in runs.status(session, run)["trials"]]
    runs.open_budgets(review_queue(), run_id, open_trials, cap, again=True)
    return cap


def sentences(report: FileReport) -> list[tuple[bool, str]]:
    """(good news?, sentence) for each thing that a person should know about a file."""
    if report.rejected:
        return [(False, str(UnreadableFile(report.path, one["reason"], one["line"]))) for one in report.rejected]
    said = (
        f"{report.path} ({report.format}): {report.read} read, {report.imported} imported, "
        f"{report.duplicates} duplicate, {report.skipped} skipped"
    )
    return [(True, said), *((True, f"  line {note['line']}: {note['reason']}") for note in report.notes)]


def _patterns(run_name: str) -> list[str]:
    with reading() as session:
        found = runs.find(session, run_name)
        return runs.patterns(found) if found else []
