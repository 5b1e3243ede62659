"""Importing a file into a run, start to end: read it whole, then one short write transaction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from console import runs, trajectories
from console.database import now_ms, reading, review_queue, writing
from console.errors import BadInput, UnreadableFile
from console.importers import IMPORTERS
from console.trajectories import FileReport


def import_file(path: Path, run_name: str, format: str, progress: Callable[[int], None]) -> FileReport:
    """What became of one file; one that cannot be read is reported as rejected and leaves nothing behind."""
    if format != "auto" and format not in IMPORTERS:
        raise BadInput(f"There is no format {format!r}; use auto or one of {', '.join(IMPORTERS)}.")
    runs.check_name(run_name)
    try:
        spool = trajectories.read_file(path, format, _patterns(run_name), progress)
    except UnreadableFile as broken:
        return FileReport(path=str(path), rejected=[{"line": broken.line, "reason": broken.reason}])
    try:
        with writing() as session:
            return trajectories.store(session, runs.archive(session, run_name, now_ms()), spool, now_ms())
    finally:
        spool.close()


def set_budget(run_name: str, wanted: str | None) -> int | None:
    """Sets the budget of every trial of a run; returns the cap that it comes to, None for no cap."""
    with writing() as session:
        run = runs.get(session, run_name)
        runs.set_budget(session, run, wanted)
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
