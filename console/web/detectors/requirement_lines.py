"""Requirement lines on the Detectors page: their statuses and the corrections by reviewers, for each detector."""

from __future__ import annotations

from typing import Any

import streamlit as st

from console import runs
from console.database import database_url, reading
from console.review import line_corrections
from console.review.line_corrections import LineCounts
from console.web.widgets.tables import show_rows

_COLUMNS = {
    "detector": "detector",
    "verdicts": "verdicts",
    "lines": "lines",
    "broken": "violated",
    "not_shown": "not confirmed",
    "cannot_tell": "unclear",
    "met": "met",
    "dropped": "left out",
    "corrected": "corrected",
}


@st.cache_data(show_spinner=False, max_entries=20)
def _counts(url: str, run_name: str, version: tuple[Any, ...], corrections: int) -> list[LineCounts]:
    with reading() as session:
        return line_corrections.count_lines(session, runs.get(session, run_name))


def show_line_counts(run_name: str, version: tuple[Any, ...]) -> None:
    """Draw the counts of requirement lines and of their corrections; draw nothing if no verdict has a table.

    `version` changes with the run's verdicts and decisions.
    """
    with reading() as session:
        corrections = line_corrections.last_change(session)
    found = _counts(database_url(), run_name, version, corrections)
    if not found:
        return
    st.header("Requirement lines", anchor=False)
    st.caption("A line is left out if its quote is not in the steps. Reviewers correct lines that were not asked for.")
    if found[0].sample.stated:
        st.caption("Verdicts and lines are counted in the sample, reviewed and corrected lines in the whole run.")
    rows = []
    for one in found:
        share = one.corrected_share
        told = "–" if share is None else f"{one.corrected_lines} of {one.reviewed} reviewed lines ({share:.0%})"
        counts = {name: str(value) for name, value in one.to_dict().items()}
        rows.append(counts | {"corrected": told})
    numbers = [name for name in _COLUMNS if name not in ("detector", "corrected")]
    show_rows(rows, _COLUMNS, numbers=numbers, label="Requirement lines by detector")
