"""Review: one item, from what was asked to the decision; the next one comes by itself."""

import time

import streamlit as st

from console.auth.identity import Role
from console.database import now_ms, reading, review_queue
from console.language import _
from console.review import aftermath, blinding, decisions, inbox
from console.review.reasons import judging
from console.runs.options import run_options
from console.trajectory.checkpoints import CheckpointKind
from console.web.review import actions, after_last, decision_bar, drafts, item_address, own_items, worked_item
from console.web.review.colleagues import notes_html
from console.web.run_picker import chosen_run
from console.web.sign_in import current_identity
from console.web.widgets.arrival_watch import show_count, watch_arrivals
from console.web.widgets.markup import plain
from console.web.widgets.messages import show_empty_state
from console.web.widgets.status import Progress, status_line_html
from console.web.widgets.trajectory_view import show_presentation
from console.web.widgets.trial_history import last_words_html, show_earlier_trials
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
        show_empty_state(_("Nothing to review yet"), _("Items appear here as soon as a run has flagged something."))
        watch_arrivals(_("Review"), None, None)
        st.stop()
    if run.study_id is not None:
        show_empty_state(_("Its participant reviews this"), _("Whoever else answers here would answer in their place."))
        st.stop()
    if run_options(run).rates_answers:
        show_empty_state(_("These are answers to judge"), _("They stand on a page of their own, with its rules."))
        st.page_link("console/web/pages/ratings.py", label=_("Judge them"), query_params={"judge": run.name})
        st.stop()
    own_items.set_reviewed_runs(run.id)
    unblinded = identity.has(Role.RESEARCHER)
after_last.show_round(run, identity)
with reading() as session:
    if wanted and (why := item_address.open_wanted(session, run, wanted, identity.name)):
        item_address.show_refusal(session, wanted, why, identity)
        st.stop()
    earlier_answer = actions.earlier_claim(session, identity.name)
    opened = earlier_answer or item_address.opened_claim(session, run, identity.name)
    claim = opened or decisions.next_item(queue, session, run, identity.name, now_ms(), settles=False)
# What is counted is read anew: the claim was taken since the session began.
with reading() as session:
    progress = Progress.of(run.name, inbox.waits(session, run), inbox.my_reviews(session, run, identity.name))
    if not isinstance(claim, NoClaim):
        waiter = inbox.waiters(session, [claim.item_id]).get(claim.item_id)
        view = blinding.review_view(session, queue, run, claim, identity.name, unblinded=unblinded)
        answered = decisions.last_answer(session, claim.item_id, identity.name) if earlier_answer else None
    else:
        pulse = inbox.pulse(session, run.id or 0)
        tally = aftermath.words_tally(session, run, identity.name, unblinded=unblinded)
        more = aftermath.has_more_to_try(session, run)

if not earlier_answer:
    drafts.keep_what_was_typed(None if isinstance(claim, NoClaim) else claim.item_id)
if isinstance(claim, NoClaim):
    item_address.name_in_address(None)
    actions.show_flash()
    actions.show_kept_words()
    after_last.show_nothing_left(claim, run, identity, tally, has_more=more)
    watch_arrivals(_("Review"), run.id, pulse)
    st.stop()

now = blinding.actions(view.checkpoint)
trials = run.trials if run.kind in (RunKind.LIVE, RunKind.REPLAY) else None
above = status_line_html(
    progress,
    waiter,
    trial=claim.trial,
    trials=trials,
    cap=claim.budget_cap,
    used=claim.budget_used,
    now_ms=now_ms(),
)
above += actions.flash_html() + (actions.answer_html(answered, claim) if answered else "")
above += notes_html(view.notes, view.escalation)
# A log's later trials were recorded before anybody's words.
above += last_words_html(view.earlier, now, claim.trial) if run.kind == RunKind.LIVE else ""
actions.show_kept_words()
wrong = plain(_(judging(view.checkpoint.environment).wrong))
wrong = f'<p class="ia-wrong"><b>{plain(_("Wrong is:"))}</b> {wrong}</p>'
says_wrong = not view.presentation.brief and claim.kind != CheckpointKind.HALTED
whole = bool(earlier_answer) or actions.shows_whole_action(claim.item_id, view.presentation.action)
draw_further_steps = show_presentation(
    view.presentation, above, action_whole=whole, item=claim.item_id, note=wrong if says_wrong else ""
)
show_earlier_trials(view.earlier, now)
if earlier_answer:
    decision_bar.back_bar(claim)
else:
    actions.mark_shown(claim.item_id, view.presentation, view.draft)
    heading, action = _(view.presentation.heading), view.presentation.action[:200]
    said = f"{_('Next item.')} {view.presentation.task[:300]} {heading}: {action}"
    decision_bar.bar(claim, run, view.draft, said=said)
# What nobody waits for comes last, once the browser has drawn the item: told together, both would take longer.
time.sleep(0.03)
draw_further_steps()
item_address.name_in_address(claim.item_id)
watch_arrivals(_("Review"), run.id, None, redraws=False)
