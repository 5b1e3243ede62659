"""Routes of the sign-in: GET shows an invitation; POST uses the invitation, opens a session and sets its cookie."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from console.auth import audit_log, invitations, people, sessions
from console.auth.audit_log import By, Door
from console.auth.invitations import Invited, UnusableInvitation
from console.auth.people import Identity, Role
from console.database import now_ms, reading, writing
from console.errors import BadInput, ConsoleError, Refused
from console.language import _
from console.server.sign_in import organisation, participants, wrong_tokens
from console.server.sign_in.html_pages import HEADERS, fields, in_language, notice, page, style, utc_minute
from console.server.sign_in.session_cookies import cookie_rules, lead_in, let_in, own_link, read_kept_link
from console.server.site import Site

_Handler = Callable[[Site, Request], Awaitable[Response]]


def routes(site: Site) -> list[Route]:
    """Return every route of the sign-in."""
    return [
        _route(site, "/sign-in", _sign_in, "GET"),
        _route(site, "/sign-in/style.css", _style, "GET"),
        _route(site, organisation.BEGIN, organisation.begin, "GET", organisation.on_the_way(site)),
        _route(site, organisation.BACK, organisation.complete_sign_in, "GET", organisation.on_the_way(site)),
        _route(site, "/invite/{token}", _show_invitation, "GET"),
        _route(site, "/invite/{token}", _use_invitation, "POST"),
        _route(site, "/sign-out", _sign_out, "POST"),
        _route(site, "/whoami", _whoami, "GET"),
        _route(site, "/sessions", _show_sessions, "GET"),
        _route(site, "/sessions", _end_session, "POST"),
        _route(site, "/join", participants.show_join, "GET"),
        _route(site, "/join", participants.join, "POST"),
        _route(site, "/my-consent", participants.show_consent, "GET"),
        _route(site, "/page-events", participants.take_events, "POST"),
    ]


def _route(site: Site, path: str, handler: _Handler, method: str, around: Sequence[Middleware] = ()) -> Route:
    async def answer(request: Request) -> Response:
        return await in_language(request, handler(site, request))

    return Route(path, answer, methods=[method], name=f"{method} {path}", middleware=around)


async def _style(_site: Site, _request: Request) -> Response:
    return style()


async def _sign_in(site: Site, request: Request) -> Response:
    identity = await asyncio.to_thread(_person_at, site, request)
    name, begin = identity.name if identity else None, organisation.begin_address(site)
    link, over = read_kept_link(request, site), "over" in request.query_params
    return page("sign_in", name=name, over=over, organisation=begin, link=link)


async def _whoami(site: Site, request: Request) -> Response:
    identity: Identity | None = await asyncio.to_thread(_person_at, site, request)
    if identity is None:
        return JSONResponse({"error": "No one is signed in in this browser."}, 401, HEADERS)
    return JSONResponse({"name": identity.name, "roles": sorted(map(str, identity.roles))}, 200, HEADERS)


async def _show_invitation(_site: Site, request: Request) -> Response:
    await wrong_tokens.slow(request)
    try:
        invited = await asyncio.to_thread(_invited, request.path_params["token"])
    except UnusableInvitation as refusal:
        return _no_use(request, refusal)
    return _invitation_page(request, invited)


async def _use_invitation(site: Site, request: Request) -> Response:
    await wrong_tokens.slow(request)
    sent, token = await fields(request), request.path_params["token"]
    try:
        invited = await asyncio.to_thread(_invited, token)
        opened, first = await asyncio.to_thread(_open, token, sent.get("name", ""), request)
    except UnusableInvitation as refusal:
        return _no_use(request, refusal)
    except (BadInput, Refused) as refusal:
        # Only the second call raises these.
        return _invitation_page(request, invited, str(refusal), sent.get("name", ""))
    wrong_tokens.forget(request)
    return lead_in(site, opened, own_link(sent.get("next", "")) or read_kept_link(request, site) or first)


async def _sign_out(site: Site, request: Request) -> Response:
    cookie = sessions.cookie_name(site.port)
    await asyncio.to_thread(_end, request.cookies.get(cookie))
    response = RedirectResponse("/sign-in", 303, HEADERS)
    response.delete_cookie(cookie, **cookie_rules(site))
    return response


def _invited(token: str) -> Invited:
    with reading() as session:
        return invitations.read_invitation(session, token, now_ms())


def _open(token: str, name: str, request: Request) -> tuple[str, str]:
    with writing() as session:
        return let_in(session, invitations.accept(session, token, name, now_ms()), request)


def _end(token: str | None) -> None:
    with writing() as session:
        identity = sessions.identity_of(session, token, now_ms())
        sessions.end_session(session, token, now_ms())
        if identity is not None:
            by = By(identity.name, Door.BROWSER)
            audit_log.record(session, None, "signed out", now_ms(), by=by, subject=identity.name)


def _invitation_page(request: Request, invited: Invited, refusal: str = "", name: str = "") -> Response:
    return page(
        "invite",
        400 if refusal else 200,
        invited=invited,
        roles=_roles(invited),
        refusal=refusal,
        name=name,
        longest=people.MAX_NAME,
        next=own_link(request.query_params.get("next", "")),
    )


def _roles(invited: Invited) -> str:
    *more, last = sorted(_(str(role)) for role in invited.roles)
    return _("{several} and {last}").format(several=", ".join(more), last=last) if more else last


def _no_use(request: Request, refusal: ConsoleError) -> Response:
    wrong_tokens.count_wrong(request, "invitation")
    return notice(_("This link does not work"), f"{refusal} {_('Ask the operator for a new link.')}", 410)


def _person_at(site: Site, request: Request) -> Identity | None:
    with reading() as session:
        return sessions.identity_of(session, request.cookies.get(sessions.cookie_name(site.port)), now_ms())


async def _show_sessions(site: Site, request: Request) -> Response:
    identity = await asyncio.to_thread(_person_at, site, request)
    if identity is None:
        return RedirectResponse("/sign-in", 303, HEADERS)
    rows = await asyncio.to_thread(_session_rows, identity)
    return page("sessions", name=identity.name, rows=rows, everybody=identity.has(Role.ADMIN))


async def _end_session(site: Site, request: Request) -> Response:
    identity, sent = await asyncio.to_thread(_person_at, site, request), await fields(request)
    if identity is None:
        return RedirectResponse("/sign-in", 303, HEADERS)
    number = sent.get("id", "")
    try:
        await asyncio.to_thread(_end_by_id, int(number) if number.isdecimal() and len(number) < 18 else 0, identity)
    except ConsoleError as refusal:
        return notice(_("The session was not ended"), str(refusal), 403)
    return RedirectResponse("/sessions", 303, HEADERS)


def _session_rows(identity: Identity) -> list[dict[str, object]]:
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
        for one in sorted(found, key=lambda one: one.id != identity.session_id)
    ]


def _end_by_id(session_id: int, identity: Identity) -> None:
    with writing() as session:
        name = sessions.end_session_of(session, session_id, identity, now_ms())
        audit_log.record(session, None, "session ended", now_ms(), by=By(identity.name, Door.BROWSER), subject=name)
