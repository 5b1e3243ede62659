"""The small apps of these tests, each at its own address of one server."""

import streamlit as st

NAMES = ("keys", "sheet", "cookie")
home = st.Page(lambda: st.text("one app a page"), title="home", default=True)
st.navigation([home, *(st.Page(f"{name}.py", url_path=name) for name in NAMES)], position="hidden").run()
