"""Inbox: the items that wait, why, how old they are, what is left of the budget, and a tour for newcomers."""

from __future__ import annotations

import streamlit as st

from console import runs
from console.auth.identity import Role
from console.database import now_ms, reading
from console.language import _, gettext_noop
from console.review import aftermath, inbox
from console.review.waiting_list import choices, waiting_list
from console.web.run_picker import chosen_run, run_picker
from console.web.sign_in import current_identity
from console.web.waiting import RUNS, asked_for, headline_html, open_item, show_nothing
from console.web.widgets.arrival_watch import show_count, watch_arrivals
from console.web.widgets.markup import plain
from console.web.widgets.messages import show_empty_state
from console.web.widgets.preference_cookie import set_cookie
from console.web.widgets.status import show_budget_meter
from console.web.widgets.waiting_rows import show_waiting_rows

_COOKIE = "ia_tour"
_CARDS = (
    (
        gettext_noop("What waits"),
        gettext_noop("Agents were stopped before something final. The next to be offered stands first in this list."),
    ),
    (
        gettext_noop("Review next"),
        gettext_noop("Opens one: what the user asked, what the agent is about to do, why it was flagged, its steps."),
    ),
    (
        gettext_noop("One key decides"),
        gettext_noop(
            "A approves, X rejects, 1 to 7 say why, Ctrl+Enter rejects with your words. U takes it back, "
            "? lists the keys."
        ),
    ),
    (
        gettext_noop("A budget"),
        gettext_noop(
            "Each review of an action costs one inspection. The meter below shows how many a trial has used and, where "
            "it has a budget, what is left."
        ),
    ),
    (
        gettext_noop("Then they try again"),
        gettext_noop("The agents read your reasons and words. “My answers” shows what came of them."),
    ),
)


def show_tour() -> None:
    """Draws the cards of the one-minute tour until this browser has dismissed them."""
    if st.session_state.get("tour_done"):
        set_cookie(_COOKIE, "done")
        return
    if st.context.cookies.get(_COOKIE) == "done":
        return
    cards = "".join(f"<li><b>{plain(_(title))}</b><span>{plain(_(words))}</span></li>" for title, words in _CARDS)
    with st.container(key="ia-tour"):
        label, heading = plain(_("A one-minute tour")), plain(_("One minute to know your way"))
        st.html(f'<section aria-label="{label}"><h2>{heading}</h2><ol>{cards}</ol></section>')
        st.button(_("Got it"), key="tour-done", type="tertiary", on_click=_dismiss_tour)


def _dismiss_tour() -> None:
    st.session_state["tour_done"] = True


identity = current_identity()
with reading() as session:
    run = chosen_run(session)
    names = [one.name for one in runs.every(session)]
    pulse = inbox.pulse(session, run.id or 0) if run else None

show_count(_("Inbox"), pulse.waiting if pulse else 0)
st.title(_("Inbox"))
if run is None or pulse is None or identity is None:
    if identity and identity.has(Role.RESEARCHER):
        show_empty_state(_("No runs yet"), _("Import a log of an agent to fill the queue."))
        st.page_link(RUNS, label=_("Import a log"))
    else:
        show_empty_state(
            _("Nothing to review yet"), _("The researcher has not started a run. This page fills by itself.")
        )
    watch_arrivals(_("Inbox"), None, None)
    st.stop()
if pulse.waiting:
    show_tour()

picker, meters, go = st.columns([2, 3, 1], vertical_alignment="bottom")
with picker:
    run_picker(names, run.name)
with reading() as session:
    count, oldest = inbox.waits(session, run)
    detectors, environments = choices(session, run)
    wanted = asked_for(detectors, environments, many=count > 1)
    waiting = waiting_list(session, run, identity.name, wanted)
    waiters = inbox.waiters(session, [row.item.id or 0 for row in (*waiting.offered, *waiting.unread)])
    mine, seconds = inbox.my_reviews(session, run, identity.name)
    tally = aftermath.words_tally(session, run, identity.name, unblinded=identity.has(Role.RESEARCHER))
    budgets = runs.budgets(session, run)

with meters:
    for trial, budget in budgets.items():
        if budget["used"] or budget["cap"] is not None or trial == max(budgets):
            label = _("Trial {trial}").format(trial=trial) if len(budgets) > 1 else ""
            show_budget_meter(budget["cap"], budget["used"] or 0, label=label)
with go:
    words = _("Review the first") if wanted.is_set else _("Review next")
    if st.button(words, key="review-next", type="primary", width="stretch", disabled=not waiting.offered):
        open_item(run, waiting.offered[0].item.id if wanted.is_set else None)

if mine:
    reviewed = _("You have reviewed {count} here.")
    if seconds is not None:
        reviewed = _("You have reviewed {count} here, {seconds} s each.")
    st.caption(reviewed.format(count=mine, seconds=f"{seconds or 0:.0f}"))
if tally:
    with st.container(horizontal=True, vertical_alignment="center", key="tally"):
        st.caption(tally.in_words)
        st.page_link("console/web/pages/answers.py", label=_("What came of them"), query_params={"run": run.name})
notices = st.container()
if waiting.matching:
    st.html(headline_html(waiting, count, oldest))
    if pressed := show_waiting_rows(waiting, waiters, run.name, now_ms()):
        open_item(run, pressed)
    if waiting.beyond and identity.has(Role.RESEARCHER):
        st.page_link(RUNS, label=_("Raise the budget on Runs"), query_params={"run": run.name})
else:
    with reading() as session:
        show_nothing(session, run, identity, waiting, pulse.undecided)
with notices:
    watch_arrivals(_("Inbox"), run.id, pulse, offers=True)
