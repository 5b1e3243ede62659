"""Import of a log file into a run. The import first reads the whole file; then one short transaction inserts all
trajectories or none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from sqlmodel import Session

from console import runs
from console.auth import audit_log
from console.database import now_ms, reading, writing
from console.environments import environment
from console.errors import BadInput, Unknown, UnreadableFile
from console.language import counted
from console.runs import growth, trajectory_rows
from console.runs.importers import IMPORTERS, read_log
from console.runs.importers.parts.files import plain_files
from console.runs.importers.parts.intake import media_type_of
from console.runs.importers.records import Found, LeftOut
from console.runs.log_reading import USUAL, FileReport, ImportChoice, Spool, count_acts, read_file
from console.runs.trajectory_rows import Prepared, insert_rows, store_decisions, store_pictures
from storage import tables

_BATCH, _BATCH_BYTES = 1_000, 8 * 2**20
"""Maximum size of a batch to insert, in records and in bytes."""
_SHOWN, _PATTERNS = 80, 5


def store(session: Session, run: tables.Run, spool: Spool, now_ms: int, known_as: str = "") -> FileReport:
    """Insert the trajectories that the run does not contain, and extend the trajectories of grown sessions.

    A trajectory with known content is a duplicate. All imports of a followed file (`known_as`) count as one import.
    """
    report = spool.report
    held = runs.patterns(run)
    widen_critical(session, run, report.environments)
    _add_patterns(session, run, spool.critical)
    report.patterns = [pattern for pattern in runs.patterns(run) if pattern not in held]
    made = growth.log_import(session, run, known_as or Path(report.path).name, now_ms, again=bool(known_as))
    for batch in _batches(spool.lines):
        fresh, extended = growth.extend_known(session, run, batch)
        new = insert_fresh(session, run, fresh, now_ms, made.id)
        report.imported += new
        report.extended += len(extended)
        report.touched += extended
        report.duplicates += len(batch) - new - len(extended)
    made.imported += report.imported
    session.add(made)
    report.touched += growth.list_inserted_ids(session, made, report.imported)
    store_pictures(session, _pictures(spool))
    spool.decisions.seek(0)
    report.decisions = store_decisions(session, run, map(orjson.loads, spool.decisions), now_ms)
    return report


def insert_fresh(
    session: Session, run: tables.Run, batch: Sequence[Prepared], now_ms: int, import_id: int | None = None
) -> int:
    """Insert the batch's trajectories that the run does not contain, and return their number."""
    fresh = _unknown(session, run, batch)
    insert_rows(session, run, fresh, now_ms, import_id)
    return len(fresh)


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
    known = trajectory_rows.list_stored(session, run, [one.row["digest"] for one in batch])
    # Reversed, so that the first of equal trajectories stays.
    fresh = {one.row["digest"]: one for one in reversed(batch) if one.row["digest"] not in known}
    return list(fresh.values())[::-1]


def widen_critical(session: Session, run: tables.Run, environments: set[str]) -> None:
    """Add the critical-action patterns of environments that are new to the run."""
    patterns: list[str] = orjson.loads(run.critical)
    for name in sorted(environments - set(run.environment.split(","))):
        patterns += [pattern for pattern in environment(name).critical if pattern not in patterns]
    run.critical = orjson.dumps(patterns).decode()
    run.environment = ",".join(sorted({*run.environment.split(","), *environments} - {""}))
    session.add(run)


def import_files(
    path: Path,
    run_name: str,
    format: str,
    progress: Callable[[int], None],
    label: str = "",
    choice: ImportChoice = USUAL,
) -> list[FileReport]:
    """Import a file, or each file in an archive, and return the reports; `label` is the file's displayed name."""
    label = label or str(path)
    with tempfile.TemporaryDirectory() as folder:
        try:
            files = list(plain_files(path, Path(folder), label))
        except UnreadableFile as broken:
            return [FileReport(path=label, rejected=[{"line": broken.line, "reason": broken.reason}])]
        if not files:
            what = "folder" if path.is_dir() else "archive"
            reason = f"The {what} is empty. Name a file, or a {what} with files."
            return [FileReport(path=label, rejected=[{"line": None, "reason": reason}])]
        reports = []
        for name, plain in files:
            report = import_file(plain, run_name, format, progress, choice)
            report.path = name
            reports.append(report)
    return reports


