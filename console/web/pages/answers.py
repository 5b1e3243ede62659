"""My reviews: a reviewer's feedback, and the agent's next trial with its outcome."""

from collections.abc import Sequence

import streamlit as st

from console.auth.people import Role
from console.database import reading
from console.language import _, gettext_noop
from console.review import feedback_counts, feedback_outcomes, inbox
from console.review.feedback_counts import FeedbackTally
from console.web.review import actions
from console.web.review.after_last import REVIEW
from console.web.review.own_items import set_reviewed_runs
from console.web.run_picker import chosen_run, run_picker
from console.web.sign_in import current_identity
from console.web.widgets.messages import show_empty_state
from console.web.widgets.tables import show_rows
from console.web.widgets.trial_history import show_feedback_outcomes

_SHOWN = 50


def show_waiting_drafts(drafts: Sequence[inbox.UnsentDraft], run_name: str) -> None:
    """Draw the text of each draft with a button that reopens its item."""
    if not drafts:
        return
    st.header(_("Not sent yet"), anchor=False)
    for draft in drafts:
        with st.container(border=True, key=f"draft-{draft.item}"):
            st.caption(_("Item {number}").format(number=draft.item))
            st.text(draft.words)
            key, args = f"again-{draft.item}", (draft.item,)
            if st.button(_("Reopen item"), key=key, on_click=actions.reopen_item, args=args):
                st.switch_page(REVIEW, query_params={"run": run_name})


_COLUMNS = {
    "kind": gettext_noop("Your feedback"),
    "attempts": gettext_noop("Attempts after it"),
    "solved": gettext_noop("Solved after it"),
    "open": gettext_noop("Still running"),
    "compared": gettext_noop("Same tasks without a review"),
}


def show_tally(tally: FeedbackTally) -> None:
    """Draw what followed each kind of feedback, beside the same tasks in runs without a review."""
    st.header(_("After your feedback"), anchor=False)
    rows = [count.row for count in tally.counts]
    filled = {name: _(title) for name, title in _COLUMNS.items() if any(row[name] for row in rows)}
    show_rows(rows, filled, numbers=[*filled][1:], label=_("After your feedback"))
    st.caption(tally.explanation)


st.title(_("My reviews"))
identity = current_identity()
shown = st.session_state.get("answers_shown", _SHOWN)
with reading() as session:
    run = chosen_run(session)
    if run is None or identity is None or run.study_id is not None:
        show_empty_state(_("No decisions yet"), _("Review an item to see the outcome of your feedback here."))
        st.stop()
    unblinded = identity.has(Role.RESEARCHER)
    tally = feedback_counts.tally_feedback(session, run, identity.name, unblinded=unblinded, compares=True)
    found = feedback_outcomes.list_feedback_outcomes(session, run, identity.name, unblinded=unblinded, limit=shown + 1)
    drafts = inbox.list_unsent_drafts(session, run, identity.name)

set_reviewed_runs(run.id)
run_picker(run.name)
show_waiting_drafts(drafts, run.name)
if tally:
    show_tally(tally)
if not found:
    show_empty_state(_("No decisions in this run yet"), _("Review an item to see the outcome of your feedback here."))
    st.stop()
show_feedback_outcomes(found[:shown])
if len(found) > shown:
    further = {"answers_shown": shown + _SHOWN}
    st.button(_("Show more"), key="more-answers", on_click=st.session_state.update, args=(further,))
