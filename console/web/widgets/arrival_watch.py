"""Updates of an open page about pending items, and the button for notifications."""

from __future__ import annotations

import streamlit as st

from console.database import Session, now_ms, reading
from console.language import _, gettext_noop
from console.review import inbox
from console.web.live_fragments import rerun_on_change
from console.web.widgets import boundary
from console.web.widgets.boundary import draw_part
from console.web.widgets.browser import component

_WORDS = {
    "ask": gettext_noop("Turn on notifications"),
    "on": gettext_noop("Turn off notifications"),
    "denied": gettext_noop(
        "This browser blocks notifications from this site. Allow notifications in the browser's site settings."
    ),
    "insecure": gettext_noop("Notifications need HTTPS or a console on this computer."),
}


@st.fragment
def watch_arrivals(
    run_ids: tuple[int, ...] | None, shown: inbox.QueueState | int | None, *, offers: bool = False
) -> None:
    """Draw the page again after each change of the queue of these runs.

    If `run_ids` is None, wait for a newer run than the one with the id `shown`. With `offers`, draw the button that
    turns notifications on.
    """
    draw_part(boundary.ARRIVALS, lambda: _show_arrivals(run_ids, shown, offers), None)


def _show_arrivals(run_ids: tuple[int, ...] | None, shown: inbox.QueueState | int | None, offers: bool) -> None:
    with reading() as session:
        now = _news(session, run_ids)
    if now != shown:
        st.rerun()
    rerun_on_change(_news, run_ids, shows=now)
    if offers:
        words = {state: _(sentence) for state, sentence in _WORDS.items()}
        component("arrival_watch", html="<p></p>")(key="arrival-offer", data={"run": None, "words": words})


def watch_agent(item: int) -> None:
    """Draw the page again when the agent of the item, if any, stops waiting or stops sending heartbeats."""
    with reading() as session:
        shown = _agent_news(session, item)
    if shown is not None:
        _watch_agent(item, shown)


@st.fragment
def _watch_agent(item: int, shown: tuple[bool, bool]) -> None:
    with reading() as session:
        now = _agent_news(session, item)
    if now != shown:
        st.rerun()
    rerun_on_change(_agent_news, item, shows=now)


def _agent_news(session: Session, item: int) -> tuple[bool, bool] | None:
    return inbox.get_waiter_state(session, item, now_ms())


def _news(session: Session, run_ids: tuple[int, ...] | None) -> inbox.QueueState | int | None:
    """Return the state of the runs' queues; if `run_ids` is None, return the id of the newest run, or None."""
    return inbox.find_newest_run(session) if run_ids is None else inbox.get_queue_state(session, run_ids)
