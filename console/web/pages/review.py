"""Review: one item from the task to the decision, then the next item."""

import time
from functools import partial

import streamlit as st

from console.auth.people import Role
from console.database import reading
from console.language import _
from console.review import feedback_counts, feedback_outcomes, inbox
from console.review.access import list_reviewable_runs
from console.web.review import (
    actions,
    after_last,
    decision_bar,
    drafts,
    edit_form,
    item_address,
    item_parts,
    line_corrections,
    own_items,
    worked_item,
)
from console.web.sign_in import current_identity
from console.web.widgets import boundary
from console.web.widgets.arrival_watch import watch_agent, watch_arrivals
from console.web.widgets.messages import next_step_row, show_empty_state
from console.web.widgets.status import count_down
from storage import tables
from storage.queue import NoClaim

identity = current_identity()
boundary.draw_part(boundary.MESSAGES, lambda: worked_item.show_first(identity), None)
with reading() as session:
    wanted = item_address.get_requested_item(session)
    scope = item_address.find_scope(session, identity)
    every = list_reviewable_runs(session, identity.name) if identity else []
if identity is None or not (scope or every):
    show_empty_state(
        _("Nothing to review yet"),
        _("New items appear here when a run flags an action or an agent asks for a review."),
        _("Review"),
    )
    next_step_row().page_link("console/web/pages/inbox.py", label=_("Open the Inbox"))
    with reading() as session:
        newest = inbox.find_newest_run(session)
    watch_arrivals(None, newest)
    st.stop()
if scope is not None:
    item_address.stop_if_closed(scope, every, _("Review"))
runs = [scope] if scope else every
own_items.set_reviewed_runs(*{run.id: run for run in (*every, *runs)})
unblinded = identity.has(Role.RESEARCHER)
with reading() as session:
    last_run = scope or item_address.find_last_run(session, every)
boundary.draw_part(boundary.EARLIER, partial(after_last.show_trial_result, last_run, identity), None)
with reading() as session:
    if wanted and (why := item_address.open_wanted(session, wanted, identity.name)):
        item_address.show_refusal(session, wanted, why, identity)
        st.stop()
# A new snapshot shows the claim on the item in the address.
with reading() as session:
    earlier_answer = actions.earlier_claim(session, identity.name)
    opened = earlier_answer or item_address.get_open_claim(session, scope, identity.name)
    claim = opened or item_address.claim_next(session, scope, every, identity.name)
    if isinstance(claim, NoClaim):
        run = last_run
        pulse = inbox.get_queue_state(session, [run.id or 0 for run in runs])
    else:
        run = session.get_one(tables.Run, claim.run_id)
        item_address.keep_open(claim, run, scope)

# Read the counts again: the claim changed them.
if isinstance(claim, NoClaim):
    with reading() as session:
        tally = feedback_counts.tally_feedback(session, run, identity.name, unblinded=unblinded)
        more = feedback_outcomes.has_unused_feedback(session, run)
    boundary.draw_part(boundary.MESSAGES, partial(drafts.save_previous_feedback, None), None)
    item_address.name_in_address(None)
    boundary.draw_part(boundary.MESSAGES, actions.show_flash, None)
    boundary.draw_part(boundary.MESSAGES, partial(actions.show_gone_item, None), None)
    boundary.draw_part(boundary.MESSAGES, actions.show_unsent_feedback, None)
    after_last.show_nothing_left(claim, run, identity, tally, of_run=scope is not None, has_more=more)
    boundary.draw_part(boundary.STATUS, count_down, None)
    watch_arrivals(tuple(run.id or 0 for run in runs), pulse)
    st.stop()

view = item_parts.get_view(run, claim, identity.name, unblinded=unblinded)
if earlier_answer:
    view = boundary.draw_part(boundary.STATUS, partial(item_parts.stamp_decided, view), view)
if not earlier_answer:
    boundary.draw_part(boundary.MESSAGES, partial(drafts.save_previous_feedback, claim.item_id), None)
above = item_parts.above_item_html(run, view, identity.name, is_decided=bool(earlier_answer))
if not earlier_answer:
    boundary.draw_part(boundary.MESSAGES, partial(actions.show_gone_item, claim.item_id), None)
boundary.draw_part(boundary.MESSAGES, actions.show_unsent_feedback, None)
editor = None if earlier_answer else edit_form.find_editor(claim, run, view.draft)
draw_further_steps = item_parts.show_item(view, above, is_decided=bool(earlier_answer), editor=editor)
boundary.draw_part(boundary.EARLIER, lambda: item_parts.show_earlier_trials(view), None)
if not earlier_answer:
    boundary.draw_part(boundary.LINES, lambda: line_corrections.watch_corrections(view), None)
if earlier_answer:
    decision_bar.back_bar(claim)
else:
    item_parts.mark_shown(view)
    decision_bar.bar(claim, run, view.draft, said=item_parts.announcement(view))
# Send the rest after the browser has drawn the item: sent together, the item would appear later.
time.sleep(0.03)
boundary.draw_part(boundary.FURTHER, draw_further_steps, None)
boundary.draw_part(boundary.STATUS, count_down, None)
if not earlier_answer:
    boundary.draw_part(boundary.STATUS, partial(watch_agent, claim.item_id), None)
item_address.name_in_address(claim.item_id)
