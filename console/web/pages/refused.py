"""The page at an address that the signed-in person's role does not include."""

import streamlit as st

from console.auth.people import Role
from console.language import _
from console.web.sign_in import current_identity
from console.web.widgets.messages import show_empty_state

identity = current_identity()
if identity and identity.has(Role.PARTICIPANT):
    show_empty_state(_("This page is not part of the study"), _("You are in a study. Your place is kept."))
    st.page_link("console/web/pages/participate.py", label=_("Continue the study"))
else:
    show_empty_state(
        _("This page is for researchers"),
        _("Your account has no researcher role. Ask an admin to invite you as a researcher."),
    )
    st.page_link("console/web/pages/inbox.py", label=_("Open the Inbox"))
