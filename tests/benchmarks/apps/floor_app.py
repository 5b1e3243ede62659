"""The page floor (design: the same shell, decision bar, write and next-item query, without the trajectory)."""

from pathlib import Path

import streamlit as st

from console.pages.hat import sign_in_or_stop
from console.widgets.styles import load_styles

st.set_page_config(page_title="Floor", layout="wide")
load_styles()
sign_in_or_stop()
here = Path(__file__).parent
st.navigation(
    [
        st.Page(here / "floor_review.py", title="Review", url_path="review"),
        st.Page("floor_inbox.py", title="Inbox", url_path="inbox", default=True),
    ],
    position="top",
).run()
