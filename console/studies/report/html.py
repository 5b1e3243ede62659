"""The report with its tables, in a folder or in one zip.

The report's page: every text escaped, every chart drawn from a table of its own, nothing fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from console.analysis.charts import CHARTS
from console.runs.export import atomic_file
from console.runs.export.formats.columns import iso
from console.studies.analysis import analysis
from console.studies.design import Design
from console.studies.report import methods
from console.studies.report.oversight import oversight
from console.studies.report.sections import SECTIONS, TITLES, ReportSection, Tables, derived
from console.studies.report.tables import Table, table
from console.studies.results import csv_files
from console.studies.results.csv_files import factors_of
from console.studies.results.data_dictionary import table as dictionary

_TEMPLATE = "report.html.j2"


@dataclass(frozen=True, slots=True)
class ReportStamp:
    """What the tables do not tell: when the report was written, and of which state of the database."""

    written_ms: int
    data_version: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart as JSON that no text in it can end, with its title and what it was drawn from."""

    id: str
    title: str
    of: str
    height: int
    spec: Markup


def html(design: Design, frames: Mapping[str, pd.DataFrame], told: ReportStamp) -> str:
    """The whole report, a function of the design and the tidy tables alone."""
    there = tables(frames)
    return str(
        _template().render(
            name=design.name,
            written=iso(told.written_ms),
            data_version=told.data_version,
            facts=_facts(design, frames),
            sections=[_section(section, there) for section in SECTIONS],
            titles=TITLES,
            methods=methods.paragraphs(design, frames),
            conditions=table("conditions", methods.condition_table(design)),
            parameters=methods.parameters(design),
            software=table("software", methods.software()),
            dictionary=table("dictionary", dictionary(factors_of(frames["decisions"]))),
            style=Markup(_asset("report.css")),
            script=Markup(_asset("report.js")),
            plotly=Markup(get_plotlyjs()),
        )
    )


def tables(frames: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Every table behind the report's charts and tables, from the tidy tables alone."""
    points, summary = oversight(frames)
    computed = analysis(frames)
    return {**computed, **derived(computed), "oversight": points, "oversight-summary": summary}


def figures(section: ReportSection, there: Tables) -> Iterator[Figure]:
    """The section's charts that have anything to show."""
    for chart, of, rows in section.charts(there):
        if len(rows):
            drawn = CHARTS[chart](rows)
            place = "-".join(filter(None, (chart, *of.split())))
            spec = Markup(drawn.to_json().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
            yield Figure(place, str(drawn.layout.title.text), of, int(drawn.layout.height or 400), spec)


def _section(section: ReportSection, there: Tables) -> dict[str, Any]:
    shown: list[Table] = [table(name, there[name]) for name in section.tables if len(there[name])]
    drawn = list(figures(section, there))
    said = list(section.says(there))
    about = {"title": section.title, "lead": section.lead, "source": section.source}
    return {**about, "said": said, "figures": drawn, "tables": shown}


def _facts(design: Design, frames: Mapping[str, pd.DataFrame]) -> list[tuple[str, str]]:
    people, decisions = frames["participants"], frames["decisions"]
    human = people["annotator_kind"] == "human"
    own = decisions[decisions["purpose"] == ""]
    spent = frames["budget"]["used"].sum() if len(frames["budget"]) else 0
    return [
        ("people", f"{int(human.sum()):,}"),
        ("simulated reviewers", f"{int((~human).sum()):,}"),
        ("conditions", f"{frames['allocation']['condition'].nunique():,}"),
        ("tasks per condition", f"{design.tasks:,}"),
        ("trials", f"{design.trials:,}"),
        ("decisions", f"{len(own):,}"),
        ("inspections spent", f"{int(spent):,}"),
    ]


@lru_cache(maxsize=1)
def _template() -> Any:
    loader = FileSystemLoader(str(files(__package__)))
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True).get_template(
        _TEMPLATE
    )


@lru_cache(maxsize=4)
def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


REPORT = "report.html"


def write(design: Design, frames: Mapping[str, pd.DataFrame], told: ReportStamp, folder: Path) -> list[Path]:
    """Writes report.html and every table as CSV into the folder; raises BadInput where it cannot."""
    page = html(design, frames, told).encode()
    written = csv_files.write(frames, folder)
    with atomic_file(folder / REPORT) as stream:
        stream.write(page)
    return [folder / REPORT, *written]


def bundle(design: Design, frames: Mapping[str, pd.DataFrame], told: ReportStamp) -> bytes:
    """The same as a zip."""
    return csv_files.archive(frames, {REPORT: html(design, frames, told).encode()})
