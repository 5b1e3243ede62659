"""The lineage of a task: feedback, retry and outcome, trial by trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from console.widgets.markup import plain


def show_lineage(history: Sequence[dict[str, Any]], *, opened: int, replayed: bool) -> None:
    """Draws the trials of one task with the decisions between them; says so where they are replayed from a log."""
    note = '<p class="ia-note">Replayed: each later trial was recorded before this feedback was given.</p>'
    rows = "".join(_trial(entry, opened=opened) for entry in history)
    st.html(f'<div class="ia-lineage"><h2>Lineage</h2>{note if replayed else ""}<ol>{rows}</ol></div>')


def _trial(entry: dict[str, Any], *, opened: int) -> str:
    here = ' aria-current="true"' if entry["trajectory_id"] == opened else ""
    copied = " · carried over" if entry["carried_over"] else ""
    answers = "".join(_answer(answer) for answer in entry["decisions"])
    return (
        f'<li{here}><b>Trial {entry["trial"]}</b> <span class="ia-out">{plain(entry["outcome"])}{copied}</span>'
        f"{f'<ul>{answers}</ul>' if answers else ''}</li>"
    )


def _answer(answer: dict[str, Any]) -> str:
    words = f" “{plain(answer['feedback_text'])}”" if answer["feedback_text"] else ""
    state = "" if answer["delivered"] else " (not delivered yet)"
    return f"<li>{plain(answer['decision'])} by {plain(answer['reviewer'])}{words}{state}</li>"
