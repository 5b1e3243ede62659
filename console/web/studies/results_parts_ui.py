"""How a part of a study's results stands on the page: what it says, its chart, its table, its download."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from console.analysis.charts import CHARTS
from console.analysis.charts.agreement import MEASURES
from console.runs.export.formats import as_csv
from console.studies.report.format import P_VALUES, p_value, title
from console.web.studies.results_data import Results
from console.web.widgets.chart import show_chart
from console.web.widgets.markup import plain

_LONG = 24
"""From so many rows on a table scrolls."""
_DIGITS = 3


def say(sentence: str) -> None:
    """What the numbers say; it may quote a name, so it is never read as Markdown."""
    st.text(sentence)


def reviewers(table: pd.DataFrame, key: str) -> pd.DataFrame:
    """The rows of people or of simulated reviewers, as chosen where there are both."""
    kinds = list(dict.fromkeys(table["reviewers"])) if len(table) else []
    if len(kinds) < 2:
        return table
    kind = st.segmented_control("Whose", kinds, default=kinds[0], key=f"{key}-whose", required=True)
    chosen: pd.DataFrame = table[table["reviewers"] == kind]
    return chosen


def chart(found: Results, name: str, table: pd.DataFrame) -> None:
    """The chart of that name with its downloads."""
    if len(table):
        show_chart(_drawn(name, table), lambda: as_csv(table), key=f"study-{name}", file=f"{found.name}-{name}")


@st.cache_resource(max_entries=64, show_spinner=False)
def _drawn(name: str, table: pd.DataFrame) -> go.Figure:
    """Building a figure takes longer than all else of a page that has been opened before."""
    return CHARTS[name](table)


def grid(found: Results, name: str, table: pd.DataFrame, hidden: Collection[str] = ()) -> None:
    """The table without its empty columns, its notes and methods below it, and all of it as CSV."""
    shown, told = _footnoted(table.drop(columns=[column for column in hidden if column in table]))
    shown = shown.loc[:, [bool(shown[column].notna().any() and (shown[column] != "").any()) for column in shown]]
    shown = shown.assign(**{str(column): _cells(str(column), shown[column]) for column in shown})
    st.dataframe(
        shown,
        key=f"grid-{name}",
        hide_index=True,
        height="content" if len(shown) < _LONG else 480,
        column_config={str(column): _column(str(column), shown[column]) for column in shown},
        placeholder="–",
    )
    if len(shown) >= _LONG:
        st.caption(f"{len(shown):,} rows; the table scrolls.")
    if told:
        lines = "".join(f"<li>{plain(line)}</li>" for line in told)
        st.html(f'<ol class="ia-notes">{lines}</ol>')
    download(found, name, table)


def _footnoted(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The table with numbers in the place of long texts, and these texts, each once, in the order of their numbers."""
    columns = [column for column in ("note", "method") if column in table]
    told = list(dict.fromkeys(text for column in columns for text in table[column] if text))
    numbered = {text: str(place) for place, text in enumerate(told, 1)} | {"": ""}
    return table.assign(**{column: table[column].map(numbered) for column in columns}), told


def download(found: Results, name: str, table: pd.DataFrame) -> None:
    """The whole table as CSV."""
    file = f"{found.name}-{name}.csv"
    st.download_button(
        "Table (CSV)", lambda: as_csv(table), file, "text/csv", key=f"csv-{name}", on_click="ignore", type="tertiary"
    )


def _cells(name: str, cells: pd.Series[Any]) -> pd.Series[Any]:
    """The column with few digits, no sign on a zero, and measures by their names."""
    if name in P_VALUES:
        return cells.map(p_value)
    if name == "measure":
        return cells.replace(MEASURES)
    if not pd.api.types.is_float_dtype(cells):
        return cells
    # What would be printed as -0.000.
    return cells.mask((cells <= 0) & (cells.round(_DIGITS) == 0), 0.0)


def _column(name: str, cells: pd.Series[Any]) -> Any:
    if name in P_VALUES:
        return st.column_config.TextColumn(title(name), alignment="right")
    if pd.api.types.is_float_dtype(cells):
        return st.column_config.NumberColumn(title(name), format=f"%.{_DIGITS}f")
    if pd.api.types.is_integer_dtype(cells):
        return st.column_config.NumberColumn(title(name), format="localized")
    return st.column_config.TextColumn(title(name))
