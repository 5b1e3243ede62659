"""The buttons of the requirement table on the Review page: a press corrects a line, or undoes the correction."""

from __future__ import annotations

from typing import Any

import streamlit as st

from console.auth.people import Identity
from console.database import now_ms, writing
from console.language import _
from console.review import line_corrections
from console.review.blinding import ReviewView
from console.web.review.own_items import by_reviewer, own_claim
from console.web.widgets.browser import component

_KEY = "line-corrections"


def watch_corrections(view: ReviewView) -> None:
    """Listen to the buttons of the item's requirement table, if the view has one."""
    if view.presentation.requirements is None:
        return
    data = {"item": view.claim.item_id, "corrected": sorted(view.presentation.corrected)}
    component("line_corrections")(key=_KEY, data=data, on_corrected_change=_store)


def _store() -> None:
    pressed: Any = (st.session_state.get(_KEY) or {}).get("corrected")
    if isinstance(pressed, dict) and isinstance(pressed.get("line"), str) and isinstance(pressed.get("item"), int):
        correct_line(pressed["item"], pressed["line"])


@by_reviewer
def correct_line(identity: Identity, item: int, line: str) -> None:
    """Correct a line of the claimed item, or undo the reviewer's correction."""
    with writing() as session:
        own_claim(session, item, identity)
        is_corrected = line_corrections.toggle_correction(session, item, line, identity.name, now_ms())
    said = _("Your mark is saved. Researchers see how many lines of a detector were marked as not requested.")
    st.session_state["done"] = said if is_corrected else _("Your correction of the line is undone.")
