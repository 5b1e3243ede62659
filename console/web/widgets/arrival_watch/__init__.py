"""The watch of a queue in an open tab: what comes to wait shows by itself, counted in the title of the tab.

A browser tells of it, too, where the person has asked it to: by a press of the button here, and never with a word of
what waits.
"""

from __future__ import annotations

import streamlit as st

from console.database import Session, reading
from console.language import _, gettext_noop, ngettext
from console.review import inbox
from console.web.waking import wake_when_other
from console.web.widgets.component import component

_WORDS = {
    "ask": gettext_noop("Notify me when something comes to wait"),
    "on": gettext_noop("This browser notifies you when something comes to wait. Turn it off"),
    "denied": gettext_noop("This browser blocks notifications of this site; its site settings can allow them."),
    "insecure": gettext_noop("Notifications need a console at https:// or on this machine."),
}


_AT_ONCE_S, _WHILE_READING_S = 0.5, 4.0
"""How soon after the last look a tab is told again: whoever reads an item counts again at each answer anyhow."""


def show_count(title: str, waiting: int) -> None:
    """Puts the number of items that wait before the title of the tab."""
    st.set_page_config(page_title=f"{f'({waiting}) ' if waiting else ''}{title} · InferAct Console")


@st.fragment
def watch_arrivals(
    title: str, run_id: int | None, shown: inbox.Pulse | None, *, redraws: bool = True, offers: bool = False
) -> None:
    """Counts in the tab's title what waits in the run, at each change; with `redraws` the page is drawn anew by it.

    Without a run it waits for one. With `offers` stands here the button that asks for notifications.
    """
    with reading() as session:
        now = _news(session, run_id)
    if redraws and now != shown:
        st.rerun()
    wake_when_other(_news, run_id, shows=now, pause_s=_AT_ONCE_S if redraws else _WHILE_READING_S)
    waiting = now.waiting if isinstance(now, inbox.Pulse) else 0
    show_count(title, waiting)
    said = ngettext("{count} item waits for a review", "{count} items wait for a review", waiting)
    words = {state: _(sentence) for state, sentence in _WORDS.items()} if offers else None
    data = {"run": run_id, "waiting": waiting, "said": said.format(count=waiting), "words": words}
    component(__name__, html="<p></p>")(key="arrival-offer" if offers else "arrival-watch", data=data)


def _news(session: Session, run_id: int | None) -> inbox.Pulse | str | None:
    """The pulse of the run; without one, the name of the run that has begun."""
    if run_id is not None:
        return inbox.pulse(session, run_id)
    begun = inbox.busiest_run(session)
    return begun.name if begun else None
