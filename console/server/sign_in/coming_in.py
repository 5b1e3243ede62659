"""Sessions opened for somebody who may come in, and their cookie; an invitation and an organisation both end here.

Beside it the deep link that somebody opened before: it waits in a cookie of the browser until they are in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from console.auth import sessions
from console.auth.identity import Role, roles_of
from console.auth.origin import By, Door
from console.database import Session, now_ms
from console.review import inbox
from console.runs import audit_log
from console.server.sign_in.html_pages import HEADERS
from console.server.site import Site
from storage import tables

PAGES = "inbox|review|answers|ratings|trajectories|runs|detectors|studies|export|people|help"
"""The pages of the console that a link may lead to after the sign-in, as a pattern."""

_PARAMETER = re.compile("[a-z]{1,20}")
_LONGEST_LINK = 1_000
_WAITS_S = 3_600


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


def own_link(address: str) -> str:
    """The address as a path of a page of ours with its parameters; empty where it leads elsewhere."""
    if len(address) > _LONGEST_LINK or not (address.isascii() and address.isprintable()):
        return ""
    path, _, query = address.partition("?")
    if not re.fullmatch(f"/({PAGES})/?", path):
        return ""
    kept = [(name, value) for name, value in parse_qsl(query) if _PARAMETER.fullmatch(name) and value.isprintable()]
    return f"/{path.strip('/')}?{urlencode(kept)}".removesuffix("?")


def keep_link(request: Request, response: Response, site: Site) -> None:
    """Keeps the page that was asked for in the browser; the latest one counts."""
    link = own_link(f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path)
    response.set_cookie(_link_cookie(site), quote(link, ""), max_age=_WAITS_S if link else 0, **_rules(site))


def kept_link(request: Request, site: Site) -> str:
    """The page that this browser asked for before its sign-in, empty where there is none."""
    return own_link(unquote(request.cookies.get(_link_cookie(site), "")))


def lead_in(site: Site, token: str, to: str) -> Response:
    """The answer that lets somebody in and leads to that path; what the browser had asked for is forgotten."""
    response = RedirectResponse(to, 303, HEADERS)
    set_cookie(response, site, token)
    response.delete_cookie(_link_cookie(site), **_rules(site))
    return response


def _link_cookie(site: Site) -> str:
    return f"inferact_{site.port}_link"


def _rules(site: Site) -> dict[str, Any]:
    """The rules of our cookies: out of reach for scripts, and never over HTTP where browsers come by HTTPS."""
    # Strict would not be sent with the redirect that follows a click in a mail.
    return {"httponly": True, "samesite": "lax", "secure": site.is_secure}


def set_cookie(response: Response, site: Site, token: str) -> None:
    """Sets the session's cookie."""
    days = sessions.SESSION_DAYS
    response.set_cookie(sessions.cookie_name(site.port), token, max_age=days * 86_400, **_rules(site))


def address_of(request: Request) -> str:
    """Where the request comes from, empty where that is not known."""
    return request.client.host if request.client else ""
