"""Sessions opened at a sign-in, and their cookies; used by invitations and organisation sign-in.

A second cookie stores the deep link that was opened before the sign-in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from console.auth import audit_log, sessions
from console.auth.audit_log import By, Door
from console.auth.people import Role, roles_of
from console.database import Session, now_ms
from console.review import inbox
from console.server.sign_in.html_pages import HEADERS
from console.server.sign_in.wrong_tokens import address_of
from console.server.site import Site
from storage import tables

PAGES = "inbox|review|answers|ratings|trajectories|runs|detectors|studies|export|people|notices|help"
"""A pattern of the pages that a link may open after the sign-in."""

_PARAMETER = re.compile("[a-z]{1,20}")
_LONGEST_LINK = 1_000
_WAITS_S = 3_600


def let_in(
    session: Session, person: tables.Person, request: Request, through: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """Open a session and record its details `through`; return its token and the person's first page."""
    browser, address = request.headers.get("user-agent", ""), address_of(request)
    by = By(person.name, Door.BROWSER, address)
    audit_log.record(session, None, "signed in", now_ms(), by=by, subject=person.name, detail=through)
    reviews = Role.REVIEWER in roles_of(person.roles) and inbox.has_pending_items(session)
    opened = sessions.open_session(session, person, now_ms(), browser=browser, address=address)
    is_new = reviews and inbox.find_last_decided_run(session, person.name) is None
    return opened, "/review?welcome=1" if is_new else "/"


def own_link(address: str) -> str:
    """Return the address of one of our pages as a path with its parameters, or an empty text for another address."""
    if len(address) > _LONGEST_LINK or not (address.isascii() and address.isprintable()):
        return ""
    path, _, query = address.partition("?")
    if not re.fullmatch(f"/({PAGES})/?", path):
        return ""
    kept = [(name, value) for name, value in parse_qsl(query) if _PARAMETER.fullmatch(name) and value.isprintable()]
    return f"/{path.strip('/')}?{urlencode(kept)}".removesuffix("?")


def keep_link(request: Request, response: Response, site: Site) -> None:
    """Store the requested page in a cookie; a later request replaces an earlier request."""
    link = own_link(f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path)
    response.set_cookie(_link_cookie(site), quote(link, ""), max_age=_WAITS_S if link else 0, **cookie_rules(site))


def read_kept_link(request: Request, site: Site) -> str:
    """Return the page that this browser requested before the sign-in, or an empty string."""
    return own_link(unquote(request.cookies.get(_link_cookie(site), "")))


def lead_in(site: Site, token: str, to: str) -> Response:
    """Return a redirect to the path `to` that sets the session's cookie and deletes the stored page."""
    response = RedirectResponse(to, 303, HEADERS)
    days = sessions.SESSION_DAYS
    response.set_cookie(sessions.cookie_name(site.port), token, max_age=days * 86_400, **cookie_rules(site))
    response.delete_cookie(_link_cookie(site), **cookie_rules(site))
    return response


def _link_cookie(site: Site) -> str:
    return f"inferact_{site.port}_link"


def cookie_rules(site: Site) -> dict[str, Any]:
    """Return the attributes of our cookies: hidden from scripts, and sent only over HTTPS if the site uses HTTPS."""
    # A strict cookie would not be sent after a click in an e-mail.
    return {"httponly": True, "samesite": "lax", "secure": site.is_secure}
