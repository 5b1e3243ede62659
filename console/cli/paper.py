"""`inferact paper`: play what a paper's tables need, and report the printed figures beside the measured ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from console.cli.output import Json, emit_json, progress, say, split_names
from console.errors import BadInput

_EXAMPLE = "Example: inferact paper inferact --offline --tables 3,7 --out report"
app = typer.Typer(
    help="Reproduce the tables of a paper offline, with intervals, as an HTML report and a CSV file.",
    epilog=_EXAMPLE,
    no_args_is_help=True,
)

Offline = Annotated[bool, typer.Option("--offline", help="Use the scripted Actor and detectors without a model.")]
Tasks = Annotated[int, typer.Option(min=2, help="Tasks per environment.")]
Trials = Annotated[int, typer.Option(min=1, help="Trials after the first one.")]
Tables = Annotated[str, typer.Option(help="Numbers of the tables, comma-separated (default: all).")]
Seed = Annotated[int, typer.Option(help="Random seed of tasks and inspection order.")]
Out = Annotated[Path, typer.Option(help="Folder for report.html and figures.csv.")]


@app.command("inferact", epilog=_EXAMPLE)
def inferact(
    offline: Offline = False,
    tasks: Tasks = 60,
    trials: Trials = 3,
    tables: Tables = "",
    seed: Seed = 0,
    out: Out = Path("paper-inferact"),
    as_json: Json = False,
) -> None:
    """Reproduce InferAct: detection, calibration, success by feedback, outcomes and the quota."""
    _reproduce("inferact", offline, tasks, trials, tables, seed, out, as_json)


@app.command("devils-advocate", epilog="Example: inferact paper devils-advocate --offline")
def devils_advocate(
    offline: Offline = False,
    tasks: Tasks = 60,
    trials: Trials = 6,
    tables: Tables = "",
    seed: Seed = 0,
    out: Out = Path("paper-devils-advocate"),
    as_json: Json = False,
) -> None:
    """Reproduce Devil's Advocate: success, actions per trial and plan revisions."""
    _reproduce("devils-advocate", offline, tasks, trials, tables, seed, out, as_json)


@app.command("autoplan", epilog="Example: inferact paper autoplan --offline")
def autoplan(
    offline: Offline = False,
    tasks: Tasks = 60,
    tables: Tables = "",
    seed: Seed = 0,
    out: Out = Path("paper-autoplan"),
    as_json: Json = False,
) -> None:
    """Reproduce AutoPlan: success by type of household task, and accuracy on questions."""
    _reproduce("autoplan", offline, tasks, 1, tables, seed, out, as_json)


def _reproduce(
    paper: str, offline: bool, tasks: int, trials: int, tables: str, seed: int, out: Path, as_json: bool
) -> None:
    from console.trials.reproduction import papers, report  # numpy and scipy, which few commands need

    if not offline:
        raise BadInput("Only reproductions without a model exist. Add --offline.")
    numbers = split_names(tables) if tables else []
    if not all(number.isdecimal() for number in numbers):
        raise BadInput(f"--tables {tables!r} is not a list of numbers. Give numbers such as 3,7.")
    asked = papers.Reproduction(
        paper, tasks, trials, seed, frozenset(map(int, numbers)), lambda name: progress(f"{name}: trials")
    )
    cells = papers.reproduce(asked)
    page, sheet = report.write_report(asked, cells, out)
    measured = sum(one.measured is not None for one in cells)
    if as_json:
        emit_json({"paper": paper, "figures": len(cells), "measured": measured, "files": [str(page), str(sheet)]})
        return
    say(f"{measured} of {len(cells)} figures have a measured value. Open {page}; the rows are in {sheet}.")
    for sentence in papers.list_left_out(cells):
        say(sentence)
