"""Routes of the sign-in: an invitation is shown by GET and used by POST, which opens a session and sets its cookie."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from console.auth import invitations, people, sessions
from console.auth.identity import Identity
from console.auth.invitations import Invited, UnusableInvitation
from console.auth.origin import By, Door
from console.database import now_ms, reading, writing
from console.errors import BadInput, ConsoleError, Refused
from console.language import _
from console.runs import audit_log
from console.server.sign_in import organisation, participants, session_list, wrong_tokens
from console.server.sign_in.coming_in import kept_link, lead_in, let_in, own_link
from console.server.sign_in.html_pages import HEADERS, fields, in_language, notice, page, style
from console.server.site import Site

_Handler = Callable[[Site, Request], Awaitable[Response]]


def routes(site: Site) -> list[Route]:
    """Every route of the sign-in; each is a plain page."""
    return [
        _route(site, "/sign-in", _sign_in, "GET"),
        _route(site, "/sign-in/style.css", _style, "GET"),
        _route(site, organisation.BEGIN, organisation.begin, "GET", organisation.on_the_way(site)),
        _route(site, organisation.BACK, organisation.back, "GET", organisation.on_the_way(site)),
        _route(site, "/invite/{token}", _show_invitation, "GET"),
        _route(site, "/invite/{token}", _use_invitation, "POST"),
        _route(site, "/sign-out", _sign_out, "POST"),
        _route(site, "/whoami", _whoami, "GET"),
        _route(site, "/sessions", session_list.show, "GET"),
        _route(site, "/sessions", session_list.end, "POST"),
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
    identity = await asyncio.to_thread(session_list.person_at, site, request)
    name, begin = identity.name if identity else None, organisation.begin_address(site)
    link, over = kept_link(request, site), "over" in request.query_params
    return page("sign_in", name=name, over=over, organisation=begin, link=link)


async def _whoami(site: Site, request: Request) -> Response:
    identity: Identity | None = await asyncio.to_thread(session_list.person_at, site, request)
    if identity is None:
        return JSONResponse({"error": "Nobody is signed in here."}, 401, HEADERS)
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
    except UnusableInvitation as refusal:
        return _no_use(request, refusal)
    try:
        opened, first = await asyncio.to_thread(partial(_open, token, sent.get("name", ""), request))
    except UnusableInvitation as refusal:
        return _no_use(request, refusal)
    except (BadInput, Refused) as refusal:
        return _invitation_page(request, invited, str(refusal), sent.get("name", ""))
    wrong_tokens.forget(request)
    return lead_in(site, opened, own_link(sent.get("next", "")) or kept_link(request, site) or first)


async def _sign_out(site: Site, request: Request) -> Response:
    cookie = sessions.cookie_name(site.port)
    await asyncio.to_thread(_end, request.cookies.get(cookie))
    response = RedirectResponse("/sign-in", 303, HEADERS)
    response.delete_cookie(cookie, httponly=True, samesite="lax", secure=site.is_secure)
    return response


def _invited(token: str) -> Invited:
    with reading() as session:
        return invitations.invited(session, token, now_ms())


def _open(token: str, name: str, request: Request) -> tuple[str, str]:
    """(the token of the session, the first page of that person)."""
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
    """The roles in words, as they are listed in a sentence."""
    *more, last = sorted(_(str(role)) for role in invited.roles)
    return _("{several} and {last}").format(several=", ".join(more), last=last) if more else last


def _no_use(request: Request, refusal: ConsoleError) -> Response:
    wrong_tokens.count_wrong(request, "invitation")
    return notice(_("This link does not open anything"), f"{refusal} {_('Ask for a new one.')}", 410)
