"""Import of a log file into a run. The whole file is read first; then one short transaction inserts all trajectories or
none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from pathlib import Path
from typing import IO, Any

import orjson
from sqlalchemy import bindparam, select
from sqlmodel import Session, col

from console import runs
from console.auth import audit_log
from console.database import now_ms, reading, writing
from console.environments import environment
from console.errors import BadInput, Unknown, UnreadableFile
from console.language import counted
from console.runs import trajectory_rows
from console.runs.importers import IMPORTERS, read_log
from console.runs.importers.parts.files import plain_files
from console.runs.importers.parts.intake import media_type_of
from console.runs.importers.records import Duplicate, Found, LeftOut, Skipped
from console.runs.trajectory_rows import Prepared, decided_steps, insert_rows, prepare, store_decisions, store_pictures
from console.trajectory.calls import read_action
from console.trajectory.checkpoints import is_thought
from storage import tables

_BATCH, _BATCH_BYTES = 1_000, 8 * 2**20
"""The size of a batch to insert: in records and in bytes."""
_ANSWER = "respond("
_SHOWN = 80
_IN_MEMORY = 24 * 2**20
_UNTOLD = ("notes", "environments")
_TOO_DEEP = "The JSON is nested too deeply. Flatten it, or leave out what reviewers do not need."


@dataclass(slots=True)
class FileReport:
    """The report on one file: each record is imported, a duplicate, or skipped for a reason.

    `calls`, `answers` and `pictures` are the totals over its `trajectories`, including duplicates.
    """

    path: str
    format: str = ""
    read: int = 0
    imported: int = 0
    duplicates: int = 0
    skipped: int = 0
    rejected: list[dict[str, Any]] = field(default_factory=list)
    trajectories: int = 0
    calls: int = 0
    answers: int = 0
    pictures: int = 0
    decisions: int = 0
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    notes: list[dict[str, Any]] = field(default_factory=list)
    environments: set[str] = field(default_factory=set)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as `trajectory import --json` prints it."""
        told = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in _UNTOLD}
        left_out = [{"what": what, "count": one.count, "line": one.line} for what, one in self.left_out.items()]
        return told | {"left_out": left_out}


def _temporary() -> IO[bytes]:
    return tempfile.SpooledTemporaryFile(_IN_MEMORY)


