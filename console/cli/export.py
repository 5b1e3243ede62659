"""`inferact export`: what a run or a study holds, as a file; alone because it is a noun of its own."""

from __future__ import annotations

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
_SUFFIXES = "; ".join(f"{name} .{layout.suffix}" for name, layout in export.LAYOUTS.items())
_ASKED_FOR = "What is left out for other tools otherwise: " + "; ".join(
    f"{name} ({words})" for name, words in export.ASKED_FOR.items()
)
_ASKED_FOR += "; of trajectories in a .jsonl file: pictures (the bytes of those in the log)"


def export_file(
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join((*export.KINDS, *export.LAYOUTS, _STUDY))}.")],
    out: Annotated[
        Path,
        typer.Option("--out", help=f"The file; .csv, .jsonl or .parquet, of a study also .zip; {_SUFFIXES}."),
    ],
    run: Annotated[str | None, typer.Option("--run", help="The run's name; for `export study` the study's.")] = None,
    study: Annotated[str | None, typer.Option("--study", help="The study's name, for `export study`.")] = None,
    asked_for: Annotated[list[str] | None, typer.Option("--with", help=_ASKED_FOR)] = None,
    licence: Annotated[str, typer.Option(help="The licence that the card of a datasets folder names.")] = "unknown",
    as_json: Json = False,
) -> None:
    """Write what a run holds as CSV, JSONL or parquet, or for another tool; of a study, its tables."""
    if kind == _STUDY:
        run, study = None, study or run
    if (kind == _STUDY) != (study is not None) or (run is None) == (study is None):
        raise BadInput(
            "Say what to export: `export study --study NAME`, whose decisions a .csv holds and all its tables a .zip; "
            "or another kind with `--run NAME`."
        )
    of = {"run": run} if study is None else {"study": study}
    if kind in export.LAYOUTS:
        _for_another_tool(kind, run or "", out, asked_for or [], licence, as_json)
        return
    pictures = asked_for == [export.PICTURES]
    if asked_for and not (pictures and kind == "trajectories"):
        raise BadInput(
            f"--with goes with {', '.join(export.LAYOUTS)}, and --with pictures with trajectories; {kind} hold what "
            "they hold."
        )
    rows = _of_study(study, out) if study is not None else _of_run(kind, run or "", out, pictures)
    emit({"kind": kind, **of, "out": str(out), "rows": rows}, as_json, f"{counted(rows, 'row')} of {kind} in {out}.")


def _for_another_tool(
    layout: str, run: str, out: Path, asked_for: list[str], licence: str, as_json: bool
) -> None:  # fmt: skip
    count = export.export_layout(database_url(), layout, run, out, asked_for, licence)
    unit = export.LAYOUTS[layout].unit
    document = {"kind": layout, "run": run, "out": str(out), unit: count, "with": asked_for}
    emit(document, as_json, f"{count} {unit} in {out} ({export.LAYOUTS[layout].title}).")


def _of_run(kind: str, run: str, out: Path, pictures: bool) -> int:
    return export.export(database_url(), kind, run, out, pictures=pictures)


def _of_study(name: str, out: Path) -> int:
    from console.studies import results  # pandas, which few commands need
    from console.studies.results import csv_files

    with reading() as session:
        frames = results.frames(session, lifecycle.get(session, name).id or 0)
    return csv_files.export(frames, out, lambda: results.record_export(name, out.name))
