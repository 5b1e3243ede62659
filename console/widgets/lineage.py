"""The lineage of a task: feedback, retry and outcome, trial by trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from console.widgets.markup import plain


def show_lineage(history: Sequence[dict[str, Any]], *, run: str, opened: int, replayed: bool) -> None:
    """Draws the trials of one task with the decisions between them; says so where they are replayed from a log."""
    st.html(lineage_html(history, run=run, opened=opened, replayed=replayed))


def lineage_html(history: Sequence[dict[str, Any]], *, run: str, opened: int, replayed: bool) -> str:
    """The lineage as one line of HTML: what each trial began with, its outcome, the decisions on it."""
    note = '<p class="ia-note">Replayed: each later trial was recorded before this feedback was given.</p>'
    rows = "".join(_trial(entry, run, opened=opened) for entry in history)
    return f'<div class="ia-lineage"><h2>Lineage</h2>{note if replayed else ""}<ol>{rows}</ol></div>'


def _trial(entry: dict[str, Any], run: str, *, opened: int) -> str:
    here = ' aria-current="true"' if entry["trajectory_id"] == opened else ""
    copied = " · carried over" if entry["carried_over"] else ""
    released = " · run by the simulation" if entry.get("released_by") else ""
    place = plain(urlencode({"run": run, "id": entry["trajectory_id"]}))
    link = f'<a href="?{place}" target="_self">Trial {entry["trial"]}</a>'
    rows = "".join(
        [*(_memory(memory) for memory in entry.get("memory") or ()), *(_answer(given) for given in entry["decisions"])]
    )
    return (
        f'<li{here}><b>{link}</b> <span class="ia-out">{plain(entry["outcome"])}{copied}{released}</span>'
        f"{f'<ul>{rows}</ul>' if rows else ''}</li>"
    )


def _memory(memory: dict[str, Any]) -> str:
    source = f"decision {memory['decision_id']}" if memory["decision_id"] else plain(str(memory["origin"]))
    return f'<li class="ia-out">began with “{plain(memory["text"])}” ({source}, trial {memory["trial"]})</li>'


def _answer(answer: dict[str, Any]) -> str:
    words = f" “{plain(answer['feedback_text'])}”" if answer["feedback_text"] else ""
    state = "" if answer["delivered"] else " (not delivered yet)"
    return f"<li>{plain(answer['decision'])} by {plain(answer['reviewer'])}{words}{state}</li>"