@dataclass(slots=True)
class Spool:
    """The records of a file that was read without errors, ready for one short write transaction."""

    report: FileReport
    lines: IO[bytes] = field(default_factory=_temporary)
    pictures: IO[bytes] = field(default_factory=_temporary)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The position of each picture by digest: (start, bytes)."""
    decisions: IO[bytes] = field(default_factory=_temporary)
    """Decisions made elsewhere: per line the digest of a trajectory and its decisions."""
    critical: dict[str, None] = field(default_factory=dict)
    """Patterns of the calls that the log itself marks as writing."""

    def close(self) -> None:
        """Delete the temporary files."""
        self.lines.close()
        self.pictures.close()
        self.decisions.close()


def read_file(
    path: Path,
    format: str = "auto",
    patterns: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> Spool:
    """Read and check the whole file, and store its records in a temporary file. If the file is invalid, delete the
    temporary file and raise UnreadableFile.

    `patterns` are the run's critical patterns; the critical patterns of each record's environment apply too.
    """
    report = FileReport(path=str(path))
    report.format, records = read_log(path, format, progress)
    spool = Spool(report)
    try:
        for record in records:
            report.read += 1
            _spool(record, spool, patterns)
    except orjson.JSONEncodeError as deep:
        spool.close()
        raise UnreadableFile(str(path), _TOO_DEEP) from deep
    except BaseException:
        spool.close()
        raise
    spool.lines.seek(0)
    return spool


def store(session: Session, run: tables.Run, spool: Spool, now_ms: int) -> FileReport:
    """Insert the trajectories that the run does not contain; count a trajectory with known content as a duplicate."""
    widen_critical(session, run, spool.report.environments)
    _add_patterns(session, run, spool.critical)
    made = tables.LogImport(run_id=run.id or 0, file=Path(spool.report.path).name, created_ms=now_ms)
    session.add(made)
    session.flush()
    for batch in _batches(spool.lines):
        imported = insert_fresh(session, run, batch, now_ms, made.id)
        spool.report.imported += imported
        spool.report.duplicates += len(batch) - imported
    made.imported = spool.report.imported
    session.add(made)
    store_pictures(session, _pictures(spool))
    spool.decisions.seek(0)
    spool.report.decisions = store_decisions(session, run, map(orjson.loads, spool.decisions), now_ms)
    return spool.report


def insert_fresh(
    session: Session,
    run: tables.Run,
    batch: Sequence[Prepared],
    now_ms: int,
    import_id: int | None = None,
) -> int:
    """Insert the trajectories of the batch that the run does not contain, and return their number."""
    fresh = _unknown(session, run, batch)
    insert_rows(session, run, fresh, now_ms, import_id)
    return len(fresh)


def _spool(record: Found | Skipped | Duplicate, spool: Spool, patterns: Sequence[str]) -> None:
    report = spool.report
    if isinstance(record, Found):
        name = record.trajectory.environment
        report.environments.add(name)
        spool.critical |= dict.fromkeys(record.critical)
        try:
            ready = prepare(record.trajectory, (*patterns, *environment(name).critical, *spool.critical))
        except orjson.JSONEncodeError as deep:
            raise UnreadableFile(report.path, _TOO_DEEP, record.line) from deep
        spool.lines.write(orjson.dumps([ready.task, ready.row]) + b"\n" + ready.body.encode() + b"\n")
        _tally(record, ready.row["digest"], spool)
        return
    report.notes.append({"line": record.line, "reason": record.reason})
    if isinstance(record, Duplicate):
        report.duplicates += 1
    else:
        report.skipped += 1


def _tally(record: Found, digest: str, spool: Spool) -> None:
    """Count the record in the report; keep its pictures and decisions for the transaction."""
    report, steps = spool.report, record.trajectory.steps
    report.trajectories += 1
    for step in steps:
        made, answered = count_acts(step.action)
        report.calls += made
        report.answers += answered
        report.pictures += len(step.pictures)
    report.pictures += len(record.trajectory.pictures)
    for what, one in record.left_out.items():
        report.left_out.setdefault(what, LeftOut(one.line)).count += one.count
    for key, data in record.pictures.items():
        if key not in spool.places:
            spool.places[key] = (spool.pictures.seek(0, 2), len(data))
            spool.pictures.write(data)
    if decided := decided_steps(steps):
        spool.decisions.write(orjson.dumps([digest, decided]) + b"\n")


def count_acts(action: str) -> tuple[int, int]:
    """Return (calls, answers) in an action; an answer is a text to the user, and a thought is neither."""
    if not action.strip() or is_thought(action):
        return 0, 0
    if "\n" not in action:
        return (0, 1) if action.startswith(_ANSWER) else (1, 0)
    names = [call.name for call in read_action(action)] or [""]
    answers = names.count("respond")
    return len(names) - answers, answers


def _pictures(spool: Spool) -> Iterator[dict[str, object]]:
    for key, (start, size) in spool.places.items():
        spool.pictures.seek(start)
        data = spool.pictures.read(size)
        yield {"digest": key, "media_type": media_type_of(data) or "application/octet-stream", "data": data}


def _add_patterns(session: Session, run: tables.Run, patterns: Iterable[str]) -> None:
    held: list[str] = orjson.loads(run.critical)
    if fresh := [pattern for pattern in patterns if pattern not in held]:
        run.critical = orjson.dumps([*held, *fresh]).decode()
        session.add(run)


def _batches(lines: Iterable[bytes]) -> Iterator[list[Prepared]]:
    stream = iter(lines)
    batch, size = [], 0
    for head, body in zip(stream, stream, strict=True):
        batch.append(_prepared(head, body))
        size += len(body)
        if len(batch) == _BATCH or size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _prepared(head: bytes, body: bytes) -> Prepared:
    task, row = orjson.loads(head)
    return Prepared(task, row, body[:-1].decode())


def _unknown(session: Session, run: tables.Run, batch: Sequence[Prepared]) -> list[Prepared]:
    record = tables.Trajectory
    digests = [one.row["digest"] for one in batch]
    # One parameter for all digests: a thousand would each be looked at by SQLAlchemy before they are sent.
    among = col(record.digest).in_(bindparam("digests", expanding=True))
    statement = select(col(record.digest)).where(col(record.run_id) == run.id, among)
    known = set(session.execute(statement, {"digests": digests}).scalars())
    fresh: dict[str, Prepared] = {}
    for one, digest in zip(batch, digests, strict=True):
        if digest not in known:
            fresh.setdefault(digest, one)
    return list(fresh.values())


def widen_critical(session: Session, run: tables.Run, environments: set[str]) -> None:
    """Add the critical patterns of environments that are new to the run."""
    patterns: list[str] = orjson.loads(run.critical)
    for name in sorted(environments - set(run.environment.split(","))):
        patterns += [pattern for pattern in environment(name).critical if pattern not in patterns]
    run.critical = orjson.dumps(patterns).decode()
    run.environment = ",".join(sorted({*run.environment.split(","), *environments} - {""}))
    session.add(run)


def import_files(
    path: Path, run_name: str, format: str, progress: Callable[[int], None], label: str = ""
) -> list[FileReport]:
    """Import a file, or each file in an archive, and return the reports; `label` is the file's displayed name."""
    label = label or str(path)
    with tempfile.TemporaryDirectory() as folder:
        try:
            files = list(plain_files(path, Path(folder), label))
        except UnreadableFile as broken:
            return [FileReport(path=label, rejected=[{"line": broken.line, "reason": broken.reason}])]
        if not files:
            return [
                FileReport(
                    path=label,
                    rejected=[{"line": None, "reason": "The archive is empty. Add files to it, then import it again."}],
                )
            ]
        reports = []
        for name, plain in files:
            report = import_file(plain, run_name, format, progress)
            report.path = name
            reports.append(report)
    return reports


