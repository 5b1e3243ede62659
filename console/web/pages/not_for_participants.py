"""What a study's participant sees at the address of any other page."""

import streamlit as st

from console.language import _
from console.web.widgets.messages import show_empty_state

show_empty_state(
    _("This page is not part of the study"), _("You are taking part in a study, and your place in it is kept.")
)
st.page_link("console/web/pages/participate.py", label=_("Go on with the study"))
