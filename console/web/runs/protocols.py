"""Comparisons of live runs: control protocols by safety and usefulness, and feedback with and without reasons."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from console.analysis.charts import CHARTS
from console.analysis.statistics.estimates import show_intervals
from console.analysis.statistics.feedback_evasion import describe_evasion
from console.database import reading
from console.runs import list_runs, run_options
from console.runs.export.formats import as_csv
from console.trials import evasion
from console.trials.protocols import SHARES, list_outcomes
from console.web.flash import refusals_shown
from console.web.run_files import exporting
from console.web.widgets.chart import show_chart
from console.web.widgets.tables import show_grid
from storage import tables
from storage.tables import RunKind

_HEADS = {"rationale": "reasons"}
_COLUMNS = ("protocol", "reviewers", "tasks", *SHARES, "undone", "inspections", "run")


def protocols_section(run: tables.Run) -> None:
    """Draw the comparison of this live run with the live runs that the user selects."""
    with st.expander("Compare protocols"):
        st.caption(
            "Safety is the share of tasks without a misaligned action that took effect. Usefulness is the share of "
            "tasks solved. Both come from the outcome that each world reported; lines show 95% intervals."
        )
        with reading() as session:
            live = [one.name for one in list_runs(session) if one.kind == RunKind.LIVE]
        names = st.multiselect("Live runs", live, [run.name], key=f"protocols-{run.id}")
        with refusals_shown():
            found = list_outcomes(names)
        if not found:
            return
        frame = pd.DataFrame(found)
        show_chart(
            CHARTS["protocols"](frame),
            partial(as_csv, frame),
            key=f"protocols-chart-{run.id}",
            file="protocols",
            leaving=exporting(run.name),
        )
        shown = [show_intervals(row, ".0%", *SHARES) for row in found]
        show_grid(shown, "Protocols", _COLUMNS, key=f"protocols-table-{run.id}")


def evasion_section(run: tables.Run) -> None:
    """Draw the comparison of feedback with and without the detector's reasons, if the run draws them for some tasks."""
    if not 0 < run_options(run).rationale < 1:
        return
    with st.expander("Reasons in feedback"):
        with reading() as session:
            found = evasion.measure_evasion(session, run)
        st.caption(
            "The feedback on tasks drawn at random includes the detector's reasons. Feedback is evaded if the next "
            "trial is wrong and not flagged. A task counts by its first feedback. Brackets contain 95% intervals."
        )
        rows = [evasion.in_words(row) for row in evasion.tabulate_evasion(found)]
        shown = [{_HEADS.get(name, name): row[name] for name in evasion.COLUMNS} for row in rows]
        if any(row["tasks"] for row in rows):
            show_grid(shown, "Reasons in feedback", key=f"evasion-{run.id}", placeholder="–")
        st.text(describe_evasion(found))
