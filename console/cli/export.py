"""`inferact export`: write the data of a run or a study to a file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from console.cli.output import Json, emit
from console.database import database_url, reading
from console.errors import BadInput
from console.language import counted
from console.runs import export
from console.studies.sessions import lifecycle

_STUDY = "study"
_KINDS = ", ".join((*export.KINDS, *export.LAYOUTS.built_in, _STUDY))
_SUFFIXES = "; ".join(f"{name} .{layout.suffix}" for name, layout in export.LAYOUTS.built_in.items())
_ASKED_FOR = "Optional parts for other tools: " + "; ".join(
    f"{name} ({words})" for name, words in export.ASKED_FOR.items()
)
_ASKED_FOR += "; for trajectories in a .jsonl file: pictures (their bytes from the log)"


def export_file(
    kind: Annotated[str, typer.Argument(help=f"One of {_KINDS}, or a layout of a plug-in.")],
    out: Annotated[
        Path, typer.Option("--out", help=f"The file to create (.csv, .jsonl, .parquet, .zip for a study, {_SUFFIXES}).")
    ],
    run: Annotated[str | None, typer.Option("--run", help="The run's name, or the study's for `export study`.")] = None,
    study: Annotated[str | None, typer.Option("--study", help="The study's name, for `export study`.")] = None,
    asked_for: Annotated[list[str] | None, typer.Option("--with", help=_ASKED_FOR)] = None,
    licence: Annotated[str, typer.Option(help="With datasets: the licence in the dataset card.")] = "unknown",
    as_json: Json = False,
) -> None:
    """Write the data of a run as CSV, JSONL or parquet, or for another tool; write the tables of a study."""
    if kind == _STUDY:
        run, study = None, study or run
    if (kind == _STUDY) != (study is not None) or (run is None) == (study is None):
        raise BadInput(
            "Give a run or a study: `export study --study NAME` (.csv for decisions, .zip for all tables), "
            "or another kind with `--run NAME`."
        )
    of = {"run": run} if study is None else {"study": study}
    if kind in export.LAYOUTS:
        _export_layout(kind, run or "", out, asked_for or [], licence, as_json)
        return
    pictures = asked_for == [export.PICTURES]
    if asked_for and not (pictures and kind == "trajectories"):
        raise BadInput(
            f"--with {','.join(asked_for)} does not apply to {kind}. Use --with for {', '.join(export.LAYOUTS)}. "
            "For trajectories, use only --with pictures."
        )
    if study is not None:
        rows = _of_study(study, out)
    else:
        rows = export.export(database_url(), kind, run or "", out, pictures=pictures)
    emit({"kind": kind, **of, "out": str(out), "rows": rows}, as_json, f"{counted(rows, 'row')} of {kind} in {out}.")


def _export_layout(kind: str, run: str, out: Path, asked: list[str], licence: str, as_json: bool) -> None:
    layout, lost = export.LAYOUTS[kind], Counter[str]()
    count = export.export_layout(database_url(), kind, run, out, asked, licence, lost)
    lacks = f" Not in the file: {', '.join(counted(number, noun) for noun, number in lost.items())}." if lost else ""
    emit(
        {"kind": kind, "run": run, "out": str(out), layout.unit: count, "with": asked, "left_out": dict(lost)},
        as_json,
        f"{count} {layout.unit} in {out} ({layout.title}).{lacks}"
        if count
        else f"{out} is empty: {run} has no {layout.unit} for {kind}. The handbook lists the data that this file "
        "needs.",
    )


def _of_study(name: str, out: Path) -> int:
    from console.studies import results  # pandas, which few commands need
    from console.studies.results import csv_files

    with reading() as session:
        frames = results.frames(session, lifecycle.get(session, name).id or 0)
    return csv_files.export(frames, out, lambda: results.record_export(name, out.name))


def draw_chart(
    name: Annotated[str, typer.Argument(help="The chart, such as roc-curve. To see all charts, give an unknown name.")],
    table: Annotated[Path, typer.Argument(help="A CSV file with the chart's table.")],
    out: Annotated[Path, typer.Option("--out", help="The HTML file to write.")],
    as_json: Json = False,
) -> None:
    """Draw a table in CSV as a chart, in an HTML file that works offline."""
    # Charts and tables take long to load, and most commands need neither.
    import pandas as pd

    from console.analysis.charts import CHARTS

    draw = CHARTS.pick(name)
    try:
        figure = draw(pd.read_csv(table))
    except KeyError as missing:
        raise BadInput(
            f"{table} has no column {missing}, which the chart {name} needs. Add the column and draw again."
        ) from missing
    except ValueError as invalid:
        raise BadInput(f"{table} cannot be drawn as the chart {name} ({invalid}). Export the table again.") from invalid
    with export.atomic_file(out) as stream:
        stream.write(figure.to_html(include_plotlyjs=True).encode())
    emit({"chart": name, "out": str(out)}, as_json, f"The chart {name} is in {out}.")
