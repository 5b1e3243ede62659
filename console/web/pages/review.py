"""Review: one item from the task to the decision, then the next item."""

import time

import streamlit as st

from console.auth.people import Role
from console.database import now_ms, reading, review_queue
from console.language import _
from console.review import blinding, decisions, feedback_outcomes, inbox
from console.review.reasons import get_judging
from console.runs import run_options
from console.trajectory.checkpoints import CheckpointKind
from console.web.review import actions, after_last, decision_bar, drafts, item_address, own_items, worked_item
from console.web.review.colleagues import notes_html
from console.web.run_picker import chosen_run
from console.web.sign_in import current_identity
from console.web.widgets.arrival_watch import show_count, watch_arrivals
from console.web.widgets.markup import plain, show_html
from console.web.widgets.messages import show_empty_state
from console.web.widgets.status import status_line_html
from console.web.widgets.trajectory_view import show_presentation
from console.web.widgets.trial_history import earlier_trials_html, last_feedback_html
from storage.queue import NoClaim
from storage.tables import RunKind

identity = current_identity()
queue = review_queue()
worked_item.show_first(identity)
with reading() as session:
    wanted = item_address.wanted_item(session)
    run = chosen_run(session) if identity else None
    if run is None or run.study_id is not None or run_options(run).rates_answers:
        show_count(_("Review"), 0)
    if run is None or identity is None:
        show_empty_state(
            _("Nothing to review yet"),
            _("New items appear here when a run flags an action or an agent asks for a review."),
        )
        watch_arrivals(_("Review"), None, None)
        st.stop()
    if run.study_id is not None:
        show_empty_state(_("Only the participant reviews this run"), _("Open another run to review items."))
        st.stop()
    if run_options(run).rates_answers:
        show_empty_state(_("This run has answers to rate"), _("Rate the answers on the page “Rate answers”."))
        st.page_link("console/web/pages/ratings.py", label=_("Rate answers"), query_params={"judge": run.name})
        st.stop()
    own_items.set_reviewed_runs(run.id)
    unblinded = identity.has(Role.RESEARCHER)
after_last.show_trial_result(run, identity)
with reading() as session:
    if wanted and (why := item_address.open_wanted(session, run, wanted, identity.name)):
        item_address.show_refusal(session, wanted, why, identity)
        st.stop()
    earlier_answer = actions.earlier_claim(session, identity.name)
    opened = earlier_answer or item_address.opened_claim(session, run, identity.name)
    claim = opened or decisions.claim_next_item(queue, session, run, identity.name, now_ms(), settles=False)
# Read the counts again: the claim changed them.
with reading() as session:
    pending, mine = inbox.count_pending_items(session, run), inbox.count_my_reviews(session, run, identity.name)
    if not isinstance(claim, NoClaim):
        waiter = inbox.list_waiting_agents(session, [claim.item_id]).get(claim.item_id)
        view = blinding.build_review_view(session, queue, run, claim, identity.name, unblinded=unblinded)
        answered = decisions.find_decision_on_item(session, claim.item_id, identity.name) if earlier_answer else None
    else:
        pulse = inbox.get_queue_state(session, run.id or 0)
        tally = feedback_outcomes.count_retries(session, run, identity.name, unblinded=unblinded)
        more = feedback_outcomes.has_unused_feedback(session, run)

if not earlier_answer:
    drafts.save_previous_feedback(None if isinstance(claim, NoClaim) else claim.item_id)
if isinstance(claim, NoClaim):
    item_address.name_in_address(None)
    actions.show_flash()
    actions.show_unsent_feedback()
    after_last.show_nothing_left(claim, run, identity, tally, has_more=more)
    watch_arrivals(_("Review"), run.id, pulse)
    st.stop()

now = blinding.list_actions(view.checkpoint)
trials = run.trials if run.kind in (RunKind.LIVE, RunKind.REPLAY) else None
above = status_line_html(run.name, claim, pending, mine, now_ms=now_ms(), waiter=waiter, trials=trials)
above += actions.flash_html() + (actions.decision_html(answered, claim) if answered else "")
above += notes_html(view.notes, view.escalation)
# The later trials of a log were recorded before any feedback.
above += last_feedback_html(view.earlier, now, claim.trial) if run.kind == RunKind.LIVE else ""
actions.show_unsent_feedback()
wrong = plain(_(get_judging(view.checkpoint.environment).wrong))
wrong = f'<p class="ia-wrong"><b>{plain(_("Counts as wrong:"))}</b> {wrong}</p>'
says_wrong = not view.presentation.brief and claim.kind != CheckpointKind.HALTED
whole = bool(earlier_answer) or actions.is_action_shown_whole(claim.item_id, view.presentation.action)
draw_further_steps = show_presentation(
    view.presentation, above, action_whole=whole, item=claim.item_id, note=wrong if says_wrong else ""
)
show_html(earlier_trials_html(view.earlier, now))
if earlier_answer:
    decision_bar.back_bar(claim)
else:
    actions.mark_shown(claim.item_id, view.presentation, view.draft)
    heading, action = _(view.presentation.heading), view.presentation.action[:200]
    said = f"{_('Next item.')} {view.presentation.task[:300]} {heading}: {action}"
    decision_bar.bar(claim, run, view.draft, said=said)
# Send the rest after the browser has drawn the item: sent together, the item would appear later.
time.sleep(0.03)
draw_further_steps()
item_address.name_in_address(claim.item_id)
watch_arrivals(_("Review"), run.id, None, redraws=False)
