"""The console in a browser: page config, sign-in, the list of pages, one catch for our errors."""

import streamlit as st

from console.errors import ConsoleError
from console.pages.hat import sign_in_or_stop
from console.sign_in import Role
from console.widgets.problem import show_problem
from console.widgets.styles import load_styles
from storage.errors import StorageError

st.set_page_config(page_title="InferAct Console", page_icon="🛡️", layout="wide")
load_styles()

try:
    hat = sign_in_or_stop()
    pages = [
        st.Page("console/pages/inbox.py", title="Inbox", url_path="inbox", default=True),
        st.Page("console/pages/review.py", title="Review", url_path="review"),
    ]
    if hat.role is Role.RESEARCHER:
        pages += [
            st.Page("console/pages/trajectories.py", title="Trajectories", url_path="trajectories"),
            st.Page("console/pages/runs.py", title="Runs", url_path="runs"),
            st.Page("console/pages/detectors.py", title="Detectors", url_path="detectors"),
            st.Page("console/pages/export.py", title="Export", url_path="export"),
        ]
    st.navigation(pages, position="top").run()
except (ConsoleError, StorageError) as refusal:
    show_problem(str(refusal) or str(type(refusal).__doc__))
