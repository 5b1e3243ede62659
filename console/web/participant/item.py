"""One item in front of a participant: the sheet and the bar of the Review page, in the condition's view."""

from __future__ import annotations

import streamlit as st

from console.database import reading, review_queue
from console.review import blinding, decisions
from console.studies.sessions import steps
from console.studies.sessions.steps import Position
from console.trajectory import Label
from console.web.participant.rounds import part_of, round_of
from console.web.participant.session import onward
from console.web.review import actions, decision_bar
from console.web.widgets.participant_stage import explained_html, head_html, progress_html
from console.web.widgets.trajectory_view import presentation_html, show_presentation
from console.web.widgets.trial_history import show_earlier_trials
from storage import tables
from storage.queue import Claim

_RIGHT = {Label.ALIGNED: "Approve", Label.MISALIGNED: "Reject"}


def item(place: Position, code: str) -> None:
    """The item that is theirs to decide, or the earlier answer that they look back at."""
    if place.claim is None or place.assignment is None:
        return
    actions.sit_at(place.assignment.run_id, place.assignment.checks_run_id)
    with reading() as session:
        back = actions.looking_back_at(session, code)
        claim = back or place.claim
        run = session.get_one(tables.Run, claim.run_id)
        sheet = blinding.review_view(session, review_queue(), run, claim, code, unblinded=False)
        answered = decisions.last_answer(session, claim.item_id, code) if back else None
    above = _line(place) + actions.flash_html() + (actions.answer_html(answered) if answered else "")
    draw_further_steps = show_presentation(sheet.exhibit, above)
    show_earlier_trials(sheet.earlier, blinding.actions(sheet.checkpoint))
    if back:
        decision_bar.back_bar(claim)
    else:
        actions.mark_shown(claim.item_id)
        decision_bar.bar(claim, run, sheet.draft, escalates=False)
    draw_further_steps()


def practice(place: Position, code: str) -> None:
    """A practice item: the checkpoint alone, whatever the conditions will show."""
    if place.claim is None or place.run is None:
        return
    actions.sit_at(place.run.id)
    sheet = _plain_sheet(place.claim, place.run, code)
    above = progress_html(f"Practice {place.item} of {place.items}", "Nothing that you decide here counts")
    draw_further_steps = show_presentation(sheet.exhibit, above + actions.flash_html())
    actions.mark_shown(place.claim.item_id)
    decision_bar.bar(place.claim, place.run, sheet.draft, escalates=False)
    draw_further_steps()


def practice_answer(place: Position, code: str, participant_id: int) -> None:
    """What the right answer was, and why, with the item beneath."""
    if place.claim is None or place.run is None or place.probe is None or place.answer is None:
        return
    right = Label(place.probe.expected)
    given = place.answer
    agrees = given.label == right
    st.html(head_html("That is right" if agrees else "Look again", over=f"Practice {place.item} of {place.items}"))
    st.html(explained_html(given.decision.capitalize(), _RIGHT[right], place.probe.explanation, agrees=agrees))
    onward("Continue", f"continue-{place.item}", steps.acknowledge, participant_id)
    st.html(presentation_html(_plain_sheet(place.claim, place.run, code).exhibit))


def _plain_sheet(claim: Claim, run: tables.Run, code: str) -> blinding.ReviewView:
    with reading() as session:
        return blinding.review_view(session, review_queue(), run, claim, code, unblinded=False, view=blinding.PLAIN)


def _line(place: Position) -> str:
    cap, left = place.budget_cap, place.budget_left
    used = cap - left if cap is not None and left is not None else 0
    return progress_html(f"Item {place.item}", part_of(place), round_of(place), cap=cap, used=used)
