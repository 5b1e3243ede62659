"""Import of a log file into a run. The import first reads the whole file; then one short transaction inserts all
trajectories or none.

A longer version of a known request extends its trajectory in place, so that sessions and traces can grow. Session,
request and task id identify a trajectory. Steps up to the last step seen by a reviewer do not change, and keep their
decisions. A version that changes one of these steps becomes a separate trajectory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import bindparam, delete, func, or_, update
from sqlmodel import Session, col, select

from console import runs
from console.auth import audit_log
from console.database import now_ms, reading, writing
from console.environments import ENVIRONMENTS
from console.errors import BadInput, Unknown, UnreadableFile
from console.language import counted
from console.runs import removal, trajectory_rows
from console.runs.importers import IMPORTERS, read_log
from console.runs.importers.parts.files import plain_files
from console.runs.importers.parts.intake import media_type_of
from console.runs.importers.records import Found, LeftOut
from console.runs.log_reading import USUAL, FileReport, ImportChoice, Spool, count_acts, read_file
from console.runs.status import store_counts
from console.runs.trajectory_rows import Prepared, insert_rows, store_decisions, store_pictures
from console.trajectory import Step, Trajectory, from_json
from storage import tables
from storage.tables import TAKEN, ItemStatus

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
    made = log_import(session, run, known_as or Path(report.path).name, now_ms, again=bool(known_as))
    for batch in _batches(spool.lines):
        fresh, extended = extend_known(session, run, batch)
        new = insert_fresh(session, run, fresh, now_ms, made.id)
        report.imported += new
        report.extended += len(extended)
        report.touched += extended
        report.duplicates += len(batch) - new - len(extended)
    made.imported += report.imported
    session.add(made)
    report.touched += list_inserted_ids(session, made, report.imported)
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
        task, row = orjson.loads(head)
        batch.append(Prepared(task, row, body[:-1].decode()))
        size += len(body)
        if len(batch) == _BATCH or size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _unknown(session: Session, run: tables.Run, batch: Sequence[Prepared]) -> list[Prepared]:
    known = trajectory_rows.list_stored(session, run, [one.row["digest"] for one in batch])
    # Reversed, so that the first of equal trajectories stays.
    fresh = {one.row["digest"]: one for one in reversed(batch) if one.row["digest"] not in known}
    return list(fresh.values())[::-1]


def widen_critical(session: Session, run: tables.Run, environments: set[str]) -> None:
    """Add the critical-action patterns of environments that are new to the run."""
    patterns: list[str] = orjson.loads(run.critical)
    for name in sorted(environments - set(run.environment.split(","))):
        patterns += [pattern for pattern in ENVIRONMENTS[name].critical if pattern not in patterns]
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
    documents: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            files = list(plain_files(path, Path(folder), label, documents))
        except UnreadableFile as broken:
            return [FileReport(path=label, rejected=[{"line": broken.line, "reason": broken.reason}])]
        if not files:
            what = "folder" if path.is_dir() else "archive"
            holds = f"contains only documents, such as {documents[-1]}" if documents else "is empty"
            reason = f"The {what} {holds}. Name a file, or a {what} with logs."
            return [FileReport(path=label, rejected=[{"line": None, "reason": reason}])]
        reports = []
        for name, plain in files:
            report = import_file(plain, run_name, format, progress, choice)
            report.path = name
            reports.append(report)
    reports[0].documents = documents
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
    store_counts(seconds=None)
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
    if report.unasked:
        lost.append((True, f"  {counted(report.unasked, 'trajectory')} without the user's request: not in this log"))
    decided = [(True, f"  {counted(report.decisions, 'imported decision')}")] if report.decisions else []
    masked = f"  {counted(report.secrets, 'secret')} masked (keys, tokens, passwords); --keep-secrets leaves them"
    decided += [(True, masked)] if report.secrets else []
    if report.patterns:
        shown = ", ".join(report.patterns[:_PATTERNS])
        rest = len(report.patterns) - _PATTERNS
        decided += [(True, f"  marked as critical: {shown}{f' and {rest} more' if rest > 0 else ''}")]
    notes = [(True, f"  line {note['line']}: {note['reason']}") for note in report.notes]
    notes += [(True, f"  {describe_documents(report.documents)}")] if report.documents else []
    return [(True, said), (True, became), *account, *decided, *lost, *notes]


def describe_documents(names: Sequence[str]) -> str:
    """Return a sentence on the documents beside logs, which are not imported."""
    return f"Not imported: {counted(len(names), 'document')}, such as {', '.join(names[-5:])}."


def _counted(what: str, one: LeftOut) -> str:
    """Return a phrase such as `12 parts of type audio left out: line 4 and others`; kept parts are not left out."""
    noun, _, rest = what.partition(" ")
    plural, others = ("s", " and others") if one.count > 1 else ("", "")
    return f"{one.count} {noun}{plural} {rest}{'' if ' kept ' in what else ' left out'}: line {one.line}{others}"


def _patterns(run_name: str) -> list[str]:
    with reading() as session:
        found = runs.find(session, run_name)
        return runs.patterns(found) if found else []


_IDENTITY = update(tables.Trajectory).where(col(tables.Trajectory.id) == bindparam("trajectory"))
_KNOWN_KEYS = select(tables.Task.task_key).where(
    col(tables.Task.run_id) == bindparam("run"), col(tables.Task.task_key).in_(bindparam("keys", expanding=True))
)


def log_import(session: Session, run: tables.Run, file: str, now_ms: int, *, again: bool) -> tables.LogImport:
    """Return a new import of the file; if `again` (the file has grown), return the file's earlier import."""
    table = tables.LogImport
    same = select(table).where(col(table.run_id) == run.id, col(table.file) == file, col(table.undone_ms).is_(None))
    known = session.exec(same.order_by(col(table.id).desc())).first() if again else None
    made = known or table(run_id=run.id or 0, file=file, created_ms=now_ms)
    session.add(made)
    session.flush()
    return made


