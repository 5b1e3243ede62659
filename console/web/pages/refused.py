"""The page at an address that the signed-in person's role does not include."""

from console.auth.people import Role
from console.language import _
from console.web.sign_in import current_identity
from console.web.widgets.messages import next_step_row, show_empty_state

identity = current_identity()
if identity and identity.has(Role.PARTICIPANT):
    show_empty_state(_("This page is not part of the study"), _("You are in a study. Your place is kept."), level=1)
    next_step_row().page_link("console/web/pages/participate.py", label=_("Continue the study"))
else:
    why = _("Your account has no researcher role. Ask an admin to invite you as a researcher.")
    if identity and identity.has(Role.ADMIN):
        why = _("Your account has no researcher role. Invite yourself as researcher and admin on the People page.")
    show_empty_state(_("This page is for researchers"), why, level=1)
    next_step_row().page_link("console/web/pages/inbox.py", label=_("Open the Inbox"))
