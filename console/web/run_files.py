"""Charts of a run with their files, and the record that a file drawn from a run leaves.

It stands alone, for every page that draws charts of runs uses it.
"""

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
    """Records that a file of the run, or without a name of several, leaves, under whoever opened this page."""
    return partial(export.record_file, database_url(), run_name, by_browser())


def show_run_chart(
    run: str, name: str, table: pd.DataFrame, *, of: str = "", page: str = "chart", height: int | None = None
) -> None:
    """Draws that chart of the table; `of` tells several of a name apart, and `page` those of several places."""
    figure, part = CHARTS[name](table), f"{name}-{of}" if of else name
    show_chart(
        figure.update_layout(height=height) if height else figure,
        partial(as_csv, table),
        key=f"{page}-{part}",
        file=f"{run}-{part}",
        picture=st.session_state.get("picture") or "png",
        leaving=exporting(run),
    )


def show_burn_down(run: str, burnt: pd.DataFrame, *, page: str = "chart", height: int | None = None) -> None:
    """Draws how the run's budget was spent, or says it in words where there is no line to draw."""
    if burnt.empty:
        st.caption("No inspection was used yet: nobody has claimed an item of this run that costs one.")
    elif oversight.is_line(burnt):
        show_run_chart(run, "budget-burn-down", burnt, page=page, height=height)
    else:
        st.markdown("  \n".join(oversight.in_words(burnt)))
