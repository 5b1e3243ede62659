"""The results of a study, part by part; only the part that is looked at is worked out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from console.studies.results import Headline
from console.web.studies import (
    results_agreement,
    results_effects,
    results_oversight,
    results_reviewers,
    results_success,
)
from console.web.studies.results_data import Results, results_of
from console.web.widgets.messages import show_empty_state
from storage import tables


@dataclass(frozen=True, slots=True)
class ResultsPart:
    """A part of the results: its title and what draws it."""

    title: str
    show: Callable[[Results], None]


PARTS: dict[str, ResultsPart] = {
    "success": ResultsPart("Success", results_success.show),
    "effects": ResultsPart("Effects", results_effects.show),
    "agreement": ResultsPart("Agreement", results_agreement.show),
    "pace": ResultsPart("Time", results_reviewers.show_pace),
    "reliance": ResultsPart("Reliance", results_reviewers.show_reliance),
    "words": ResultsPart("Words", results_reviewers.show_words),
    "people": ResultsPart("People and simulated", results_reviewers.show_people),
    "oversight": ResultsPart("Oversight", results_oversight.show),
}


def show(study: tables.Study) -> None:
    """Draws the headline and the chosen part."""
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
    st.session_state.setdefault("study_part", wanted if wanted in PARTS else next(iter(PARTS)))
    st.segmented_control(
        "Part",
        list(PARTS),
        format_func=lambda name: PARTS[name].title,
        key="study_part",
        required=True,
        on_change=_open,
        label_visibility="collapsed",
    )
    PARTS[st.session_state["study_part"]].show(found)


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
