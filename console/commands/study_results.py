"""`inferact study results|report`: what a study shows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from console.commands.output import Json, emit_json, say, show_table
from console.commands.plain_rows import plain_rows
from console.database import now_ms, reading
from console.errors import Unknown
from console.runs.export.atomic_file import atomic_file
from console.studies.sessions import lifecycle

Name = Annotated[str, typer.Argument(help="The study's name.")]
_MOST_COLUMNS = 12


def show(
    name: Name,
    table: Annotated[str, typer.Option("--table", help="Which table; another word tells which there are.")] = "success",
    as_json: Json = False,
) -> None:
    """Show a table of a study's results; `report` has them all."""
    from console.studies import results  # pandas and statsmodels, which few commands need
    from console.studies.analysis import ANALYSES

    if table not in ANALYSES:
        raise Unknown("table of results", table, ANALYSES)
    with reading() as session:
        study = lifecycle.get(session, name)
        head = results.headline(session, study.id or 0)
        frames = results.frames(session, study.id or 0)
    frame = ANALYSES[table](frames)
    if as_json:
        emit_json({"study": name, **asdict(head), "table": table, "rows": plain_rows(frame)})
        return
    people = head.places - head.simulated
    who = f"{head.finished} of {people} people have finished" if people else "Simulated reviewers only"
    say(f"{who}, {head.decisions:,} decisions.")
    shown = [str(column) for column in frame if column != "note"][:_MOST_COLUMNS]
    show_table(plain_rows(frame), shown, empty="There is nothing to show yet.")


def report(
    name: Name,
    out: Annotated[Path, typer.Option("--out", help="A folder for report.html and its CSVs, or a .zip of them.")],
    as_json: Json = False,
) -> None:
    """Write the report: one HTML file that needs no network, with the tables that it is computed from."""
    from console.studies import report as study_report
    from console.studies import results  # pandas, plotly and statsmodels, which few commands need

    with reading() as session:
        study = lifecycle.get(session, name)
        design, frames = lifecycle.design_of(study), results.frames(session, study.id or 0)
        told = study_report.ReportStamp(now_ms(), results.data_version(session, study.id or 0))
    if out.suffix.lower() == ".zip":
        packed = study_report.bundle(design, frames, told)
        with atomic_file(out) as stream:
            stream.write(packed)
        written = [out]
    else:
        written = study_report.write(design, frames, told, out)
    if as_json:
        emit_json({"study": name, "files": [str(path) for path in written]})
        return
    say(f"The report of {name} is in {written[0]}.")
