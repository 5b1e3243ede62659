"""The report of a reproduction: one HTML page, and a CSV file with one row per figure."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib.resources import files
from io import StringIO
from itertools import groupby
from pathlib import Path

import jinja2

from console.errors import Refused
from console.trials.reproduction.papers import Reproduction
from console.trials.reproduction.tables import COLUMNS, TITLES, Cell, as_rows, list_left_out

HTML, CSV = "report.html", "figures.csv"


def write_report(asked: Reproduction, cells: Sequence[Cell], folder: Path, spent: str = "") -> tuple[Path, Path]:
    """Write the page and the CSV file into a folder and return their paths; raise Refused if the writing fails."""
    page, sheet = folder / HTML, folder / CSV
    try:
        folder.mkdir(parents=True, exist_ok=True)
        page.write_text(render_page(asked, cells, spent), "utf-8")
        sheet.write_text(render_csv(cells), "utf-8")
    except OSError as failed:
        raise Refused(f"{folder} cannot be written ({failed.strerror}). Choose another folder with --out.") from failed
    return page, sheet


def render_csv(cells: Sequence[Cell]) -> str:
    """Return the figures as CSV with the columns of a cell."""
    stream = StringIO()
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(as_rows(cells))
    return stream.getvalue()


def render_page(asked: Reproduction, cells: Sequence[Cell], spent: str = "") -> str:
    """Return the report as one HTML page without links to other files; `spent` is a text on costs."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["figure"] = format_figure
    template = environment.from_string(files(__package__).joinpath("report.html.j2").read_text("utf-8"))
    by_table = [(number, list(group)) for number, group in groupby(cells, key=lambda one: one.table)]
    return template.render(
        title=TITLES[asked.paper], about=describe(asked), spent=spent, tables=by_table, left_out=list_left_out(cells)
    )


def describe(asked: Reproduction) -> str:
    """Describe the played tasks, and the limits of comparing measured with printed figures."""
    real = " and ".join(asked.sources)
    worlds = f"the world of {real}, else the embedded environments" if real else "the embedded environments"
    how = f"Run with the model {asked.model}" if asked.model else "Run offline"
    bar = "They decide at the threshold 0.5. " if asked.model and asked.paper == "inferact" else ""
    errors = "ALFWorld explains why an action had no effect. " if asked.fine_errors else ""
    return (
        f"{how} in {worlds}: {asked.tasks} tasks each, {asked.trials} trials after the first, seed {asked.seed}. "
        f"The Actor of detection and feedback is {asked.actor}; the detectors are {', '.join(asked.detectors)}. "
        f"{bar}{errors}The printed figures are of the paper's models in the original environments: the columns show "
        "the same measure, not the same experiment."
    )


def format_figure(value: float | None) -> str:
    """Return a figure with three decimal places (from 10: with one), without trailing zeros; "" if there is none."""
    if value is None:
        return ""
    return f"{value:.{1 if abs(value) >= 10 else 3}f}".rstrip("0").rstrip(".")
