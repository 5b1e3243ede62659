"""Help: the chapters of the handbook; the address holds the open chapter."""

import streamlit as st

from console.auth.people import Role
from console.language import _
from console.web.handbook import CHAPTERS, chapter, contents_html, mark_commands, split_wide_tables
from console.web.sign_in import current_identity
from console.web.visitor_language import language_buttons
from console.web.widgets.markup import show_html
from console.web.widgets.tables import show_rows


def turn() -> None:
    """Store the selected chapter in the address."""
    if st.session_state["chapter"]:
        st.query_params["chapter"] = st.session_state["chapter"]


identity = current_identity()
own = "researcher" if identity and identity.has(Role.RESEARCHER) else "reviewer"
wanted = st.query_params.get("chapter", own)
opened = wanted if wanted in CHAPTERS else own

with st.container(horizontal=True, vertical_alignment="bottom"):
    st.title(_("Help"))
    language_buttons()
st.segmented_control(
    _("Chapter"),
    list(CHAPTERS),
    format_func=lambda name: _(CHAPTERS[name]),
    key="chapter",
    default=opened,
    required=True,
    on_change=turn,
    label_visibility="collapsed",
)
show_html(contents_html(opened))
with st.container(key="ia-handbook"):
    for part in split_wide_tables(mark_commands(chapter(opened))):
        if isinstance(part, str):
            st.markdown(part)
        else:
            show_rows(part, {title: title for title in part[0]}, label=next(iter(part[0])))
