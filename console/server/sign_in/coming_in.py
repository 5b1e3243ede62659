"""Sessions opened for somebody who may come in, and their cookie; an invitation and an organisation both end here."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from console.auth import sessions
from console.auth.identity import Role, roles_of
from console.auth.origin import By, Door
from console.database import Session, now_ms
from console.review import inbox
from console.runs import audit_log
from console.server.site import Site
from storage import tables


def let_in(
    session: Session, person: tables.Person, request: Request, through: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """(the token of the new session, the first page of that person); `through` says in the audit who vouched."""
    browser, address = request.headers.get("user-agent", ""), address_of(request)
    by = By(person.name, Door.BROWSER, address)
    audit_log.record(session, None, "signed in", now_ms(), by=by, subject=person.name, detail=through)
    reviews = Role.REVIEWER in roles_of(person.roles) and inbox.waits_anywhere(session)
    opened = sessions.open_session(session, person, now_ms(), browser=browser, address=address)
    return opened, "/review?welcome=1" if reviews and not inbox.has_answered(session, person.name) else "/"


def set_cookie(response: Response, site: Site, token: str) -> None:
    """Sets the session's cookie, out of reach for scripts."""
    # Strict would not be sent with the redirect that follows a click in a mail.
    response.set_cookie(
        sessions.cookie_name(site.port),
        token,
        httponly=True,
        samesite="lax",
        secure=site.is_secure,
        max_age=sessions.SESSION_DAYS * 86_400,
    )


def address_of(request: Request) -> str:
    """Where the request comes from, empty where that is not known."""
    return request.client.host if request.client else ""
