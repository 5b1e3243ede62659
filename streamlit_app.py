"""The console in a browser: page config, the list of pages, sign-in, one catch for our errors."""

from collections.abc import Sequence

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from console.auth.sign_in import Role
from console.errors import ConsoleError
from console.pages.hat import current_hat, sign_in_or_stop
from console.widgets.problem import show_problem
from console.widgets.styles import load_styles
from storage.errors import StorageError


def refusing(script: str, pages: Sequence[StreamlitPage]) -> list[StreamlitPage]:
    """The addresses of those pages, each with a script in its place that says whose they are."""
    return [st.Page(script, title=page.title, url_path=page.url_path, visibility="hidden") for page in pages]


st.set_page_config(page_title="InferAct Console", page_icon="🛡️", layout="wide")
load_styles()

try:
    hat = current_hat()
    role = hat.role if hat else None
    inbox, study = "console/pages/inbox.py", "console/pages/participate.py"
    reviewers = [
        st.Page(inbox, title="Inbox", url_path="home", default=role is not Role.PARTICIPANT),
        st.Page(inbox, title="Inbox", url_path="inbox", visibility="hidden"),
        st.Page("console/pages/review.py", title="Review", url_path="review"),
    ]
    researchers = [
        st.Page("console/pages/trajectories.py", title="Trajectories", url_path="trajectories"),
        st.Page("console/pages/runs.py", title="Runs", url_path="runs"),
        st.Page("console/pages/detectors.py", title="Detectors", url_path="detectors"),
        st.Page("console/pages/studies.py", title="Studies", url_path="studies"),
        st.Page("console/pages/export.py", title="Export", url_path="export"),
    ]
    takes_part = st.Page(study, title="Study", url_path="participate", visibility="hidden")
    if role is Role.PARTICIPANT:
        home = st.Page(study, title="Study", url_path="study", default=True)
        pages = [home, takes_part, *refusing("console/pages/outside_the_study.py", [*reviewers[1:], *researchers])]
    elif role is Role.REVIEWER:
        pages = [*reviewers, takes_part, *refusing("console/pages/researchers_only.py", researchers)]
    else:
        pages = [*reviewers, *researchers, takes_part]
    page = st.navigation(pages, position="hidden" if role in (None, Role.PARTICIPANT) else "top")
    if page is not takes_part:
        sign_in_or_stop()
    page.run()
except (ConsoleError, StorageError) as refusal:
    show_problem(str(refusal) or str(type(refusal).__doc__))
