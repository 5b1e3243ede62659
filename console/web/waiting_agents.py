"""The line on every page with the number of agents that wait for the visitor, and a link to the first agent."""

from __future__ import annotations

import streamlit as st

from console.auth.people import Identity, Role
from console.database import Session, now_ms, reading
from console.language import _, ngettext
from console.review.waiting import AgentsWaiting, get_agents_waiting
from console.web.live_fragments import rerun_on_change
from console.web.review import item_address, shortcuts
from console.web.widgets import boundary
from console.web.widgets.boundary import draw_part
from console.web.widgets.browser import component
from console.web.widgets.hotkeys import key_label
from console.web.widgets.status import DAYS

REVIEW = "console/web/pages/review.py"
_HTML = '<p role="status"><b class="ia-agents"></b><span class="ia-since"></span></p>'


def show_waiting_agents(identity: Identity, title: str, *, reviews: bool) -> None:
    """Draw the line if an agent waits, and the tab's title with the number of pending items.

    `reviews` is true on the Review page, which shows the items that the visitor has claimed.
    """
    if not identity.has(Role.REVIEWER) and not identity.has(Role.RESEARCHER):
        return
    _watch_agents(identity.name, title, reviews)


def open_waiting_agent() -> None:
    """Open the item of the agent whose button the visitor pressed, if any, on the Review page."""
    if (item := st.session_state.pop("open_agent", None)) is not None:
        item_address.forget_address()
        st.switch_page(REVIEW, query_params={"item": str(item)})


@st.fragment
def _watch_agents(reviewer: str, title: str, reviews: bool) -> None:
    draw_part(boundary.ARRIVALS, lambda: _show_agents(reviewer, title, reviews), None)


def _show_agents(reviewer: str, title: str, reviews: bool) -> None:
    open_waiting_agent()
    with reading() as session:
        now = _news(session, reviewer, reviews)
    rerun_on_change(_news, reviewer, reviews, shows=now, shared=True)
    st.set_page_config(page_title=f"{f'({now.pending}) ' if now.pending else ''}{title} · InferAct Console")
    said = ngettext("{count} item is pending", "{count} items are pending", now.pending).format(count=now.pending)
    component("arrival_watch", html="<p></p>")(
        key="arrival-watch", data={"run": "all", "waiting": now.pending, "said": said, "words": None}
    )
    if not now.count:
        return
    words = ngettext("{count} action is waiting", "{count} actions are waiting", now.count)
    if now.are_more:
        words = ngettext("{count} more action is waiting", "{count} more actions are waiting", now.count)
    words = words.format(count=now.count)
    data = {
        "said": f"{words} ({now.run})" if now.count == 1 else words,
        "since": now.since_ms,
        "deadline": now.deadline_ms,
        "now": now_ms(),
        "enabled": shortcuts.are_enabled(),
        "words": {"for": _("for {time}"), "first": _("the first for {time}"), "left": _("{time} left to decide")}
        | {"days": _(DAYS)},
        "several": now.count > 1,
    }
    with st.container(horizontal=True, vertical_alignment="center", key="agents-line"):
        component("waiting_agents", html=_HTML)(key="agents-text", data=data)
        opened = {"open_agent": now.item_id}
        st.button(
            key_label(_("Open first agent"), "G"), key="agents-open", on_click=st.session_state.update, args=(opened,)
        )


def _news(session: Session, reviewer: str, reviews: bool) -> AgentsWaiting:
    return get_agents_waiting(session, reviewer, now_ms(), without_claimed=reviews)
