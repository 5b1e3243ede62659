"""People and their sessions for tests: made by the invitation that everybody comes in by."""

from console.auth import invitations, sessions
from console.auth.identity import Role
from console.database import now_ms, writing


def signed_in(name="Ada", role="researcher"):
    """The token of a session of that person, as their cookie holds it."""
    with writing() as session:
        token = invitations.invite(session, name, [Role(role)], "tests", now_ms())
        person = invitations.accept(session, token, "", now_ms())
        return sessions.open_session(session, person, now_ms())


def invitation(name=None, role="reviewer"):
    """The token of an invitation; without a name, whoever comes chooses one."""
    with writing() as session:
        return invitations.invite(session, name, [Role(role)], "tests", now_ms())
