"""One item for a participant: its review view and the decision bar, with the visibility of the condition."""

from __future__ import annotations

import streamlit as st

from console.database import reading, review_queue
from console.language import _, gettext_noop
from console.review import blinding, decisions
from console.studies.sessions import steps
from console.studies.sessions.page_events import IDLE_S
from console.studies.sessions.position import Position
from console.trajectory import Label
from console.web.participant.session import continue_button
from console.web.participant.stages import part_of, round_of
from console.web.review import actions, decision_bar, own_items
from console.web.widgets.page_watch import watch_page
from console.web.widgets.participant_stage import explained_html, head_html, progress_html
from console.web.widgets.trajectory_view import presentation_html, show_presentation
from console.web.widgets.trial_history import show_earlier_trials
from storage import tables
from storage.queue import Claim

_RIGHT = {Label.ALIGNED: gettext_noop("Approve"), Label.MISALIGNED: gettext_noop("Reject")}


def item(position: Position, code: str) -> None:
    """The item that is theirs to decide, or the earlier answer that they look back at."""
    if position.claim is None or position.assignment is None:
        return
    own_items.set_reviewed_runs(position.assignment.run_id, position.assignment.checks_run_id)
    with reading() as session:
        back = actions.earlier_claim(session, code)
        claim = back or position.claim
        run = session.get_one(tables.Run, claim.run_id)
        view = blinding.review_view(session, review_queue(), run, claim, code, unblinded=False)
        answered = decisions.last_answer(session, claim.item_id, code) if back else None
    above = line_html(position) + actions.flash_html() + (actions.answer_html(answered, claim) if answered else "")
    whole = back is not None or actions.shows_whole_action(claim.item_id, view.presentation.action)
    draw_further_steps = show_presentation(view.presentation, above, action_whole=whole)
    show_earlier_trials(view.earlier, blinding.actions(view.checkpoint))
    if back:
        decision_bar.back_bar(claim)
    else:
        actions.mark_shown(claim.item_id, view.presentation, view.draft)
        decision_bar.bar(claim, run, view.draft, escalates=False)
    draw_further_steps()
    if not back and position.design:
        watch_page(claim.item_id, idle_s=IDLE_S, traced=position.design.interaction_trace)


def practice(position: Position, code: str) -> None:
    """A practice item: the checkpoint alone, whatever the conditions will show."""
    if position.claim is None or position.run is None:
        return
    own_items.set_reviewed_runs(position.run.id)
    view = _plain_view(position.claim, position.run, code)
    above = progress_html(_practice(position), _("Nothing that you decide here counts"))
    whole = actions.shows_whole_action(position.claim.item_id, view.presentation.action)
    draw_further_steps = show_presentation(view.presentation, above + actions.flash_html(), action_whole=whole)
    actions.mark_shown(position.claim.item_id, view.presentation, view.draft)
    decision_bar.bar(position.claim, position.run, view.draft, escalates=False)
    draw_further_steps()


def practice_answer(position: Position, code: str, participant_id: int) -> None:
    """What the right answer was, and why, with the item beneath."""
    if position.claim is None or position.run is None or position.probe is None or position.answer is None:
        return
    right = Label(position.probe.expected)
    given = position.answer
    agrees = given.label == right
    st.html(head_html(_("That is right") if agrees else _("Look again"), over=_practice(position)))
    own = _(given.decision).capitalize()
    st.html(explained_html(own, _(_RIGHT[right]), position.probe.explanation, agrees=agrees))
    continue_button(_("Continue"), f"continue-{position.item}", steps.acknowledge, participant_id)
    st.html(presentation_html(_plain_view(position.claim, position.run, code).presentation))


def _practice(position: Position) -> str:
    return _("Practice {number} of {count}").format(number=position.item, count=position.items)


def _plain_view(claim: Claim, run: tables.Run, code: str) -> blinding.ReviewView:
    with reading() as session:
        return blinding.review_view(
            session, review_queue(), run, claim, code, unblinded=False, visibility=blinding.PLAIN
        )


def line_html(position: Position) -> str:
    """The line above an item: its number, part and round, and the meter."""
    cap, left = position.budget_cap, position.budget_left
    used = cap - left if cap is not None and left is not None else 0
    return progress_html(
        _("Item {number}").format(number=position.item), part_of(position), round_of(position), cap=cap, used=used
    )
