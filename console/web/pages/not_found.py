"""The page that is shown for an unknown address."""

import streamlit as st

from console.auth.people import Role
from console.language import _
from console.web.sign_in import current_identity
from console.web.widgets.messages import next_step_row, show_empty_state

show_empty_state(_("Page not found"), _("No page has this address. Check the address for errors."), level=1)
identity = current_identity()
with next_step_row():
    if identity and identity.has(Role.PARTICIPANT):
        st.page_link("console/web/pages/participate.py", label=_("Continue the study"))
    else:
        st.page_link("console/web/pages/inbox.py", label=_("Open the Inbox"))
