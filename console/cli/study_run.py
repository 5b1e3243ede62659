"""`inferact study open|pause|close|simulate|board|withdraw|results|report`: run a study and show its results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from console import runs
from console.cli.output import Json, emit, emit_json, emit_table, plain_rows, progress, say, show_table
from console.database import now_ms, reading
from console.errors import Unknown
from console.runs.export import atomic_file
from console.studies.sessions import lifecycle, simulated, withdrawal
from console.studies.sessions.lifecycle import read_pilot
from console.studies.sessions.progress import Row, read_board
from storage import tables

Name = Annotated[str, typer.Argument(help="The study's name.")]
ReportPath = Annotated[Path, typer.Option("--out", help="A folder for report.html and its CSV files, or a .zip file.")]
_MOST_COLUMNS = 12


def show_results(
    name: Name,
    table: Annotated[
        str, typer.Option("--table", help="The table. To see all tables, give an unknown name.")
    ] = "success",
    as_json: Json = False,
) -> None:
    """Show one table of a study's results; `report` writes all tables."""
    from console.studies import results  # pandas and statsmodels, which few commands need
    from console.studies.analysis import computations
    from console.studies.analysis.format import number_texts

    computed = computations()
    if table not in computed:
        raise Unknown("table of results", table, computed)
    with reading() as session:
        study = lifecycle.get(session, name)
        head = results.headline(session, study.id or 0)
        frames = results.frames(session, study.id or 0)
    frame = computed[table](frames)
    if as_json:
        emit_json({"study": name, **asdict(head), "table": table, "rows": plain_rows(frame)})
        return
    people = head.places - head.simulated
    who = f"{head.finished} of {people} people have finished" if people else "Simulated reviewers only"
    counted = [f"{head.human_decisions:,} decisions by people"] if people else []
    if head.simulated:
        counted.append(f"{head.decisions - head.human_decisions:,} by simulated reviewers")
    say(f"{who}; {', '.join(counted)} (without practice and checks).")
    frame, notes = number_texts(frame.drop(columns="method", errors="ignore"))
    columns = [str(column) for column in frame if column != "note"][:_MOST_COLUMNS]
    show_table(plain_rows(frame), [*columns, *(["note"] if notes else [])], empty="This table has no rows yet.")
    for place, note in enumerate(notes, 1):
        say(f"{place}. {note}")


def write_report(name: Name, out: ReportPath, as_json: Json = False) -> None:
    """Write the report: one HTML file that works offline, and the tables of its numbers."""
    written = create_report(name, out)
    emit(
        {"study": name, "files": [str(path) for path in written]},
        as_json,
        f"Wrote the report of {name} to {written[0]}.",
    )


def create_report(name: str, out: Path) -> list[Path]:
    """Write the study's report; return its files (the page first) or the zip file."""
    from console.studies import results  # pandas, plotly and statsmodels, which few commands need
    from console.studies.report import bundle, make_stamp, write

    with reading() as session:
        study = lifecycle.get(session, name)
        design, frames = lifecycle.design_of(study), results.frames(session, study.id or 0)
        stamp = make_stamp(session, study, now_ms())
    if out.suffix.lower() != ".zip":
        results.record_export(name, out.name)
        return write(design, frames, stamp, out)
    packed = bundle(design, frames, stamp)
    with atomic_file(out) as stream:
        stream.write(packed)
        results.record_export(name, out.name)
    return [out]


def open_study(name: Name, as_json: Json = False) -> None:
    """Open a study: people can join, and continue if it was paused."""
    _change(lifecycle.open_study, name, as_json, "is open. {joining}")


def pause(name: Name, as_json: Json = False) -> None:
    """Pause a study: participants keep their position until it is opened again."""
    _change(lifecycle.pause, name, as_json, "is paused. Continue: inferact study open {name}")


def close(name: Name, as_json: Json = False) -> None:
    """Close a study permanently: no one can join or continue."""
    _change(lifecycle.close, name, as_json, "is closed. See: inferact study results {name}")


def simulate_participants(
    name: Name,
    all_places: Annotated[
        bool, typer.Option("--all", help="Dry run: permanently fill the free slots of people with simulated reviewers.")
    ] = False,
    beside_people: Annotated[
        bool,
        typer.Option(
            "--beside-people",
            help="With --all: allow a dry run although people take part. Reports mention the dry run.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Let the simulated participants complete the study; repeat the command to continue it."""
    tally = simulate_study(name, all_places=all_places, beside_people=beside_people)
    done = f"participants {tally.participants}, conditions {tally.conditions}, decisions {tally.decisions}"
    known = f" ({tally.on_known_answers} of them on items with known answers)" if tally.on_known_answers else ""
    study = quote(name)
    onward = f"inferact study results {study}, or: inferact study report {study} --out {study}-report"
    emit(asdict(tally), as_json, f"Finished: {done}{known}.\nNext: {onward}")


def simulate_study(name: str, **which: bool) -> simulated.StudySimulation:
    """Let the simulated participants continue, with a progress bar; `which` are the options of `simulate`."""
    with progress(f"{name}: conditions") as tell:
        return simulated.simulate(name, tell, **which)


def show_board(name: Name, as_json: Json = False) -> None:
    """Show each participant's position, pending items and remaining budget."""
    with reading() as session:
        study = lifecycle.get(session, name)
        rows, design = [_row_document(row) for row in read_board(session, study)], lifecycle.design_of(study)
        pilot = read_pilot(session, study, design)
    columns = (
        "code kind stage condition number conditions trial decided waiting budget_left completion_code last_seen_at"
    )
    emit_table(rows, columns.split(), as_json, empty="This study has no participants yet.")
    if pilot and not as_json:
        say(pilot.describe(design))


def withdraw_participant(
    name: Name, code: Annotated[str, typer.Argument(help="The participant's code, such as P07.")], as_json: Json = False
) -> None:
    """Withdraw a participant: their data is removed or anonymised, as the consent states."""
    with reading() as session:
        study = lifecycle.get(session, name)
        how = lifecycle.design_of(study).consent.withdrawal
        participant = withdrawal.find_by_code(session, study, code)
    withdrawal.withdraw(participant.id or 0)
    emit(
        {"study": name, "withdrawn": code, "withdrawal": how},
        as_json,
        f"Withdrew {code} from {name}. The participant's data is {'removed' if how == 'remove' else 'anonymised'}.",
    )


def _row_document(row: Row) -> dict[str, Any]:
    document = {key: value for key, value in asdict(row).items() if not key.endswith("_ms")}
    return document | {"oldest_at": runs.iso(row.oldest_ms), "last_seen_at": runs.iso(row.last_seen_ms)}


def _change(change: Callable[[str], tables.Study], name: str, as_json: bool, ending: str) -> None:
    study = change(name)
    emit(
        {"study": study.name, "status": study.status, "join_code": study.join_code},
        as_json,
        f"{study.name} {ending.format(joining=_joining(study), name=quote(study.name))}",
    )


def _joining(study: tables.Study) -> str:
    recruiting = (design := lifecycle.design_of(study)).recruiting
    if not design.participants.human:
        return f"The study has simulated participants only: inferact study simulate {quote(study.name)}"
    if platform := recruiting.of_platform:
        return f"People join from {platform.title} with the link on the page Studies."
    if recruiting.by_invitation:
        return f"People join with invitation links: inferact study invite {quote(study.name)} --count 12"
    return f"People join with the code {study.join_code}."
