"""Help: the handbook, a chapter at a time; the address holds which one."""

import streamlit as st

from console.auth.identity import Role
from console.web.handbook import CHAPTERS, chapter
from console.web.sign_in import current_identity


def turn() -> None:
    """Writes the chosen chapter into the address."""
    if st.session_state["chapter"]:
        st.query_params["chapter"] = st.session_state["chapter"]


identity = current_identity()
own = "researcher" if identity and identity.has(Role.RESEARCHER) else "reviewer"
wanted = st.query_params.get("chapter", own)
opened = wanted if wanted in CHAPTERS else own

st.title("Help")
st.segmented_control(
    "Chapter",
    list(CHAPTERS),
    format_func=CHAPTERS.__getitem__,
    key="chapter",
    default=opened,
    required=True,
    on_change=turn,
    label_visibility="collapsed",
)
with st.container(key="ia-handbook"):
    st.markdown(chapter(opened))