def import_file(
    path: Path,
    run_name: str,
    format: str,
    progress: Callable[[int], None],
    choice: ImportChoice = USUAL,
    known_as: str = "",
) -> FileReport:
    """Import one file and return its report; if the file is unreadable, import nothing and report it as rejected."""
    if format != "auto" and format not in IMPORTERS:
        raise BadInput(f"Unknown format {format!r}. Use auto or one of {', '.join(IMPORTERS)}.")
    if not choice.is_dry:
        runs.check_name(run_name)
    try:
        spool = read_file(path, format, _patterns(run_name), progress, choice)
    except UnreadableFile as broken:
        return FileReport(path=str(path), rejected=[{"line": broken.line, "reason": broken.reason}])
    if choice.is_dry:
        spool.close()
        return spool.report
    try:
        with writing() as session:
            run = runs.archive(session, run_name, now_ms())
            report = store(session, run, spool, now_ms(), known_as)
            told: dict[str, Any] = {
                "imported": report.imported,
                "duplicates": report.duplicates,
                "format": report.format,
            }
            told |= {"extended": report.extended} if report.extended else {}
            told |= {"partial": report.fault} if report.fault else {}
            told |= {"masked": report.secrets} if report.secrets else {}
            if report.touched or not known_as:
                audit_log.record(session, run, "imported", now_ms(), subject=path.name, detail=told)
    finally:
        spool.close()
    trajectory_rows.catch_up_index()
    return report


def explain_record(path: Path, format: str = "auto", number: int = 1) -> Iterator[str]:
    """Yield lines that explain the interpretation of record `number` (from 1). Raise UnreadableFile if the file cannot
    be read, or Unknown if the format or record does not exist.
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
    """Return (is_good, sentence) for each fact in the report that concerns the user."""
    if report.rejected:
        return [(False, str(UnreadableFile(report.path, one["reason"], one["line"]))) for one in report.rejected]
    grown = f"{report.extended} extended, " if report.extended else ""
    said = (
        f"{report.path} ({report.format}): {report.read} read, {report.imported} imported, "
        f"{grown}{report.duplicates} duplicate, {report.skipped} skipped"
    )
    made = [counted(report.calls, "call"), counted(report.answers, "answer"), counted(report.pictures, "picture")]
    became = f"  {counted(report.trajectories, 'trajectory')}: {', '.join(made)}"
    account = [(True, f"  {report.coverage.summary()}")] if report.coverage else []
    account += [(True, f"  Not complete: {report.fault}")] if report.fault else []
    lost = [(True, f"  {_counted(what, one)}") for what, one in report.left_out.items()]
    decided = [(True, f"  {counted(report.decisions, 'imported decision')}")] if report.decisions else []
    masked = f"  {counted(report.secrets, 'secret')} masked (keys, tokens, passwords); --keep-secrets leaves them"
    decided += [(True, masked)] if report.secrets else []
    if report.patterns:
        shown = ", ".join(report.patterns[:_PATTERNS])
        rest = len(report.patterns) - _PATTERNS
        decided += [(True, f"  marked as critical: {shown}{f' and {rest} more' if rest > 0 else ''}")]
    notes = [(True, f"  line {note['line']}: {note['reason']}") for note in report.notes]
    return [(True, said), (True, became), *account, *decided, *lost, *notes]


def _counted(what: str, one: LeftOut) -> str:
    """Return a phrase on the parts left out, such as `12 parts of type input_audio left out: line 4 and others`."""
    noun, _, rest = what.partition(" ")
    several = one.count > 1
    return (
        f"{one.count} {noun}{'s' if several else ''} {rest} left out: line {one.line}{' and others' if several else ''}"
    )


def _patterns(run_name: str) -> list[str]:
    with reading() as session:
        found = runs.find(session, run_name)
        return runs.patterns(found) if found else []
