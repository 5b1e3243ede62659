"""The results of a study, analysis by analysis; only the one that is looked at is worked out."""

from __future__ import annotations

import streamlit as st

from console.studies.analysis import ANALYSES
from console.studies.results import Headline
from console.web.studies import results_parts
from console.web.studies.results_data import results_of
from console.web.studies.results_extras import EXTRAS
from console.web.widgets.messages import show_empty_state
from storage import tables


def show(study: tables.Study) -> None:
    """Draws the headline and the chosen analysis."""
    found = results_of(study)
    head = found.headline()
    _headline(head)
    if not head.decisions and not head.arms_done:
        show_empty_state(
            "No results yet",
            "They come with the first decision: open the study on its board, then invite people or simulate.",
        )
        return
    wanted = st.query_params.get("part", "")
    st.session_state.setdefault("study_part", wanted if wanted in ANALYSES else next(iter(ANALYSES)))
    st.segmented_control(
        "Part",
        list(ANALYSES),
        format_func=lambda name: ANALYSES[name].tab,
        key="study_part",
        required=True,
        on_change=_open,
        label_visibility="collapsed",
    )
    key = st.session_state["study_part"]
    chosen = results_parts.show(found, key, ANALYSES[key])
    if key in EXTRAS:
        EXTRAS[key](found, chosen)


def _headline(head: Headline) -> None:
    people = head.places - head.simulated
    parts = (
        f"people finished <b>{head.finished} of {people}</b>" if people else "simulated reviewers only",
        f"conditions done <b>{head.arms_done} of {head.arms}</b>",
        f"decisions <b>{head.decisions:,}</b>",
        f"people take <b>{head.mean_seconds:.0f} s</b> each" if head.mean_seconds is not None else "",
    )
    st.html(f'<div class="ia-status">{"".join(f"<span>{part}</span>" for part in parts if part)}</div>')


def _open() -> None:
    st.query_params["part"] = st.session_state["study_part"]
