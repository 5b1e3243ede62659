"""Recall and precision of the routing detector over all actions of a run, from reviews and random audits."""

from __future__ import annotations

import streamlit as st

from console import runs
from console.analysis.statistics.estimates import number
from console.database import now_ms, reading
from console.detection import certificate
from console.errors import Refused
from console.web.widgets.tables import show_grid


def show_corrected_figures(run_name: str) -> None:
    """Draw the corrected figures, or a note that decisions cover inspected items only."""
    st.header("From your reviews", anchor=False)
    try:
        with reading() as session:
            found = certificate.certify(session, runs.get(session, run_name), now_ms())
    except Refused:
        st.caption(
            "Reviewers' decisions are of inspected items only, so they do not show what the detector missed. "
            "Random audits estimate its recall without labels."
        )
        st.page_link(
            "console/web/pages/runs.py",
            label="Draw audits on Runs",
            icon=":material/arrow_forward:",
            query_params={"run": run_name},
        )
        return
    figures = certificate.correct_detector_figures(found)
    rows = [
        {
            "Figure": name,
            "Estimate": "pending" if one["value"] is None and one["low"] is not None else _number(one["value"]),
            "95% interval": f"{_number(one['low'])} to {_number(one['high'])}",
        }
        for name, one in figures.items()
    ]
    show_grid(rows, "From your reviews", key="corrected-figures", width="content")
    st.caption(
        f"Decisions on flagged items, and {found.audits.drawn:,} random audits that represent "
        f"{found.audits.population:,} unflagged actions. The intervals cover both possible decisions on "
        "undecided flagged items; an estimate is pending until all are decided."
    )


def _number(value: float | None) -> str:
    return "–" if value is None else number(value, ".2f")
