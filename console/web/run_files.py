"""The charts of a run with their downloads, and the audit record of each download."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd
import streamlit as st

from console.analysis.charts import CHARTS
from console.database import database_url
from console.detection import oversight
from console.runs import export
from console.runs.export.formats import as_csv
from console.web.sign_in import by_browser
from console.web.widgets.chart import show_chart


def exporting(run_name: str | None) -> Callable[[str], None]:
    """Return a function that records this visitor's download of a file; `run_name` is None for several runs."""
    return partial(export.record_file, database_url(), run_name, by_browser())


def show_run_chart(run: str, name: str, table: pd.DataFrame, *, of: str = "", page: str = "chart") -> None:
    """Draw this chart of the table, and its `sample`; `of` and `page` distinguish charts with the same name."""
    figure, part = CHARTS[name](table), f"{name}-{of}" if of else name
    for stated in table["sample"].head(1) if "sample" in table else ():
        place = {"x": 1, "y": 1, "xref": "paper", "yref": "paper", "xanchor": "right", "yanchor": "bottom"}
        figure.add_annotation(text=f"Sample: {stated}", showarrow=False, **place)
    show_chart(
        figure,
        partial(as_csv, table),
        key=f"{page}-{part}",
        file=f"{run}-{part}",
        picture=st.session_state.get("picture") or "png",
        leaving=exporting(run),
    )


def show_burn_down(run: str, burnt: pd.DataFrame, *, page: str = "chart") -> None:
    """Draw the use of the run's budget as a chart, or as sentences if there are too few points for a line."""
    if burnt.empty:
        st.caption("No inspections used yet.")
    elif oversight.is_line(burnt):
        show_run_chart(run, "budget-burn-down", burnt, page=page)
    else:
        st.markdown("  \n".join(oversight.in_words(burnt)))
