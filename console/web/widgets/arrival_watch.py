"""Updates of an open tab about pending items: the number in the title, and optional notifications."""

from __future__ import annotations

import streamlit as st

from console.database import Session, reading
from console.language import _, gettext_noop, ngettext
from console.review import inbox
from console.web.live_fragments import rerun_on_change
from console.web.widgets.browser import component

_WORDS = {
    "ask": gettext_noop("Turn on notifications"),
    "on": gettext_noop("Turn off notifications"),
    "denied": gettext_noop("This browser blocks notifications from this site. Allow them in its site settings."),
    "insecure": gettext_noop("Notifications need HTTPS or a console on this computer."),
}


_AT_ONCE_S, _WHILE_READING_S = 0.5, 4.0
"""The shortest time between two updates, on the Inbox and on an open item; each decision updates the number anyway."""


def show_count(title: str, waiting: int) -> None:
    """Set the tab's title with the number of pending items."""
    st.set_page_config(page_title=f"{f'({waiting}) ' if waiting else ''}{title} · InferAct Console")


@st.fragment
def watch_arrivals(
    title: str, run_id: int | None, shown: inbox.QueueState | None, *, redraws: bool = True, offers: bool = False
) -> None:
    """Update the number of pending items after each change; with `redraws`, also draw the page again.

    If `run_id` is None, wait for a run to start. With `offers`, draw the button that turns notifications on.
    """
    with reading() as session:
        now = _news(session, run_id)
    if redraws and now != shown:
        st.rerun()
    waiting = now.waiting if isinstance(now, inbox.QueueState) else 0
    rerun_on_change(_news, run_id, shows=now, pause_s=_AT_ONCE_S if redraws else _WHILE_READING_S)
    show_count(title, waiting)
    said = ngettext("{count} item is pending", "{count} items are pending", waiting)
    words = {state: _(sentence) for state, sentence in _WORDS.items()} if offers else None
    data = {"run": run_id, "waiting": waiting, "said": said.format(count=waiting), "words": words}
    component("arrival_watch", html="<p></p>")(key="arrival-offer" if offers else "arrival-watch", data=data)


def _news(session: Session, run_id: int | None) -> inbox.QueueState | str | None:
    """Return the state of the run's queue; if `run_id` is None, return the name of a started run, or None."""
    if run_id is not None:
        return inbox.get_queue_state(session, run_id)
    begun = inbox.find_busiest_run(session)
    return begun.name if begun else None
