"""The report as one HTML file that fetches nothing, and with its tables in a folder or in one zip.

It is a renderer of ANALYSES: every text escaped, every chart drawn from a table of results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from console.analysis.charts import CHARTS
from console.runs.export import atomic_file
from console.runs.export.formats import as_csv
from console.runs.export.formats.columns import iso
from console.studies.analysis import ANALYSES, result_tables
from console.studies.analysis.format import text_table
from console.studies.analysis.frames import groups
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
    """What the tables do not tell: when the report was written, of which state of the database, and of which plan.

    `fingerprint` is the SHA-256 of design and allocation as the study was made, as its preregistration has it.
    """

    written_ms: int
    data_version: str
    fingerprint: str = ""


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
            fingerprint=stamp.fingerprint,
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
    return [
        ("people", f"{int(human.sum()):,}"),
        ("simulated reviewers", f"{int((~human).sum()):,}"),
        ("conditions", f"{frames['allocation']['condition'].nunique():,}"),
        ("tasks per condition", f"{design.tasks:,}"),
        ("trials", f"{design.trials:,}"),
        *((f"decisions by {who}", f"{len(rows):,}") for who, rows in groups(own)),
        *((f"inspections spent by {who}", f"{int(rows['used'].sum()):,}") for who, rows in groups(frames["budget"])),
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
_SCRIPT = "analysis.py"
_SUMS = "checksums.sha256"


def write(design: Design, frames: Mapping[str, pd.DataFrame], stamp: ReportStamp, folder: Path) -> list[Path]:
    """Writes the report, the tidy tables, those computed from them and the rest into the folder; raises BadInput."""
    more = _beside(design, frames, stamp)
    csv_files.write(frames, folder)
    for name, content in more.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(folder / name) as stream:
            stream.write(content)
    names = [REPORT, *csv_files.names(frames), *(name for name in more if name != REPORT)]
    sums = {name: (folder / name).read_bytes() for name in names}
    with atomic_file(folder / _SUMS) as stream:
        stream.write(_checksums(sums))
    return [folder / name for name in (*names, _SUMS)]


def bundle(design: Design, frames: Mapping[str, pd.DataFrame], stamp: ReportStamp) -> bytes:
    """The same as a zip."""
    contents = csv_files.contents(frames) | _beside(design, frames, stamp)
    return csv_files.zipped(contents | {_SUMS: _checksums(contents)})


def _beside(design: Design, frames: Mapping[str, pd.DataFrame], stamp: ReportStamp) -> dict[str, bytes]:
    """What goes with the tidy tables: the page, the design, every computed table, and the script that computes them."""
    computed = result_tables(frames)
    tables = {f"tables/{name}.csv": as_csv(frame) for name, frame in computed.items()}
    return {
        REPORT: html(design, frames, stamp).encode(),
        "contrasts.csv": tables["tables/contrasts.csv"],
        "design.yaml": dump(design).encode(),
        _SCRIPT: _asset("recompute.py").encode(),
        **tables,
    }


def _checksums(contents: Mapping[str, bytes]) -> bytes:
    lines = (f"{sha256(content).hexdigest()}  {name}\n" for name, content in sorted(contents.items()))
    return "".join(lines).encode()
