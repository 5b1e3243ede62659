"""People: whom somebody invites or disables, which agents may ask, and one's own sessions. For everybody signed in."""

import streamlit as st

from console.auth.identity import Role
from console.language import _
from console.web import people_parts
from console.web.flash import show_messages
from console.web.sign_in import current_identity

identity = current_identity()
if identity is None:
    st.stop()
st.title(_("People"))
show_messages()
if identity.has(Role.RESEARCHER) or identity.has(Role.ADMIN):
    people_parts.show_people(identity)
    people_parts.show_agents()
people_parts.show_sessions(identity)
