"""The console in a browser: page config, the list of pages, sign-in, one catch for our errors."""

import streamlit as st

from console.errors import ConsoleError
from console.pages.hat import current_hat, sign_in_or_stop
from console.sign_in import Role
from console.widgets.problem import show_problem
from console.widgets.styles import load_styles
from storage.errors import StorageError

st.set_page_config(page_title="InferAct Console", page_icon="🛡️", layout="wide")
load_styles()

try:
    hat = current_hat()
    inbox = "console/pages/inbox.py"
    pages = [
        st.Page(inbox, title="Inbox", url_path="home", default=True),
        st.Page(inbox, title="Inbox", url_path="inbox", visibility="hidden"),
        st.Page("console/pages/review.py", title="Review", url_path="review"),
    ]
    trajectories = st.Page("console/pages/trajectories.py", title="Trajectories", url_path="trajectories")
    runs = st.Page("console/pages/runs.py", title="Runs", url_path="runs")
    detectors = st.Page("console/pages/detectors.py", title="Detectors", url_path="detectors")
    export = st.Page("console/pages/export.py", title="Export", url_path="export")
    researchers = [trajectories, runs, detectors, export]
    if hat is None or hat.role is Role.RESEARCHER:
        pages += researchers
    else:
        refusal = "console/pages/researchers_only.py"
        pages += [st.Page(refusal, title=p.title, url_path=p.url_path, visibility="hidden") for p in researchers]
    page = st.navigation(pages, position="top" if hat else "hidden")
    sign_in_or_stop()
    page.run()
except (ConsoleError, StorageError) as refusal:
    show_problem(str(refusal) or str(type(refusal).__doc__))
