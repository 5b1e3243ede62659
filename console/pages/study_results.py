"""The results of a study, part by part; only the part that is looked at is worked out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from console.pages import study_agreement, study_effects, study_oversight, study_reviewers, study_success
from console.pages.study_data import Results, results_of
from console.studies.results import Headline
from console.widgets.empty_state import show_empty_state
from storage import tables


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the results: its title and what draws it."""

    title: str
    show: Callable[[Results], None]


PARTS: dict[str, Part] = {
    "success": Part("Success", study_success.show),
    "effects": Part("Effects", study_effects.show),
    "agreement": Part("Agreement", study_agreement.show),
    "pace": Part("Time", study_reviewers.show_pace),
    "reliance": Part("Reliance", study_reviewers.show_reliance),
    "words": Part("Words", study_reviewers.show_words),
    "people": Part("People and simulated", study_reviewers.show_people),
    "oversight": Part("Oversight", study_oversight.show),
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
