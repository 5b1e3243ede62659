"""`inferact study open|pause|close|simulate|board|withdraw|results|report`: a study while it runs, and its results."""

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
from console.studies.sessions.progress import Row, board
from storage import tables

Name = Annotated[str, typer.Argument(help="The study's name.")]
ReportPath = Annotated[Path, typer.Option("--out", help="A folder for report.html and its CSVs, or a .zip of them.")]
_MOST_COLUMNS = 12


def show_results(
    name: Name,
    table: Annotated[str, typer.Option("--table", help="Which table; another word tells which there are.")] = "success",
    as_json: Json = False,
) -> None:
    """Show a table of a study's results; `report` has them all."""
    from console.studies import results  # pandas and statsmodels, which few commands need
    from console.studies.analysis import computations
    from console.studies.analysis.format import numbered

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
    say(f"{who}; {', '.join(counted)} (practice and checks left out).")
    frame, notes = numbered(frame.drop(columns="method", errors="ignore"))
    columns = [str(column) for column in frame if column != "note"][:_MOST_COLUMNS]
    show_table(plain_rows(frame), [*columns, *(["note"] if notes else [])], empty="There is nothing to show yet.")
    for place, note in enumerate(notes, 1):
        say(f"{place}. {note}")


def write_report(
    name: Name,
    out: ReportPath,
    as_json: Json = False,
) -> None:
    """Write the report: one HTML file that needs no network, with the tables that it is computed from."""
    written = reported(name, out)
    emit(
        {"study": name, "files": [str(path) for path in written]}, as_json, f"The report of {name} is in {written[0]}."
    )


def reported(name: str, out: Path) -> list[Path]:
    """Writes the study's report; returns its files, the page first, or the one zip."""
    from console.studies import results  # pandas, plotly and statsmodels, which few commands need
    from console.studies.report import bundle, stamped, write

    with reading() as session:
        study = lifecycle.get(session, name)
        design, frames = lifecycle.design_of(study), results.frames(session, study.id or 0)
        stamp = stamped(session, study, now_ms())
    if out.suffix.lower() != ".zip":
        results.record_export(name, out.name)
        return write(design, frames, stamp, out)
    packed = bundle(design, frames, stamp)
    with atomic_file(out) as stream:
        stream.write(packed)
        results.record_export(name, out.name)
    return [out]


_SHOWN = (
    "code",
    "kind",
    "stage",
    "condition",
    "number",
    "conditions",
    "trial",
    "decided",
    "waiting",
    "budget_left",
    "completion_code",
)


def open_study(name: Name, as_json: Json = False) -> None:
    """Open a study: people can join, and go on where it was paused."""
    _change(lifecycle.open_study, name, as_json, "is open. {joining}")


def pause(name: Name, as_json: Json = False) -> None:
    """Pause a study: everybody stays where they are until it is opened again."""
    _change(lifecycle.pause, name, as_json, "is paused. Go on with: inferact study open {name}")


def close(name: Name, as_json: Json = False) -> None:
    """Close a study for good: nobody joins or goes on."""
    _change(lifecycle.close, name, as_json, "is closed. See: inferact study results {name}")


def simulate_participants(
    name: Name,
    all_places: Annotated[
        bool, typer.Option("--all", help="A dry run: the free places of people go to simulated reviewers for good.")
    ] = False,
    beside_people: Annotated[
        bool, typer.Option("--beside-people", help="With --all: also where people take part; reports say so.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Let the simulated participants do the study; stopped, it goes on when called again."""
    tally = played(name, all_places=all_places, beside_people=beside_people)
    if as_json:
        emit_json(asdict(tally))
        return
    done = f"participants {tally.participants}, conditions {tally.conditions}, decisions {tally.decisions}"
    known = f" ({tally.on_known_answers} of them on items of known answer)" if tally.on_known_answers else ""
    say(f"Finished: {done}{known}.")
    study = quote(name)
    say(f"See: inferact study results {study}, or write: inferact study report {study} --out {study}-report")


def played(name: str, **which: bool) -> simulated.StudySimulation:
    """Lets the simulated participants play on, with a progress bar; `which` as `simulate` has it."""
    with progress(f"{name}: conditions") as tell:
        return simulated.simulate(name, tell, **which)


def show_board(name: Name, as_json: Json = False) -> None:
    """Show who is where, what waits for them and what is left of their budget."""
    with reading() as session:
        rows = [_row_document(row) for row in board(session, lifecycle.get(session, name))]
    emit_table(rows, (*_SHOWN, "last_seen_at"), as_json, empty="Nobody has a place in this study.")


def withdraw_participant(
    name: Name,
    code: Annotated[str, typer.Argument(help="The participant's code, such as P07.")],
    as_json: Json = False,
) -> None:
    """Take a participant out of a study: their data is removed or anonymised, as the consent says."""
    with reading() as session:
        study = lifecycle.get(session, name)
        how = lifecycle.design_of(study).consent.withdrawal
        participant = withdrawal.of_code(session, study, code)
    withdrawal.withdraw(participant.id or 0)
    emit(
        {"study": name, "withdrawn": code, "withdrawal": how},
        as_json,
        f"{code} has left {name}; their data is {'removed' if how == 'remove' else 'anonymised'}.",
    )


def _row_document(row: Row) -> dict[str, Any]:
    """The row as `--json` prints it, its times in ISO-8601."""
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
        return f"Simulated participants alone do it: inferact study simulate {quote(study.name)}"
    if platform := recruiting.of_platform:
        return f"People come from {platform.title} by the link that the page Studies shows."
    if recruiting.by_invitation:
        return f"People join by links of their own: inferact study invite {quote(study.name)} --count 12"
    return f"People join with the code {study.join_code}."
