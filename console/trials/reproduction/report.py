"""The report of a reproduction: one HTML page with charts, and a CSV file with one row per figure."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from io import StringIO
from itertools import groupby
from pathlib import Path

import jinja2
import pandas as pd
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from console.analysis.charts.detectors import published_overlay
from console.errors import Refused
from console.language import counted
from console.trials.reproduction.papers import Reproduction
from console.trials.reproduction.tables import COLUMNS, TITLES, Cell, as_rows, list_left_out

HTML, CSV = "report.html", "figures.csv"
_METRICS = {"macro_f1": "Macro-F1", "er": "ER", "pr_auc": "PR-AUC", "ece": "ECE", "usd": "USD"}
_COUNTS = frozenset({"cost", "successful", "failed", "halted", "total", "ended with an error", "inspections"})
"""Figures that grow with the number of tasks, so that a chart would compare nothing."""


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
    tables = [(number, group, list(draw_charts(group))) for number, group in by_table]
    return template.render(
        title=TITLES[asked.paper],
        about=describe(asked),
        spent=spent,
        tables=tables,
        left_out=list_left_out(cells),
        plotly=Markup(get_plotlyjs()) if any(charts for *_, charts in tables) else "",
    )


def draw_charts(cells: Sequence[Cell]) -> Iterator[Markup]:
    """Return a chart for each metric and environment of a table with measured and printed figures, as HTML."""
    places = dict.fromkeys((one.environment, one.metric) for one in cells if one.metric not in _COUNTS)
    for place in places:
        rows = [row for one in cells if (one.environment, one.metric) == place for row in _list_marks(one)]
        if len({row["source"] == "here" for row in rows}) == 2:
            figure = published_overlay(pd.DataFrame(rows))
            yield Markup(figure.to_html(full_html=False, include_plotlyjs=False, config={"responsive": True}))


def _list_marks(one: Cell) -> Iterator[dict[str, object]]:
    metric = _METRICS.get(one.metric, one.metric.replace("_", " "))
    shown = {"detector": escape(one.row), "metric": escape(f"{metric}, {one.environment}")}
    if one.printed is not None:
        paper = f"the paper, {one.model}" if one.model else "the paper"
        yield {**shown, "source": escape(paper), "value": one.printed, "low": None, "high": None}
    if one.measured is not None:
        yield {**shown, "source": "here", "value": one.measured, "low": one.low, "high": one.high}


def describe(asked: Reproduction) -> str:
    """Describe the played tasks, and the limits of comparing measured with printed figures."""
    real = " and ".join(asked.sources)
    worlds = f"the world of {real}, else the embedded environments" if real else "the embedded environments"
    how = f"Run with the model {asked.model}" if asked.model else "Run offline"
    bar = "They decide at the threshold 0.5. " if asked.model and asked.paper == "inferact" else ""
    errors = "ALFWorld explains why an action had no effect. " if asked.fine_errors else ""
    return (
        f"{how} in {worlds}: {counted(asked.tasks, 'task')} each, {counted(asked.trials, 'trial')} after the first, "
        f"seed {asked.seed}. The Actor of detection and feedback is {asked.actor}; the detectors are "
        f"{', '.join(asked.detectors)}. {bar}{errors}The printed figures are of the paper's models in the original "
        "environments: the columns show the same measure, not the same experiment."
    )


def format_figure(value: float | None) -> str:
    """Return a figure with three decimal places (from 10: with one), without trailing zeros, or "" if there is none."""
    if value is None:
        return ""
    return f"{value:.{1 if abs(value) >= 10 else 3}f}".rstrip("0").rstrip(".")
