"""`inferact trajectory`: import agent logs, list and show trajectories."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from console import runs
from console.cli.output import (
    AnyRun,
    Budget,
    Json,
    RunOption,
    emit,
    emit_json,
    emit_table,
    noun,
    progress,
    run_by_default,
    say,
)
from console.database import now_ms, reading, writing
from console.errors import BadInput
from console.language import counted
from console.review import plain_text
from console.runs import critical_suggestions, ingest, maintenance, trajectory_list, trajectory_rows
from console.runs.importers import CANONICAL_LINE, IMPORTERS
from console.runs.importers.parts.files import is_document, is_event_file
from console.runs.log_reading import FileReport, ImportChoice

app = noun("Import agent logs, list and show trajectories.", "trajectory list --run hotpot")
_INPUT = "-"
AcceptPartial = Annotated[
    bool, typer.Option("--accept-partial", help="Import a file even if parts of it cannot be read.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be imported, without importing.")]
Explain = Annotated[bool, typer.Option("--explain", help="Show how one record is interpreted, without importing.")]
Whole = Annotated[
    bool, typer.Option("--whole", help="Import each session as one trajectory, not one per request of the user.")
]
KeepSecrets = Annotated[
    bool, typer.Option("--keep-secrets", help="Store keys, tokens and passwords instead of masking them.")
]


@app.command("import", epilog="Example: inferact trajectory import logs/*.txt --run hotpot --budget 50%")
def import_logs(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Log files (also gz, zst, tgz or zip) or folders of logs. A hyphen (-) reads standard input."
        ),
    ],
    run: Annotated[str | None, typer.Option("--run", help="The run's name.")] = None,
    format: Annotated[
        str,
        typer.Option(
            help=f"One of auto, {', '.join(IMPORTERS.built_in)}. Example of a line of jsonl: {CANONICAL_LINE}"
        ),
    ] = "auto",
    budget: Budget = None,
    explain: Explain = False,
    accept_partial: AcceptPartial = False,
    dry_run: DryRun = False,
    record: Annotated[int, typer.Option(help="With --explain: the number of the record, from 1.")] = 1,
    whole: Whole = False,
    keep_secrets: KeepSecrets = False,
    as_json: Json = False,
) -> None:
    """Import agent logs into a run; each file is imported completely or not at all, and duplicates are skipped."""
    if explain:
        for line in ingest.explain_record(next(_files(paths)), format, record):
            say(line)
        return
    if run is None and not dry_run:
        raise BadInput("The run for these logs is missing. Name the run: --run NAME.")
    runs.parse_budget(budget)
    choice = ImportChoice(accept_partial, is_dry=dry_run, is_whole=whole, has_secrets=keep_secrets)
    reports = [report for path in _files(paths) for report in _import_one(path, run or "", format, choice)]
    inside = [child for path in paths if path.is_dir() for child in _list_inside(path)]
    ignored = [str(child) for child in inside if is_document(child.as_posix())]
    if dry_run or run is None:
        _show_reports(reports, ignored, as_json)
        return
    if budget is not None and any(not report.rejected for report in reports):
        runs.set_budget(run, budget)
    _show_imported(run, reports, ignored, as_json)


def _show_imported(run: str, reports: list[FileReport], ignored: list[str], as_json: bool) -> None:
    """Print the result of an import and the next step; raise BadInput if a file was rejected."""
    document: dict[str, Any] = {
        "files": [report.to_dict() for report in reports],
        "imported": sum(report.imported for report in reports),
        "rejected": sum(bool(report.rejected) for report in reports),
        "nothing_critical": None,
        "unapplied": {},
        "ignored": ignored,
    }
    end = None
    if document["rejected"] < len(reports):
        with reading() as session:
            imported = runs.get(session, run)
            if end := critical_suggestions.dead_end(session, imported):
                document["nothing_critical"] = {"looks_critical": end[1]}
            if not document["rejected"] and any("=" in pattern for pattern in runs.patterns(imported)):
                document["unapplied"] = critical_suggestions.candidates(session, imported).unapplied
    if as_json:
        emit_json(document)
    else:
        _say_good(reports, ignored)
        if document["unapplied"]:
            say(critical_suggestions.explain_unapplied(document["unapplied"]))
        _say_next(run, end, bool(document["imported"]))
    _raise_rejected(reports)


def _show_reports(reports: list[FileReport], ignored: list[str], as_json: bool) -> None:
    """Print the findings of a dry run; raise BadInput if a file cannot be imported."""
    if as_json:
        emit_json({"files": [report.to_dict() for report in reports], "ignored": ignored})
    else:
        _say_good(reports, ignored)
    _raise_rejected(reports)


def _say_good(reports: list[FileReport], ignored: list[str]) -> None:
    for report in reports:
        for good, sentence in ingest.list_lines(report):
            if good:
                say(sentence)
    if ignored:
        say(ingest.describe_documents(ignored))
        say("To import a document as a log, give the path of its file.")


def _raise_rejected(reports: list[FileReport]) -> None:
    if bad := [sentence for report in reports for good, sentence in ingest.list_lines(report) if not good]:
        raise BadInput("\n".join(bad))


def _say_next(run: str, end: tuple[str, list[str]] | None, imported: bool) -> None:
    if end is None:
        if imported:
            say(f"Next: inferact detect {quote(run)} --method rules")
        return
    sentence, patterns = end
    say(sentence)
    if not patterns:
        return
    if sys.stdin.isatty() and typer.confirm("Mark these actions as critical?", default=False):
        with writing() as session:
            found = runs.get(session, run)
            runs.set_patterns(session, found, [*runs.patterns(found), *patterns], now_ms())
        say(f"Next: inferact detect {quote(run)} --method rules")
    else:
        say(f"Mark these actions as critical: inferact run critical {quote(run)} --accept")


@app.command("list", epilog="Example: inferact trajectory list --run hotpot --json")
@run_by_default(app)
def list_trajectories(
    run: AnyRun = None,
    search: Annotated[
        str, typer.Option(help="Only trajectories with these words. A word such as refund* matches a prefix.")
    ] = "",
    place: Annotated[
        str, typer.Option("--in", help=f"Where to search: {', '.join(trajectory_list.PLACES)}.")
    ] = "anywhere",
    as_json: Json = False,
) -> None:
    """List the trajectories of a run, or the trajectories that match a search."""
    wanted = trajectory_list.Filter(text=search, place=place)
    if search:
        trajectory_rows.catch_up_index()
    with reading() as session:
        among = [runs.get(session, run)] if run else runs.list_runs(session)
        rows = [{"run": one.name, **row} for one in among for row in trajectory_list.rows(session, one, wanted)]
    columns = ("run", "trajectory_id", "task_id", "trial", "outcome", "label", "n_steps", "instruction")
    emit_table(
        rows, columns, as_json, empty="No trajectories yet. Import a log: inferact trajectory import FILE --run NAME"
    )


@app.command("show", epilog="Example: inferact trajectory show 12")
def show(
    trajectory_id: Annotated[int, typer.Argument(help="The id from `trajectory list`.")], as_json: Json = False
) -> None:
    """Show one trajectory, including the steps after its critical action; --json has long texts in full."""
    with reading() as session:
        record = trajectory_list.load(session, trajectory_id)
    emit({"trajectory_id": trajectory_id, **record.to_dict()}, as_json, plain_text.format_record(record, full=True))


@app.command("move", epilog="Example: inferact trajectory move 12 13 --to pilot")
def move(
    ids: Annotated[list[int], typer.Argument(help="The ids from `trajectory list`.")],
    to: Annotated[str, typer.Option("--to", help="The target archive run. The command creates a missing run.")],
    as_json: Json = False,
) -> None:
    """Move trajectories that no one has reviewed, with their verdicts, to another run of imported logs."""
    with writing() as session:
        done = maintenance.move_trajectories(session, ids, to, now_ms())
    told = f"Moved {len(done.moved)} to {to}. Queue its flagged actions: inferact detect {quote(to)}"
    if done.there_already:
        told += f" --method rules. {len(done.there_already)} were not moved because {to} already has them."
    emit({"to": to, "moved": done.moved, "there_already": done.there_already}, as_json, told)


@app.command("imports", epilog="Example: inferact trajectory imports --run hotpot")
def imports(run: RunOption, as_json: Json = False) -> None:
    """List the files imported into a run, and which of these imports were undone."""
    with reading() as session:
        rows = maintenance.list_imports(session, runs.get(session, run))
    emit_table(
        rows, ("import_id", "file", "at", "imported", "still_there", "undone"), as_json, empty=f"No imports into {run}."
    )


@app.command("undo", epilog="Example: inferact trajectory undo 3")
def undo(
    import_id: Annotated[int, typer.Argument(help="The id from `trajectory imports`.")], as_json: Json = False
) -> None:
    """Undo an import: delete its trajectories if no one has reviewed any of them."""
    with writing() as session:
        run, gone = maintenance.undo_import(session, import_id, now_ms())
    emit({"run": run.name, "deleted": gone}, as_json, f"Deleted {counted(gone, 'trajectory')} of {run.name}.")


def _files(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            inside = [child for child in _list_inside(path) if not is_document(child.as_posix())]
            # The events of a conversation that has a file for each event are one log.
            yield from sorted({one.parent if is_event_file(one) else one for one in inside}) or [path]
        else:
            yield path


def _list_inside(folder: Path) -> list[Path]:
    return [child for child in sorted(folder.rglob("*")) if child.is_file() and not child.name.startswith(".")]


def _import_one(path: Path, run: str, format: str, choice: ImportChoice) -> list[FileReport]:
    if str(path) == _INPUT:
        with tempfile.TemporaryDirectory() as folder:
            kept = Path(folder) / "input"
            with kept.open("wb") as stream:
                shutil.copyfileobj(sys.stdin.buffer, stream)
            return ingest.import_files(kept, run, format, lambda _done: None, _INPUT, choice)
    with progress(path.name) as tell:
        size = path.stat().st_size if path.exists() else None
        return ingest.import_files(path, run, format, lambda done: tell(done, size), choice=choice)
