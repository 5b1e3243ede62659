"""The report as one self-contained HTML file that renders ANALYSES, with every text escaped.

It contains the flow of participants as a picture in SVG, after the diagram of CONSORT (2010): steps, and losses beside
them. The picture is a function of the table `flow` alone.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from console.analysis.charts import CHARTS
from console.runs import iso
from console.studies.analysis import ANALYSES, result_tables
from console.studies.analysis.format import TextTable, text_table
from console.studies.analysis.frames import Frames
from console.studies.analysis.parts import Analysis, ResultPart, charts, sentences
from console.studies.design import Design
from console.studies.design.yaml_file import dump
from console.studies.report import statements
from console.studies.results import csv_files

_TEMPLATE = "report.html.j2"


@dataclass(frozen=True, slots=True)
class ReportStamp:
    """The time of a report, its data version, and its plan.

    `fingerprint` is the SHA-256 of the design and the allocation at the study's creation. `plan` is the preregistration
    as Markdown, with the currently stored allocation.
    """

    written_ms: int
    data_version: str
    fingerprint: str = ""
    plan: str = ""

    @property
    def plan_apart(self) -> str:
        """A sentence with the reason why the plan's current fingerprint differs; empty if the fingerprints agree."""
        said = (
            "plan.md shows the current allocation. Later withdrawals, or simulated reviewers who "
            "took places of people, have changed it and its fingerprint."
        )
        return said if self.plan and self.fingerprint not in self.plan else ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart as JSON that is safe inside a script element, with its title and source."""

    id: str
    title: str
    of: str
    height: int
    spec: Markup


def html(design: Design, frames: Frames, stamp: ReportStamp, computed: Frames | None = None) -> str:
    """Return the whole report, from the design and the tidy tables alone; `computed` may pass its result tables."""
    tables = computed or result_tables(frames)
    flow = statements.flow(design, frames)
    return str(
        _template().render(
            name=design.name,
            written=iso(stamp.written_ms),
            data_version=stamp.data_version,
            fingerprint=stamp.fingerprint,
            plan_apart=stamp.plan_apart,
            facts=[(name, f"{count:,}") for name, count in statements.facts(design, frames).itertuples(index=False)],
            flow=text_table(flow),
            flow_picture=Markup(flow_svg(flow, inline=True)),
            flow_about=statements.FLOW_ABOUT,
            deviations=statements.deviations(design, frames),
            sections=[_section(each, tables) for each in ANALYSES.values()],
            is_wide=_is_wide,
            methods=statements.paragraphs(design, frames),
            conditions=text_table(statements.condition_table(design)),
            parameters=dump(design),
            software=text_table(statements.software()),
            dictionary=text_table(csv_files.table(csv_files.factors_of(frames["decisions"]))),
            style=Markup(asset("report.css")),
            script=Markup(asset("report.js")),
            plotly=b64encode(zlib.compress(get_plotlyjs().encode())).decode(),
        )
    )


def figures(analysis: Analysis, tables: Frames) -> Iterator[Figure]:
    """Return the charts of the analysis that have data."""
    for part in analysis.parts:
        for of, rows in charts(part, analysis.first(tables[part.table])):
            drawn = CHARTS[part.chart](rows)
            place = "-".join([part.chart, *of.split()])
            spec = Markup(drawn.to_json().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
            yield Figure(place, str(drawn.layout.title.text), of, int(drawn.layout.height or 400), spec)


def _section(analysis: Analysis, tables: Frames) -> dict[str, Any]:
    grids = [(part, part.laid_out(tables[part.table])) for part in analysis.parts]
    return {
        "title": analysis.title,
        "lead": analysis.lead,
        "source": analysis.source,
        "sentences": list(_sentences(analysis, tables)),
        "figures": list(figures(analysis, tables)),
        "tables": [
            (part.title, _about(part, len(grid)), text_table(grid.head(_MOST_ROWS), part.columns))
            for part, grid in grids
            if len(grid)
        ],
    }


_MOST_ROWS = 60
"""The maximum number of rows; without it, all pairs of fourteen conditions would fill about forty A4 pages."""


def _about(part: ResultPart, rows: int) -> str:
    cut = f"The first {_MOST_ROWS} of {rows:,} rows; tables/{part.table}.csv has all of them."
    return " ".join(filter(None, [part.about, cut if rows > _MOST_ROWS else ""]))


def report_sentences(design: Design, frames: Frames, tables: Frames) -> pd.DataFrame:
    """Return every sentence of the report that contains or depends on numbers. Columns: part, about, sentence."""
    rows = [
        *((key, of, sentence) for key, each in ANALYSES.items() for of, sentence in _sentences(each, tables)),
        *(("deviations", "", sentence) for sentence in statements.deviations(design, frames)),
        *(("methods", heading, text) for heading, text in statements.paragraphs(design, frames)),
    ]
    return pd.DataFrame(rows, columns=["part", "about", "sentence"])


def _sentences(analysis: Analysis, tables: Frames) -> Iterator[tuple[str, str]]:
    for part in analysis.parts:
        for of, text in sentences(part, analysis.first(tables[part.table])):
            yield from ((of, line) for line in text.splitlines())


_PORTRAIT, _COLUMN = 116, 24
"""The characters of a table that fit on a portrait A4 page at 8 pt, and the width of a column with longer texts."""


def _is_wide(table: TextTable) -> bool:
    heads = [max(map(len, head.split()), default=0) for head in table.head]
    cells = [[min(len(cell), _COLUMN) for cell in row] for row in table.rows]
    return bool(sum(max(column) + 2 for column in zip(heads, *cells, strict=True)) > _PORTRAIT)


@lru_cache(maxsize=1)
def _template() -> Any:
    loader = FileSystemLoader(str(files(__package__)))
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True).get_template(
        _TEMPLATE
    )


@lru_cache(maxsize=4)
def asset(name: str) -> str:
    """Return the text of a file that is part of the page or of the report's folder."""
    return files(__package__).joinpath(name).read_text("utf-8")


