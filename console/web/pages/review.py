"""Review: one item, from what was asked to the decision; the next one comes by itself."""

import streamlit as st

from console.auth.identity import Identity, Role
from console.database import now_ms, reading, review_queue
from console.review import blinding, decisions, inbox
from console.runs.options import run_options
from console.web.review import actions, decision_bar
from console.web.run_picker import chosen_run
from console.web.sign_in import current_identity
from console.web.widgets.messages import show_empty_state
from console.web.widgets.status import Progress, status_line_html
from console.web.widgets.trajectory_view import show_presentation
from console.web.widgets.trial_history import show_earlier_trials
from storage.queue import NoClaim, NoClaimReason


def _what_now(nothing: NoClaim, who: Identity) -> str:
    if nothing.reason != NoClaimReason.BUDGET_SPENT:
        return ""
    if who.has(Role.RESEARCHER):
        return "Raise it on Runs, under Budget, and they come to review."
    return "Nothing is left for you to do here; tell the researcher, who can raise it."


identity = current_identity()
queue = review_queue()
with reading() as session:
    run = chosen_run(session) if identity else None
    if run is None or identity is None:
        show_empty_state("Nothing to review yet", "Items appear here as soon as a run has flagged something.")
        st.stop()
    if run.study_id is not None:
        show_empty_state("Its participant reviews this", "Whoever else answers here would answer in their place.")
        st.stop()
    if run_options(run).rates_answers:
        show_empty_state("These are answers to judge", "They stand on a page of their own, with its rules.")
        st.page_link("console/web/pages/answers.py", label="Judge them", query_params={"judge": run.name})
        st.stop()
    actions.set_reviewed_runs(run.id)
    earlier_answer = actions.earlier_claim(session, identity.name)
    claim = earlier_answer or decisions.next_item(queue, session, run, identity.name, now_ms(), settles=False)
    progress = Progress.of(run.name, inbox.waits(session, run), inbox.my_decisions(session, run, identity.name))
    if not isinstance(claim, NoClaim):
        unblinded = identity.has(Role.RESEARCHER)
        view = blinding.review_view(session, queue, run, claim, identity.name, unblinded=unblinded)
        answered = decisions.last_answer(session, claim.item_id, identity.name) if earlier_answer else None

if isinstance(claim, NoClaim):
    actions.show_flash()
    show_empty_state(inbox.headline(claim), f"{inbox.why_nothing(claim)} {_what_now(claim, identity)}".strip())
    if identity.has(Role.RESEARCHER) and claim.reason == NoClaimReason.BUDGET_SPENT:
        st.page_link("console/web/pages/runs.py", label="Raise the budget on Runs", query_params={"run": run.name})
    decision_bar.empty_bar()
    st.stop()

above = status_line_html(progress, trial=claim.trial, cap=claim.budget_cap, used=claim.budget_used, now_ms=now_ms())
above += actions.flash_html() + (actions.answer_html(answered) if answered else "")
whole = bool(earlier_answer) or actions.shows_whole_action(claim.item_id, view.presentation.action)
draw_further_steps = show_presentation(view.presentation, above, action_whole=whole)
show_earlier_trials(view.earlier, blinding.actions(view.checkpoint))
if earlier_answer:
    decision_bar.back_bar(claim)
else:
    actions.mark_shown(claim.item_id, view.presentation)
    decision_bar.bar(claim, run, view.draft)
draw_further_steps()
