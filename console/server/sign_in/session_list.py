"""The list of open sessions: one's own, for an admin everybody's; each can be ended."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from console.auth import sessions
from console.auth.identity import Identity, Role
from console.auth.origin import By, Door
from console.database import now_ms, reading, writing
from console.errors import ConsoleError
from console.language import _
from console.runs import audit_log
from console.server.sign_in.html_pages import HEADERS, fields, notice, page, utc_minute
from console.server.site import Site


def person_at(site: Site, request: Request) -> Identity | None:
    """The person whose session the request's cookie holds, or None."""
    with reading() as session:
        return sessions.identity_of(session, request.cookies.get(sessions.cookie_name(site.port)), now_ms())


async def show(site: Site, request: Request) -> Response:
    """The page; a participant of a study has no session that could be listed."""
    identity = await asyncio.to_thread(person_at, site, request)
    if identity is None:
        return RedirectResponse("/sign-in", 303, HEADERS)
    rows = await asyncio.to_thread(_rows, identity)
    return page("sessions", name=identity.name, rows=rows, everybody=identity.has(Role.ADMIN))


async def end(site: Site, request: Request) -> Response:
    """Ends the session whose button was pressed."""
    identity, sent = await asyncio.to_thread(person_at, site, request), await fields(request)
    if identity is None:
        return RedirectResponse("/sign-in", 303, HEADERS)
    number = sent.get("id", "")
    try:
        await asyncio.to_thread(_end, int(number) if number.isdecimal() and len(number) < 18 else 0, identity)
    except ConsoleError as refusal:
        return notice(_("Nothing was ended"), str(refusal), 403)
    return RedirectResponse("/sessions", 303, HEADERS)


def _rows(identity: Identity) -> list[dict[str, object]]:
    with reading() as session:
        found = sessions.open_sessions(session, now_ms(), None if identity.has(Role.ADMIN) else identity.name)
    return [
        {
            "id": one.id,
            "name": one.name,
            "browser": sessions.browser_in_words(one.browser),
            "user_agent": one.browser,
            "address": one.address,
            "since": utc_minute(one.created_ms),
            "seen": utc_minute(one.seen_ms),
            "here": one.id == identity.session_id,
        }
        for one in found
    ]


def _end(session_id: int, identity: Identity) -> None:
    with writing() as session:
        name = sessions.end_session_of(session, session_id, identity, now_ms())
        audit_log.record(session, None, "session ended", now_ms(), by=By(identity.name, Door.BROWSER), subject=name)
