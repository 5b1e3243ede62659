"""Marks on the steps of a review page: `[` and `]` move between steps, `.` or a button marks a step as wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from console.auth.people import Identity
from console.database import now_ms, reading, review_queue
from console.language import _, quoted
from console.review.decision_details import (
    MarkedStep,
    check_marks,
    list_questions,
    read_marks,
    takes_marks,
    write_marks,
)
from console.review.decisions import ReviewDecision, checkpoint_of_claim
from console.web.review import question_fields
from console.web.review.own_items import alias, by_reviewer, find_item_by_alias, own_claim
from console.web.widgets import boundary
from console.web.widgets.boundary import draw_part
from console.web.widgets.browser import component
from storage import tables
from storage.queue import KeptDraft

_KEY = "step-marks"
_HTML = '<div class="said" role="status" aria-live="polite"></div>'
KEYS = {key: f"~{key}" for key in ("[", "]", ".")}
"""The shortcuts, which the hotkeys send to this component."""


@st.fragment
def watch_marks(item: int, drafted: str) -> None:
    """Listen to marks on the steps of the item; `drafted` holds the marks of the reviewer's draft."""
    # A fragment draws an exception by itself, so the boundary is inside.
    draw_part(boundary.MARKS, lambda: _mount(item, drafted), None)


def _mount(item: int, drafted: str) -> None:
    words = {
        "mark": _("Mark as wrong"),
        "unmark": _("Remove mark"),
        "marked": _("marked as wrong"),
        "step": _("step {number}"),
        "quoted": quoted("{quote}"),
    }
    marks = [[str(one.step), one.quote] for one in read_marks(drafted)]
    data = {"item": alias(item), "marks": marks, "words": words}
    component("step_marks", html=_HTML)(key=_KEY, data=data, on_marked_change=_store)


def _store() -> None:
    pressed: Any = (st.session_state.get(_KEY) or {}).get("marked")
    item = find_item_by_alias(str(pressed["item"])) if isinstance(pressed, dict) else None
    if item is not None:
        mark_steps(item, [MarkedStep(int(step), quote=str(quote)) for step, quote in pressed["marks"]])


@by_reviewer
def mark_steps(identity: Identity, item: int, marks: list[MarkedStep]) -> None:
    """Store the marked steps of the claimed item in the reviewer's draft."""
    with reading() as session:
        claim, _run = own_claim(session, item, identity)
    kept = write_marks(check_marks(checkpoint_of_claim(claim), marks))
    review_queue().save_draft(item_id=item, reviewer=identity.name, marked_steps=kept, now_ms=now_ms())


def add_marks_and_answers(answer: ReviewDecision, run: tables.Run, item: int, reviewer: str) -> ReviewDecision:
    """Return the decision with the marked steps and the answers to the run's questions."""
    draft = review_queue().draft(item_id=item, reviewer=reviewer) or KeptDraft()
    marks = read_marks(draft.marked_steps) if takes_marks(run) else ()
    try:
        given = question_fields.collect_answers(item, list_questions(run))
    except Exception:
        # The page names this part as failed; the decision counts without it.
        boundary.log_failure(boundary.QUESTIONS)
        given = {}
    return replace(answer, marked_steps=marks, answers=given)