def import_file(path: Path, run_name: str, format: str, progress: Callable[[int], None]) -> FileReport:
    """Import one file and return its report; if the file is unreadable, import nothing and report it as rejected."""
    if format != "auto" and format not in IMPORTERS:
        raise BadInput(f"Unknown format {format!r}. Use auto or one of {', '.join(IMPORTERS)}.")
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
    trajectory_rows.catch_up_index()
    return report


def explain_record(path: Path, format: str = "auto", number: int = 1) -> Iterator[str]:
    """Yield lines that explain how record `number` (from 1) is interpreted. Raise UnreadableFile if the file cannot be
    read, or Unknown if the format or record does not exist.
    """
    with tempfile.TemporaryDirectory() as folder:
        label, plain = next(plain_files(path, Path(folder)))
        name, records = read_log(plain, format)
        whole = (one for one in records if isinstance(one, Found))
        found = next(islice(whole, number - 1, None), None)
    if found is None:
        raise Unknown("record", number, by="number")
    one = found.trajectory
    yield f"{label} ({name}), line {found.line}: task {one.task_id}, trial {one.trial}"
    yield f"outcome {one.outcome}, label {one.label or 'none'}; instruction: {one.instruction[:_SHOWN]!r}"
    for message, what, place in found.read_as:
        yield f"  message {message}: {what} -> {f'step {place}' if place else 'opening'}"
    for place, step in enumerate(one.steps, 1):
        made, answers = count_acts(step.action)
        became = f"{made} calls" if made > 1 else "answer" if answers else "call" if made else "thought"
        who = f" by {step.speaker}" if step.speaker else ""
        seen = f"{len(step.observation):,} characters of observation, {len(step.pictures)} pictures"
        yield f"  step {place}: {became}{who}: {step.action[:_SHOWN]!r}; {seen}"
    for what, left in found.left_out.items():
        yield f"  {_counted(what, left)}"
    yield f"critical action: {one.critical_action[:_SHOWN] if one.critical_action else 'no known pattern matches'}"


def list_lines(report: FileReport) -> list[tuple[bool, str]]:
    """Return (is_good, sentence) for each fact in the report that a user should know."""
    if report.rejected:
        return [(False, str(UnreadableFile(report.path, one["reason"], one["line"]))) for one in report.rejected]
    said = (
        f"{report.path} ({report.format}): {report.read} read, {report.imported} imported, "
        f"{report.duplicates} duplicate, {report.skipped} skipped"
    )
    made = [counted(report.calls, "call"), counted(report.answers, "answer"), counted(report.pictures, "picture")]
    became = f"  {counted(report.trajectories, 'trajectory')}: {', '.join(made)}"
    lost = [(True, f"  {_counted(what, one)}") for what, one in report.left_out.items()]
    decided = [(True, f"  {counted(report.decisions, 'imported decision')}")] if report.decisions else []
    notes = [(True, f"  line {note['line']}: {note['reason']}") for note in report.notes]
    return [(True, said), (True, became), *decided, *lost, *notes]


def _counted(what: str, one: LeftOut) -> str:
    """Return a phrase on the things left out, such as `12 parts of type input_audio left out: line 4 and others`."""
    noun, _, rest = what.partition(" ")
    several = one.count > 1
    return (
        f"{one.count} {noun}{'s' if several else ''} {rest} left out: line {one.line}{' and others' if several else ''}"
    )


def _patterns(run_name: str) -> list[str]:
    with reading() as session:
        found = runs.find(session, run_name)
        return runs.patterns(found) if found else []
