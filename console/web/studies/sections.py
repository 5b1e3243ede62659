"""The list of studies, and one study by sections; only the selected section is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from console.studies.results.summary import Headline
from console.web.studies import adjudication, board, picker, plan, results
from console.web.widgets.tables import show_grid
from storage import tables

SECTIONS: dict[str, tuple[str, Callable[[tables.Study], None]]] = {
    "board": ("Board", board.show),
    "design": ("Design", plan.show),
    "results": ("Results", results.show),
    "adjudicate": ("Disagreements", adjudication.show_study),
    "report": ("Report", results.show_report),
}
"""The title of each section and the function that draws it."""


def show(study: tables.Study, names: Sequence[str]) -> None:
    """Draw the study's heading and its selected section."""
    with st.container(horizontal=True, vertical_alignment="center", key="study-head"):
        picker.study_picker(list(names), study.name)
        titles = {name: title for name, (title, _show) in SECTIONS.items()}
        chosen = picker.chosen_view("Section", titles, "section", "study_section")
        st.button("All studies", key="all-studies", type="tertiary", on_click=picker.keep, args=(None,))
    SECTIONS[chosen][1](study)


def show_list(studies: Sequence[tables.Study], heads: Mapping[str, Headline]) -> None:
    """Draw all studies with their progress; selecting a study opens it."""
    st.button("New study", key="new-study", type="primary", on_click=picker.keep, args=(None,), kwargs={"new": True})
    shown = show_grid(
        [_row(study, heads[study.name]) for study in studies],
        "Studies",
        key=f"studies-{st.session_state.get('studies_seen', 0)}",
        on_select="rerun",
        selection_mode="single-row",
        column_config={
            "Conditions done": st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1),
            "Created": st.column_config.DatetimeColumn("Created (UTC)", format="YYYY-MM-DD HH:mm"),
        },
    )
    st.caption("Select a row to open a study.")
    if rows := shown.selection["rows"]:
        # A new key clears the selection of the list.
        st.session_state["studies_seen"] = st.session_state.get("studies_seen", 0) + 1
        picker.keep(studies[rows[0]].name)
        st.rerun()


def _row(study: tables.Study, head: Headline) -> dict[str, Any]:
    people = head.places - head.simulated
    return {
        "study": study.name,
        "status": study.status,
        "people": f"{head.joined} of {people} joined, {head.finished} finished" if people else "no places",
        "simulated": head.simulated,
        "conditions done": round(head.arms_done / head.arms, 2) if head.arms else None,
        "decisions": head.decisions,
        "created": datetime.fromtimestamp(study.created_ms / 1_000, UTC),
    }
