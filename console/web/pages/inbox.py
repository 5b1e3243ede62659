"""Inbox: the pending items of a run, its budget, and a tour for new reviewers."""

from __future__ import annotations

import streamlit as st

from console import runs
from console.auth.people import Role
from console.database import now_ms, reading
from console.language import _, gettext_noop
from console.review import feedback_outcomes, inbox
from console.review.pending_items import list_filter_choices, list_pending_items
from console.web.inbox_view import RUNS, headline_html, open_item, select_filter, show_empty_inbox
from console.web.run_picker import chosen_run, run_picker
from console.web.sign_in import current_identity
from console.web.widgets.arrival_watch import show_count, watch_arrivals
from console.web.widgets.browser import set_cookie
from console.web.widgets.markup import plain, show_html
from console.web.widgets.messages import show_empty_state
from console.web.widgets.pending_rows import show_pending_rows
from console.web.widgets.status import show_budget_meter

_COOKIE = "ia_tour"
_CARDS = (
    (
        gettext_noop("Pending items"),
        gettext_noop("These agents stopped before a critical action. Your next item is at the top."),
    ),
    (
        gettext_noop("Review next"),
        gettext_noop("Opens an item: the task, the critical action, why it was flagged, and the steps."),
    ),
    (
        gettext_noop("One key decides"),
        gettext_noop(
            "A approves, X rejects, 1 to 7 give a reason, Ctrl+Enter rejects with your feedback. U undoes a decision, "
            "? lists the shortcuts."
        ),
    ),
    (
        gettext_noop("Inspection budget"),
        gettext_noop(
            "Each review of an action uses one inspection. The meter shows how many inspections the trial has used and "
            "how many are left."
        ),
    ),
    (
        gettext_noop("Agents try again"),
        gettext_noop("The agents read your reasons and feedback. “My reviews” shows the outcome."),
    ),
)


def show_tour() -> None:
    """Draw the one-minute tour unless this browser has closed it."""
    if st.session_state.get("tour_done"):
        set_cookie(_COOKIE, "done")
        return
    if st.context.cookies.get(_COOKIE) == "done":
        return
    cards = "".join(f"<li><b>{plain(_(title))}</b><span>{plain(_(words))}</span></li>" for title, words in _CARDS)
    with st.container(key="ia-tour"):
        label, heading = plain(_("A one-minute tour")), plain(_("A one-minute tour"))
        show_html(f'<section aria-label="{label}"><h2>{heading}</h2><ol>{cards}</ol></section>')
        st.button(_("Close tour"), key="tour-done", type="tertiary", on_click=_dismiss_tour)


def _dismiss_tour() -> None:
    st.session_state["tour_done"] = True


identity = current_identity()
with reading() as session:
    run = chosen_run(session)
    names = [one.name for one in runs.list_runs(session)]
    pulse = inbox.get_queue_state(session, run.id or 0) if run else None

show_count(_("Inbox"), pulse.waiting if pulse else 0)
st.title(_("Inbox"))
if run is None or pulse is None or identity is None:
    if identity and identity.has(Role.RESEARCHER):
        show_empty_state(_("No runs yet"), _("Import a log or start agents to get items to review."))
        st.page_link(RUNS, label=_("Import a log"))
    else:
        show_empty_state(
            _("Nothing to review yet"),
            _("No run has started yet. New items appear here when a researcher starts a run."),
        )
    watch_arrivals(_("Inbox"), None, None)
    st.stop()
if pulse.waiting:
    show_tour()

picker, meters, go = st.columns([2, 3, 1], vertical_alignment="bottom")
with picker:
    run_picker(names, run.name)
with reading() as session:
    count, oldest = inbox.count_pending_items(session, run)
    detectors, environments = list_filter_choices(session, run)
    wanted = select_filter(detectors, environments, many=count > 1)
    waiting = list_pending_items(session, run, identity.name, wanted)
    waiters = inbox.list_waiting_agents(session, [row.item.id or 0 for row in (*waiting.offered, *waiting.unread)])
    mine, seconds = inbox.count_my_reviews(session, run, identity.name)
    tally = feedback_outcomes.count_retries(session, run, identity.name, unblinded=identity.has(Role.RESEARCHER))
    budgets = runs.budgets(session, run)

with meters:
    for trial, budget in budgets.items():
        if budget["used"] or budget["cap"] is not None or trial == max(budgets):
            label = _("Trial {trial}").format(trial=trial) if len(budgets) > 1 else ""
            show_budget_meter(budget["cap"], budget["used"] or 0, label=label)
with go:
    words = _("Review first") if wanted.is_set else _("Review next")
    if st.button(words, key="review-next", type="primary", width="stretch", disabled=not waiting.offered):
        open_item(run, waiting.offered[0].item.id if wanted.is_set else None)

if mine:
    reviewed = _("You reviewed {count} items in this run.")
    if seconds is not None:
        reviewed = _("You reviewed {count} items in this run, {seconds} s each.")
    st.caption(reviewed.format(count=mine, seconds=f"{seconds or 0:.0f}"))
if tally:
    with st.container(horizontal=True, vertical_alignment="center", key="tally"):
        st.caption(tally.in_words)
        st.page_link("console/web/pages/answers.py", label=_("Open My reviews"), query_params={"run": run.name})
notices = st.container()
if waiting.matching:
    show_html(headline_html(waiting, count, oldest))
    if pressed := show_pending_rows(waiting, waiters, run.name, now_ms()):
        open_item(run, pressed)
    if waiting.beyond and identity.has(Role.RESEARCHER):
        st.page_link(RUNS, label=_("Raise the budget"), query_params={"run": run.name})
else:
    with reading() as session:
        show_empty_inbox(session, run, identity, waiting, pulse.undecided)
with notices:
    watch_arrivals(_("Inbox"), run.id, pulse, offers=True)
