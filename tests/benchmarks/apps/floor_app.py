"""The page floor (design: the same shell, decision bar, write and next-item query, without the trajectory)."""

from pathlib import Path

import streamlit as st

from console.web.sign_in import sign_in_or_stop
from console.web.widgets.styles import load_styles

st.set_page_config(page_title="Floor", layout="wide")
load_styles()
here = Path(__file__).parent
page = st.navigation(
    [
        st.Page(here / "floor_inbox.py", title="Inbox", default=True),
        st.Page(here / "floor_review.py", title="Review", url_path="review"),
    ],
    position="top",
)
sign_in_or_stop()
page.run()
