"""My reviews: a reviewer's progress and feedback, and the agent's next trial with its outcome."""

from collections.abc import Sequence

import streamlit as st

from console.auth.people import Role
from console.database import now_ms, reading
from console.language import _, digits, gettext_noop, quoted
from console.review import feedback_counts, feedback_outcomes, inbox
from console.review.access import list_reviewable_runs
from console.review.capacity import describe_own_capacity
from console.review.feedback_counts import FeedbackTally
from console.review.presentation import preview
from console.review.waiting import MOST_TIMED, Progress, measure_progress
from console.web.review import actions
from console.web.review.after_last import INBOX, REVIEW
from console.web.review.own_items import set_reviewed_runs
from console.web.run_picker import choose_run, chosen_run, run_picker
from console.web.sign_in import current_identity
from console.web.widgets.markup import plain, show_html
from console.web.widgets.messages import next_step_row, show_empty_state
from console.web.widgets.tables import show_rows
from console.web.widgets.trial_history import show_feedback_outcomes
from storage import tables
from storage.tables import RunKind

_SHOWN = 50


def show_waiting_drafts(drafts: Sequence[tuple[tables.Item, str, str]], run_name: str) -> None:
    """Draw the text of each draft with a button that reopens its item."""
    if not drafts:
        return
    st.header(_("Not sent yet"), anchor=False)
    for item, instruction, text in drafts:
        with st.container(border=True, key=f"draft-{item.id}"):
            where = plain(_("trial {trial} · item {number}").format(trial=item.trial, number=item.id))
            head = f'<p class="ia-asked-for">{plain(preview(instruction))}</p><p class="ia-given">{where}</p>'
            words = f'<p class="ia-said">{quoted(plain(text))}</p>'
            show_html(f'<div class="ia-outcome-entry">{head}{words}</div>')
            key, args = f"again-{item.id}", (item.id,)
            if st.button(_("Reopen item"), key=key, on_click=actions.reopen_item, args=args):
                st.switch_page(REVIEW, query_params={"run": run_name})


_PROGRESS = {
    "run": gettext_noop("Run"),
    "decisions": gettext_noop("Decisions"),
    "agreed": gettext_noop("Approved"),
    "escalated": gettext_noop("Escalated"),
    "seconds": gettext_noop("Median time (s)"),
    "pending": gettext_noop("Items pending"),
}


def show_progress(found: Progress) -> None:
    """Draw the reviewer's decisions by run and by day."""
    if not found.decisions:
        return
    st.header(_("Progress by run"), anchor=False)
    numbers = [*_PROGRESS][1:]
    rows = [{name: _cell(getattr(one, name)) for name in _PROGRESS} for one in found.runs]
    show_rows(rows, {name: _(title) for name, title in _PROGRESS.items()}, numbers=numbers, label=_("Progress by run"))
    if found.decisions > MOST_TIMED:
        st.caption(_("Median times cover your latest {count} decisions.").format(count=digits(MOST_TIMED)))
    with st.expander(_("Decisions of the last {count} days (UTC)").format(count=digits(len(found.days)))):
        days = [{"day": day, "decisions": str(count)} for day, count in reversed(found.days.items()) if count]
        show_rows(days, {"day": _("Day"), "decisions": _("Decisions")}, numbers=["decisions"], label=_("Decisions"))


def _cell(value: str | float | None) -> str:
    return value if isinstance(value, str) else "–" if value is None else digits(round(value))


_COLUMNS = {
    "kind": gettext_noop("Your feedback"),
    "attempts": gettext_noop("Later attempts"),
    "solved": gettext_noop("Solved later"),
    "open": gettext_noop("Not ended"),
    "compared": gettext_noop("Same tasks without a review"),
}


def show_tally(tally: FeedbackTally) -> None:
    """Draw the outcomes after each kind of feedback, beside the same tasks in runs without a review."""
    st.header(_("After your feedback"), anchor=False)
    rows = [count.row for count in tally.counts]
    filled = {name: _(title) for name, title in _COLUMNS.items() if any(row[name] for row in rows)}
    show_rows(rows, filled, numbers=[*filled][1:], label=_("After your feedback"))
    st.caption(tally.explanation)


st.title(_("My reviews"), anchor=False)
identity = current_identity()
shown = st.session_state.get("answers_shown", _SHOWN)
with reading() as session:
    last = inbox.find_last_decided_run(session, identity.name) if identity else None
    if last is not None and last.study_id is None and "run" not in st.query_params:
        choose_run(last.name)
    run = chosen_run(session)
    if run is None or identity is None or run.study_id is not None:
        show_empty_state(_("No decisions yet"), _("Review an item to see the outcome of your feedback here."))
        next_step_row().page_link(INBOX, label=_("Open the Inbox"))
        st.stop()
    unblinded = identity.has(Role.RESEARCHER)
    tally = feedback_counts.tally_feedback(session, run, identity.name, unblinded=unblinded, compares=True)
    found = feedback_outcomes.list_feedback_outcomes(session, run, identity.name, unblinded=unblinded, limit=shown + 1)
    drafts = inbox.list_unsent_drafts(session, run, identity.name)
    progress = measure_progress(session, list_reviewable_runs(session, identity.name), identity.name, now_ms())
    capacity_words = describe_own_capacity(session, run, identity.name, now_ms())

set_reviewed_runs(run.id)
show_progress(progress)
if capacity_words:
    st.text(capacity_words)
run_picker(run.name)
show_waiting_drafts(drafts, run.name)
if tally:
    show_tally(tally)
if not found:
    show_empty_state(_("No decisions in this run yet"), _("Review an item to see the outcome of your feedback here."))
    next_step_row().page_link(INBOX, label=_("Open the Inbox"))
    st.stop()
st.header(_("Decisions"), anchor=False)
show_feedback_outcomes(found[:shown], recorded=run.kind == RunKind.ARCHIVE)
if len(found) > shown:
    further = {"answers_shown": shown + _SHOWN}
    st.button(_("Show more"), key="more-answers", on_click=st.session_state.update, args=(further,))
