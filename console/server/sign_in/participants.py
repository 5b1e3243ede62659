"""Participants at the door: their link or their study's code is exchanged for a cookie that no script can read."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from console.auth.participant_cookie import participant_cookie, participant_cookie_name, secret_of
from console.auth.sessions import SESSION_DAYS
from console.database import reading
from console.errors import ConsoleError
from console.language import _
from console.server.sign_in import wrong_tokens
from console.server.sign_in.html_pages import HEADERS, fields, page
from console.server.site import Site
from console.studies.sessions import joining

_HOME = "/participate"


async def arrive(request: Request, site: Site) -> Response | None:
    """What whoever asks for the study's page gets in its place; None for a participant, whose page it is.

    A participant's own link may be fetched any number of times, so it needs no button as an invitation does.
    """
    secret, code = request.query_params.get("me"), request.query_params.get("join", "")
    if secret is not None:
        await wrong_tokens.slow(request)
        if await asyncio.to_thread(_is_known, secret, ""):
            return _with_cookie(RedirectResponse(_HOME, 303, HEADERS), site, secret)
        wrong_tokens.count_wrong(request, "participant's link")
        return page("join", 410, code="", refusal=_("This link leads to no place in a study any more."))
    kept = secret_of(request.cookies.get(participant_cookie_name(site.port)))
    if kept is not None and await asyncio.to_thread(_is_known, kept, code):
        return None
    return page("join", code=code, refusal="")


async def show_join(_site: Site, request: Request) -> Response:
    """The field for the code of a study."""
    return page("join", code=request.query_params.get("code", ""), refusal="")


async def join(site: Site, request: Request) -> Response:
    """Takes a place in the study of that code; whoever has one there already gets it back."""
    await wrong_tokens.slow(request)
    code = (await fields(request)).get("code", "")
    kept = secret_of(request.cookies.get(participant_cookie_name(site.port)))
    try:
        secret = await asyncio.to_thread(_place, code, kept)
    except ConsoleError as refusal:
        wrong_tokens.count_wrong(request, "study code")
        return page("join", 400, code="", refusal=str(refusal))
    return _with_cookie(RedirectResponse(_HOME, 303, HEADERS), site, secret)


def _place(code: str, kept: str | None) -> str:
    with reading() as session:
        if kept is not None and joining.place_in(session, kept, code) is not None:
            return kept
    return joining.join(code).secret


def _is_known(secret: str, code: str) -> bool:
    """Whether that opens a place, which is not left for another study's code or for this one's after declining."""
    with reading() as session:
        place = joining.place_in(session, secret, code) if code else joining.found(session, secret)
        return place is not None


def _with_cookie(response: Response, site: Site, secret: str) -> Response:
    response.set_cookie(
        participant_cookie_name(site.port),
        participant_cookie(secret),
        httponly=True,
        samesite="lax",
        secure=site.is_secure,
        max_age=SESSION_DAYS * 86_400,
    )
    return response
