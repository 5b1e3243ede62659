"""People and their sessions for tests: made by the invitation that everybody comes in by."""

from urllib.parse import urlsplit

from console.auth import invitations, sessions
from console.auth.people import Role
from console.database import now_ms, writing


def signed_in(name="Ada", role="researcher"):
    """The token of a session of that person, as their cookie holds it."""
    with writing() as session:
        token = invitations.invite(session, name, [Role(role)], "tests", now_ms())
        person = invitations.accept(session, token, "", now_ms())
        return sessions.open_session(session, person, now_ms())


def cookie(address, token):
    """The session's cookie as a browser keeps it for that address."""
    return {"name": f"inferact_{urlsplit(address).port}", "value": token, "url": address, "httpOnly": True}


def let_in(page, address, name="Ada", role="researcher"):
    """Signs the page's browser in without a page for it."""
    page.context.add_cookies([cookie(address, signed_in(name, role))])


def invitation(name=None, role="reviewer"):
    """The token of an invitation; without a name, whoever comes chooses one."""
    with writing() as session:
        return invitations.invite(session, name, [Role(role)], "tests", now_ms())