_STEPS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("joined", "Joined", ("declined the consent", "screened out", "over a quota", "failed the quiz")),
    ("decided on an item of the study", "Decided on an item", ("excluded by a rule", "withdrew")),
    ("finished", "Finished", ()),
)
"""Each step with its heading and the losses between it and the next step, as named in the table."""

_NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'
_WIDTH, _BOX, _HIGH, _GAP, _LINE = 600, 300, 58, 64, 20
_RARE_LOSSES = ("over a quota", "failed the quiz")
"""Losses that are drawn only if they have occurred."""
_ASIDE = _WIDTH - _BOX


def flow_svg(flow: pd.DataFrame, *, inline: bool = False) -> str:
    """Return the flow chart as an SVG document, or as an element for a page if `inline`; count simulated reviewers."""
    counts = {str(row["step"]): row for row in flow.to_dict("records")}
    simulated = bool(flow["simulated"].sum())
    height = len(_STEPS) * (_HIGH + _GAP) - _GAP + 2
    parts = [part for place, step in enumerate(_STEPS) for part in _step(counts, step, place, simulated=simulated)]
    label = "; ".join(_words(title, counts[name], simulated=simulated) for name, title, _ in _STEPS)
    return (
        f'<svg{"" if inline else _NAMESPACE} class="flow" viewBox="-1 -1 {_WIDTH + 2} {height}" role="img" '
        f'aria-label="{escape(label)}" width="{_WIDTH}" font-family="system-ui, sans-serif" font-size="14" '
        f'fill="currentColor" stroke="none">{"".join(parts)}</svg>'
    )


def _step(
    counts: Mapping[str, Mapping[object, int]], step: tuple[str, str, tuple[str, ...]], place: int, *, simulated: bool
) -> Iterator[str]:
    name, title, losses = step
    top = place * (_HIGH + _GAP)
    yield _box(0, top, [title, _counted(counts[name], simulated=simulated)])
    if place + 1 == len(_STEPS):
        return
    middle, below = _BOX // 2, top + _HIGH
    yield _arrow(middle, below, middle, below + _GAP)
    if losses:
        aside = below + _GAP // 2
        yield _arrow(middle, aside, _ASIDE, aside)
        kept = [loss for loss in losses if loss not in _RARE_LOSSES or counts[loss]["people"]]
        lines = [_words(loss[0].upper() + loss[1:], counts[loss], simulated=simulated) for loss in kept]
        yield _box(_ASIDE, aside - _high(lines) // 2, lines)


def _words(title: str, row: Mapping[object, int], *, simulated: bool) -> str:
    return f"{title}: {_counted(row, simulated=simulated)}"


def _counted(row: Mapping[object, int], *, simulated: bool) -> str:
    people = f"{row['people']:,}"
    return f"{people} + {row['simulated']:,} simulated" if simulated else people


def _high(lines: list[str]) -> int:
    return _HIGH + _LINE * (len(lines) - 2)


def _box(left: int, top: int, lines: list[str]) -> str:
    texts = "".join(
        f'<text x="{left + 12}" y="{top + 24 + _LINE * place}">{escape(line)}</text>'
        for place, line in enumerate(lines)
    )
    frame = (
        f'<rect x="{left}" y="{top}" width="{_BOX}" height="{_high(lines)}" rx="4" fill="none" stroke="currentColor"/>'
    )
    return frame + texts


def _arrow(left: int, top: int, right: int, bottom: int) -> str:
    tip = f"{right},{bottom} " + (
        f"{right - 4},{bottom - 7} {right + 4},{bottom - 7}"
        if left == right
        else f"{right - 7},{bottom - 4} {right - 7},{bottom + 4}"
    )
    line = f'<line x1="{left}" y1="{top}" x2="{right}" y2="{bottom}" stroke="currentColor"/>'
    return f'{line}<polygon points="{tip}"/>'
