"""The console in a browser: page settings, pages, sign-in, and one handler for errors."""

from collections.abc import Sequence

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from console.auth.people import Identity, Role
from console.database import now_ms
from console.errors import ConsoleError
from console.language import _, language
from console.review.inbox import sweep_queue
from console.web.review.drafts import show_unsent
from console.web.sign_in import provide_identity, sign_in_or_stop
from console.web.streamlit_internals import forget_vanished_widgets, page_in_address
from console.web.visitor_language import follow_page, follow_visitors, name_language
from console.web.waiting_agents import open_waiting_agent, show_waiting_agents
from console.web.widgets.markup import show_html, style_sheets
from console.web.widgets.messages import refusal_words, show_problem
from storage.errors import StorageError


def refuse_pages(pages: Sequence[StreamlitPage]) -> list[StreamlitPage]:
    """Return a hidden page for the address of each page; the hidden page explains who can open the page."""
    script = "console/web/pages/refused.py"
    return [st.Page(script, title=page.title, url_path=page.url_path, visibility="hidden") for page in pages]


def find_missing_page(pages: Sequence[StreamlitPage]) -> list[StreamlitPage]:
    """Return a hidden page for the address if the address names none of these pages, else an empty list."""
    named, known = page_in_address(), {"home", "study", *(page.url_path for page in pages)}
    if named and "/" not in named:
        st.session_state["address"] = named
    # Streamlit names the address in the first run of a tab only.
    named = st.session_state.get("address", "")
    if not named or named in known:
        return []
    script = "console/web/pages/not_found.py"
    return [st.Page(script, title=_("Page not found"), url_path=named, visibility="hidden")]


st.set_page_config(page_icon="🛡️", layout="wide")
forget_vanished_widgets()
follow_visitors()
show_html(style_sheets("page", "lists", "rows", "presentation", "requirements", "timeline", "study"))


ENGLISH = ("trajectories", "runs", "detectors", "studies", "export")
"""The addresses of the pages for researchers alone. These pages exist only in English."""


def list_pages(identity: Identity | None) -> list[StreamlitPage]:
    """Return the pages with their titles in the reader's language: those of the identity, and hidden refusals."""
    taking_part = identity is not None and identity.has(Role.PARTICIPANT)
    inbox, study = "console/web/pages/inbox.py", "console/web/pages/participate.py"
    reviewers = [
        st.Page(inbox, title=_("Inbox"), url_path="home", default=not taking_part),
        st.Page(inbox, title=_("Inbox"), url_path="inbox", visibility="hidden"),
        st.Page("console/web/pages/review.py", title=_("Review"), url_path="review"),
        st.Page("console/web/pages/answers.py", title=_("My reviews"), url_path="answers"),
        st.Page("console/web/pages/ratings.py", title=_("Rate answers"), url_path="ratings"),
    ]
    handbook = st.Page("console/web/pages/help.py", title=_("Help"), url_path="help")
    researchers = [
        st.Page("console/web/pages/trajectories.py", title=_("Trajectories"), url_path="trajectories"),
        st.Page("console/web/pages/runs.py", title=_("Runs"), url_path="runs"),
        st.Page("console/web/pages/detectors.py", title=_("Detectors"), url_path="detectors"),
        st.Page("console/web/pages/studies.py", title=_("Studies"), url_path="studies"),
        st.Page("console/web/pages/export.py", title=_("Export"), url_path="export"),
    ]
    sessions = st.Page("console/web/pages/people.py", title=_("People"), url_path="people")
    notices = st.Page("console/web/pages/notices.py", title=_("Notices"), url_path="notices")
    takes_part = st.Page(study, title=_("Study"), url_path="participate", visibility="hidden")
    if taking_part:
        home = st.Page(study, title=_("Study"), url_path="study", default=True)
        pages = [home, takes_part, *refuse_pages([*reviewers[1:], *researchers, sessions, notices, handbook])]
    elif identity is not None and identity.has(Role.RESEARCHER):
        pages = [*reviewers, *researchers, sessions, notices, handbook, takes_part]
    else:
        pages = [*reviewers, sessions, notices, handbook, takes_part, *refuse_pages(researchers)]
    return pages + find_missing_page(pages)


def open_navigation(identity: Identity | None) -> tuple[StreamlitPage, StreamlitPage]:
    """Draw the navigation; return the present page and the first page.

    A page that exists only in English is English throughout, with its navigation.
    """
    shown = identity is not None and not identity.has(Role.PARTICIPANT)
    pages = list_pages(identity)
    page = st.navigation(pages, position="top" if shown else "hidden")
    researches = identity is not None and identity.has(Role.RESEARCHER)
    if researches and page.url_path in ENGLISH and language() != "en":
        follow_page("en")
        pages = list_pages(identity)
        page = st.navigation(pages, position="top")
    name_language()
    return page, pages[0]


def show_page(identity: Identity | None) -> None:
    """Draw the page at the address if the identity may open that page."""
    taking_part = identity is not None and identity.has(Role.PARTICIPANT)
    page, home = open_navigation(identity)
    if identity is None:
        st.set_page_config(page_title="InferAct Console")
    elif taking_part:
        st.set_page_config(page_title=f"{page.title} · InferAct Console")
    if page.url_path != "participate":
        sign_in_or_stop()
    if identity is None or taking_part:
        page.run()
        return
    if page.url_path == "inbox" and page_in_address() == page.url_path:
        # The navigation marks the Inbox at its other address only.
        st.switch_page(home, query_params={name: st.query_params.get_all(name) for name in st.query_params})
    if page.url_path != "review":
        # The Review page opens with the next item, not with the earlier decision that it showed last.
        st.session_state["looking_back"] = None
        sweep_queue(now_ms())
    open_waiting_agent()
    with st.container(key="agents-waiting"):
        show_waiting_agents(identity, page.title, reviews=page.url_path == "review")
    page.run()


try:
    with provide_identity() as identity:
        show_page(identity)
except (ConsoleError, StorageError) as refusal:
    show_problem(refusal_words(refusal))
    show_unsent()
