"""The renderer of an analysis: the choices, then each part with its sentences, chart, table and downloads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from functools import partial

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from console.analysis.charts import CHARTS
from console.runs.export.formats import as_csv
from console.studies.analysis.format import cell_text, heading, readable, text_table
from console.studies.analysis.parts import Analysis, ResultChoice, ResultPart, charts, sentences
from console.studies.results import record_export
from console.web.sign_in import by_browser
from console.web.studies.results_data import Results
from console.web.widgets.chart import download, preload_charts, show_chart
from console.web.widgets.markup import plain, show_html
from console.web.widgets.tables import capitalize, show_grid, show_rows

_LONG = 24
"""The number of rows from which a table scrolls."""
_FEW = 3
"""The largest number of values that are shown as buttons; more values are shown as a list."""


def show(found: Results, key: str, analysis: Analysis) -> dict[str, str]:
    """Draw the analysis and return the selected choices by column."""
    with preload_charts() if any(part.chart for part in analysis.parts) else nullcontext():
        tables = {part.table: found.table(part.table) for part in analysis.parts}
    chosen: dict[str, str] = {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for choice in analysis.choices:
            if value := _choose(choice, f"{key}-{choice.key}", tables):
                chosen[choice.column] = value
                for name, table in tables.items():
                    tables[name] = table[table[choice.column] == value] if choice.column in table else table
    for number, part in enumerate(analysis.parts):
        _show_part(found, part, tables[part.table], chosen, f"{part.table}-{number}")
    if any(map(len, tables.values())):  # A lead explains tables.
        st.caption(f"{analysis.lead} Source: {analysis.source}.")
    return chosen


def _choose(choice: ResultChoice, key: str, tables: Mapping[str, pd.DataFrame]) -> str | None:
    columns = [table[choice.column] for table in tables.values() if choice.column in table]
    values = list(dict.fromkeys(str(value) for column in columns for value in column))
    if len(values) < 2:
        return None
    if len(values) > _FEW:
        return st.selectbox(choice.label, values, key=key, format_func=choice.name_of, width=320)
    return st.segmented_control(
        choice.label, values, default=values[0], required=True, key=key, format_func=choice.name_of
    )


def _show_part(found: Results, part: ResultPart, table: pd.DataFrame, hidden: Collection[str], key: str) -> None:
    drawn, grid = list(charts(part, table)), part.laid_out(table)
    if not (drawn or len(grid) or part.sentence):
        return
    if not drawn:  # A chart has its own title.
        st.header(part.title, anchor=False)
    told = list(sentences(part, table))
    for of, sentence in told:
        # Escaped, because the sentence may quote a name.
        for line in sentence.splitlines():
            asked, mark, found_ = line.partition("? ") if len(told) < 2 else (of, "", line)
            head = f"<h2>{plain(f'{asked}{mark}'.strip())}</h2>" if found_ else ""
            show_html(f'<div class="ia-finding">{head}<p>{plain(found_ or line)}</p></div>')
    for of, rows in drawn:
        name = "-".join(filter(None, (part.chart, of if len(drawn) > 1 else "")))
        file, figure = f"{found.name}-{name}", _figure(part.chart, rows)
        show_chart(figure, partial(as_csv, rows), key=f"study-{name}", file=file, leaving=exporting(found))
    if len(grid):
        _show_table(part, grid, hidden, key)
        file, make = f"{found.name}-{part.table}.csv", partial(as_csv, table)
        download("Table (CSV)", make, file, "text/csv", f"csv-{key}", leaving=exporting(found))


@st.cache_resource(max_entries=64, show_spinner=False)
def _figure(name: str, table: pd.DataFrame) -> go.Figure:
    """Return the cached chart of the table; building a chart takes longer than the rest of the page."""
    return CHARTS[name](table)


def _show_table(part: ResultPart, grid: pd.DataFrame, hidden: Collection[str], key: str) -> None:
    if part.about:
        st.caption(part.about)
    # The sentences name the reviewers; a column of one value takes the room of the figures.
    if "reviewers" in grid and grid["reviewers"].nunique() == 1:
        grid = grid.drop(columns="reviewers")
    if part.printed:
        grid = grid.drop(columns=[column for column in hidden if column in grid])
        table = text_table(grid, part.columns)
        titles = {str(place): title for place, title in enumerate(table.head)}
        rows = [{str(place): cell for place, cell in enumerate(row)} for row in table.rows]
        whose = {str(place) for place, column in enumerate(grid) if column in ("reviewers", "count", "condition")}
        show_rows(rows, titles, numbers=titles.keys() - whose, label=part.title)
    else:
        _show_grid(part, grid, hidden, key)


def _show_grid(part: ResultPart, grid: pd.DataFrame, hidden: Collection[str], key: str) -> None:
    shown, notes = readable(grid, hidden)
    names = list(map(str, shown))
    heads = {name: st.column_config.Column(capitalize(heading(name, part.columns))) for name in names}
    for name, head in heads.items():
        # The grid fits a column to its usual cells and cuts its head, and a name of twice their length.
        words = [str(head["label"]), *(cell for cell in shown[name] if isinstance(cell, str))]
        head["width"] = min(420, 24 + 7 * max(map(len, words)))
    show_grid(
        shown.style.format({name: partial(cell_text, column=name, columns=part.columns) for name in names}),
        part.title,
        key=f"grid-{key}",
        width="content",
        height="content" if len(shown) < _LONG else 480,
        column_config=heads,
        placeholder="–",
    )
    if len(shown) >= _LONG:
        st.caption(f"{len(shown):,} rows. Scroll to see all.")
    if notes:
        show_html(f'<ol class="ia-notes">{"".join(f"<li>{plain(note)}</li>" for note in notes)}</ol>')


def exporting(found: Results) -> Callable[[str], None]:
    """Return a function that records this visitor's download of a results file of the study."""
    return partial(record_export, found.name, by=by_browser())
