"""The floor of a results page: the same shell and sign-in, and one constant Plotly chart."""

from pathlib import Path

import plotly.graph_objects as go
import streamlit as st

from console.web.sign_in import sign_in_or_stop
from console.web.widgets.styles import load_styles

st.set_page_config(page_title="Floor", layout="wide")
load_styles()


def studies() -> None:
    """One title, one chart that never changes."""
    st.title("Studies")
    st.plotly_chart(go.Figure(go.Scatter(x=[0, 1, 2, 3], y=[0.3, 0.4, 0.5, 0.5])), key="constant")


here = Path(__file__).parent
inbox = st.Page(here / "floor_inbox.py", title="Inbox", default=True)
page = st.navigation([inbox, st.Page(studies, title="Studies", url_path="studies")], position="top")
sign_in_or_stop()
page.run()
