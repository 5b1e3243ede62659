"""Sets and shows the cookie of a preference."""

import streamlit as st

from console.web.widgets.browser import set_cookie

with st.container(key="seen"):
    st.text(st.context.cookies.get("ia_test", "none"))
if st.button("set", key="set"):
    set_cookie("ia_test", "dark.keys-1")
