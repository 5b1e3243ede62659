"""Sets, shows and deletes the cookie of a sign-in."""

import streamlit as st

from console.web.widgets.sign_in_cookie import delete_cookie, set_cookie

with st.container(key="seen"):
    st.text(st.context.cookies.get("ia_test", "none"))
if st.button("set", key="set"):
    set_cookie("ia_test", "ada.signed-1")
if st.button("delete", key="delete"):
    delete_cookie("ia_test")
