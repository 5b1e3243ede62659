"""What a reviewer sees at the address of a researcher's page."""

import streamlit as st

from console.language import _
from console.web.widgets.messages import show_empty_state

show_empty_state(
    _("This page is the researcher's"),
    _(
        "You are signed in without the role of a researcher; an admin can invite you with it. "
        "What waits for a review stands in the Inbox."
    ),
)
st.page_link("console/web/pages/inbox.py", label=_("Go to the Inbox"))