def list_inserted_ids(session: Session, made: tables.LogImport, number: int) -> list[int]:
    """Return the ids of the import's last `number` trajectories."""
    record = tables.Trajectory
    last = select(record.id).where(col(record.import_id) == made.id).order_by(col(record.id).desc()).limit(number)
    return [one or 0 for one in session.exec(last)] if number else []


def extend_known(session: Session, run: tables.Run, batch: Sequence[Prepared]) -> tuple[list[Prepared], list[int]]:
    """Extend the trajectories with longer versions in the batch.

    Return (versions to insert, ids of the extended trajectories). A version that the known trajectory already contains
    is in neither list.
    """
    others: list[Prepared] = []
    extended: list[int] = []
    sources = [orjson.loads(one.row["source"]) for one in batch]
    keys = {one.task["task_key"] for one, source in zip(batch, sources, strict=True) if source.get("session")}
    keys = set(session.execute(_KNOWN_KEYS, {"run": run.id, "keys": list(keys)}).scalars()) if keys else keys
    for one, source in zip(batch, sources, strict=True):
        known = _known(session, run, one, source) if one.task["task_key"] in keys and source.get("session") else []
        if not known or trajectory_rows.list_stored(session, run, [one.row["digest"]]):
            others.append(one)
            continue
        done = _extend(session, run, known[-1], from_json(one.body), one.row["digest"])
        extended += [known[-1].id or 0] if done else []
        others += [one] if done is None else []
    return others, extended


def _known(session: Session, run: tables.Run, one: Prepared, source: dict[str, Any]) -> list[tables.Trajectory]:
    record, task = tables.Trajectory, tables.Task
    statement = (
        select(record)
        .join(task, col(task.id) == record.task_id)
        .where(col(record.run_id) == run.id, col(task.task_key) == one.task["task_key"])
        .where(col(record.trial) == one.row["trial"])
        .order_by(col(record.id))
    )
    rows = session.exec(statement)
    return [row for row in rows if orjson.loads(row.source).get("session") == source["session"]]


def _extend(session: Session, run: tables.Run, row: tables.Trajectory, new: Trajectory, digest: str) -> bool | None:
    """Store the longer version. Return True if stored, False if it is not longer, None if it contradicts a review."""
    old = from_json(session.get_one(tables.TrajectoryBody, row.id).body)
    seen = _last_seen(session, row.id or 0)
    same = _first_change(old.steps, new.steps)
    if same == len(new.steps) < len(old.steps):
        return False
    if same <= seen:
        return None
    steps = [*(_filled(before, after) for before, after in zip(old.steps, new.steps[: seen + 1], strict=False))]
    merged = replace(new, steps=(*steps, *new.steps[len(steps) :]))
    if seen >= 0:
        merged = replace(merged, instruction=old.instruction, opening=old.opening)
    _withdraw(session, row.id or 0, same)
    _write(session, run, row, merged, digest)
    return True


def _last_seen(session: Session, trajectory_id: int) -> int:
    """Return the last step that a reviewer has claimed or decided, or -1 if no step is claimed or decided."""
    item, slot, decision = tables.Item, tables.Slot, tables.Decision
    taken = select(slot.item_id).where(col(slot.status).in_(TAKEN))
    decided = select(decision.item_id)
    statement = select(func.max(item.step)).where(
        col(item.trajectory_id) == trajectory_id,
        or_(col(item.status) != ItemStatus.PENDING, col(item.id).in_(taken), col(item.id).in_(decided)),
    )
    found = session.exec(statement).first()
    return -1 if found is None else int(found)


def _first_change(old: Sequence[Step], new: Sequence[Step]) -> int:
    """Return the index of the first changed step; an observation with text added at its end counts as unchanged."""
    for place, (before, after) in enumerate(zip(old, new, strict=False)):
        same = (before.thought, before.action, before.speaker) == (after.thought, after.action, after.speaker)
        if not same or not after.observation.startswith(before.observation):
            return place
    return min(len(old), len(new))


def _filled(before: Step, after: Step) -> Step:
    """Return the known step, completed with the new observation if it had none."""
    return before if before.observation else replace(before, observation=after.observation, pictures=after.pictures)


def _withdraw(session: Session, trajectory_id: int, first: int) -> None:
    """Delete the verdicts and pending items from step `first` on."""
    verdict, item = tables.Verdict, tables.Item
    removal.remove_items(
        session, select(item.id).where(col(item.trajectory_id) == trajectory_id, col(item.step) >= first)
    )
    session.execute(delete(verdict).where(col(verdict.trajectory_id) == trajectory_id, col(verdict.step) >= first))


def _write(session: Session, run: tables.Run, row: tables.Trajectory, record: Trajectory, digest: str) -> None:
    patterns = (*runs.patterns(run), *ENVIRONMENTS[record.environment].critical)
    ready = trajectory_rows.prepare(record, patterns)
    task_id = trajectory_rows.insert_task(session, run, tables.Task(run_id=run.id or 0, **ready.task))
    trajectory_rows.write(session, row.id or 0, record, patterns)
    # The digest of the file's own version, so that the same file is a duplicate.
    values = {"digest": digest, "source": ready.row["source"], "task_id": task_id}
    session.connection().execute(_IDENTITY.values(values), {"trajectory": row.id})
