"""The report as one HTML file that fetches nothing, and with its tables in a folder or in one zip.

It is a renderer of ANALYSES: every text escaped, every chart drawn from a table of results.
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
from console.studies.analysis import ANALYSES, result_tables
from console.studies.analysis.format import text_table
from console.studies.analysis.parts import Analysis, charts, sentences
from console.studies.design import Design
from console.studies.design.yaml_file import dump
from console.studies.report import methods
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


def html(design: Design, frames: Mapping[str, pd.DataFrame], stamp: ReportStamp) -> str:
    """The whole report, a function of the design and the tidy tables alone."""
    tables = result_tables(frames)
    return str(
        _template().render(
            name=design.name,
            written=iso(stamp.written_ms),
            data_version=stamp.data_version,
            facts=_facts(design, frames),
            sections=[_section(each, tables) for each in ANALYSES.values()],
            methods=methods.paragraphs(design, frames),
            conditions=text_table(methods.condition_table(design)),
            parameters=dump(design),
            software=text_table(methods.software()),
            dictionary=text_table(dictionary(factors_of(frames["decisions"]))),
            style=Markup(_asset("report.css")),
            script=Markup(_asset("report.js")),
            plotly=Markup(get_plotlyjs()),
        )
    )


def figures(analysis: Analysis, tables: Mapping[str, pd.DataFrame]) -> Iterator[Figure]:
    """The charts of the analysis that have anything to show."""
    for part in analysis.parts:
        for of, rows in charts(part, analysis.first(tables[part.table])):
            drawn = CHARTS[part.chart](rows)
            place = "-".join([part.chart, *of.split()])
            spec = Markup(drawn.to_json().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
            yield Figure(place, str(drawn.layout.title.text), of, int(drawn.layout.height or 400), spec)


def _section(analysis: Analysis, tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    parts = [(part, tables[part.table]) for part in analysis.parts]
    grids = [(part, part.laid_out(frame)) for part, frame in parts]
    return {
        "title": analysis.title,
        "lead": analysis.lead,
        "source": analysis.source,
        "sentences": [said for part, frame in parts for said in sentences(part, analysis.first(frame))],
        "figures": list(figures(analysis, tables)),
        "tables": [(part.title, part.about, text_table(grid, part.columns)) for part, grid in grids if len(grid)],
    }


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


def write(design: Design, frames: Mapping[str, pd.DataFrame], stamp: ReportStamp, folder: Path) -> list[Path]:
    """Writes report.html and every table as CSV into the folder; raises BadInput where it cannot."""
    page = html(design, frames, stamp).encode()
    written = csv_files.write(frames, folder)
    with atomic_file(folder / REPORT) as stream:
        stream.write(page)
    return [folder / REPORT, *written]


def bundle(design: Design, frames: Mapping[str, pd.DataFrame], stamp: ReportStamp) -> bytes:
    """The same as a zip."""
    return csv_files.archive(frames, {REPORT: html(design, frames, stamp).encode()})
