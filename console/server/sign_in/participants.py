"""The sign-in of participants: a participant's link or study code is exchanged for a cookie that scripts cannot read.

With the cookie, participants can also print their consent, and their page can report its events.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from console.auth.sessions import SESSION_DAYS, outside_id_of, participant_cookie, participant_cookie_name, secret_of
from console.database import reading
from console.errors import BadInput, ConsoleError
from console.language import _
from console.server.sign_in import wrong_tokens
from console.server.sign_in.html_pages import HEADERS, body_of, fields, notice, page, read_style, utc_minute
from console.server.sign_in.session_cookies import cookie_rules
from console.server.site import Site
from console.studies.design.formatted_text import format_html
from console.studies.sessions import joining
from console.studies.sessions.joining import Arrival
from console.studies.sessions.lifecycle import design_of
from console.studies.sessions.steps import keep_events
from storage import tables

_HOME = "/participate"
_GIVEN = "given-"
_MOST_CHARACTERS = 200


async def arrive(request: Request, site: Site) -> Response | None:
    """Answer a request for the study page; return None for a known participant, so that the page is served.

    A participant's own link may be opened any number of times, so it does not need the button that an invitation has.
    """
    query, cookie = request.query_params, request.cookies.get(participant_cookie_name(site.port))
    secret, kept = query.get("me"), secret_of(cookie)
    if secret is not None:
        await wrong_tokens.slow(request)
        if await asyncio.to_thread(_is_known, secret, Arrival()):
            outside_id = outside_id_of(cookie) if secret == kept else ""
            return _with_cookie(RedirectResponse(_HOME, 303, HEADERS), site, secret, outside_id)
        wrong_tokens.count_wrong(request, "participant's link")
        return page(
            "join",
            410,
            code="",
            refusal=_("This link is no longer valid. Enter the study code, or ask the researchers for a new link."),
            typed=True,
        )
    coming = _arrival(query, "join", "")
    if kept is not None and await asyncio.to_thread(_is_known, kept, coming):
        # Parameters of a platform leave the address bar.
        return RedirectResponse(_HOME, 303, HEADERS) if coming.is_anywhere else None
    return await _join_page(request, coming)


async def show_join(_site: Site, request: Request) -> Response:
    """Show the form for the code of a study."""
    return await _join_page(request, _arrival(request.query_params, "code", ""))


async def join(site: Site, request: Request) -> Response:
    """Give this browser a place in the study of the code or invitation, or keep the place that it has; redirect."""
    await wrong_tokens.slow(request)
    coming = _arrival(await fields(request), "code", _GIVEN)
    kept = secret_of(request.cookies.get(participant_cookie_name(site.port)))
    try:
        secret, outside_id = await asyncio.to_thread(_place, coming, kept)
    except ConsoleError as refusal:
        return _refuse(request, coming, refusal)
    return _with_cookie(RedirectResponse(_HOME, 303, HEADERS), site, secret, outside_id)


async def show_consent(site: Site, request: Request) -> Response:
    """Show the text that the participant agreed to, its version and the time of consent, to print or save."""
    secret = secret_of(request.cookies.get(participant_cookie_name(site.port)))
    told = await asyncio.to_thread(_consent, secret) if secret else None
    if told is None:
        return notice(_("Page not found"), _("Only participants in a study have a consent form."), 404)
    saved = "save" in request.query_params
    response = page("consent", **told, style=read_style() if saved else "")
    if saved:
        response.headers["Content-Disposition"] = 'attachment; filename="consent.html"'
    return response


async def take_events(site: Site, request: Request) -> Response:
    """Store the events that a participant's page reports about its item: away times, idle times and a trace."""
    secret = secret_of(request.cookies.get(participant_cookie_name(site.port)))
    try:
        sent = orjson.loads(await body_of(request))
    except orjson.JSONDecodeError:
        sent = None
    if secret is None or not isinstance(sent, dict) or not await asyncio.to_thread(keep_events, secret, sent):
        return PlainTextResponse("Only a participant's own page reports its events.", 403)
    return Response(status_code=204)


def _consent(secret: str) -> dict[str, Any] | None:
    from console.web.participant.onboarding import consent_facts  # it draws pages, which commands do not

    with reading() as session:
        participant = joining.find_participant(session, secret)
        study = session.get(tables.Study, participant.study_id) if participant else None
        if participant is None or study is None:
            return None
        design, agreed = design_of(study), participant.consented_ms
    return {
        "study": study.name,
        "code": participant.code,
        "text": format_html(design.consent.text),
        "facts": consent_facts(design),
        "version": participant.consent_version or joining.consent_version(design),
        "agreed": utc_minute(agreed) if agreed else "",
    }


def _arrival(sent: Mapping[str, str], code: str, before: str) -> Arrival:
    """Parse the parameters of an address or a form into an arrival; ignore parameters that platforms do not send."""
    given = {name: sent.get(f"{before}{name}", "")[:_MOST_CHARACTERS] for name in joining.PARAMETERS}
    known = {name: value for name, value in given.items() if value}
    return Arrival(sent.get(code, ""), sent.get("invitation", ""), known)


def _refuse(request: Request, coming: Arrival, refusal: ConsoleError) -> Response:
    wrong_tokens.count_wrong(request, "study code")
    # Another code helps only if no study has this code; participants with a link of their own have no code.
    typed = isinstance(refusal, BadInput) and not coming.invitation and not coming.given
    return page("join", 400, code="", refusal=str(refusal), typed=typed)


async def _join_page(request: Request, coming: Arrival) -> Response:
    """Return the page that invites to the study, refuses an unknown code, or asks for a code if the link has none."""
    if coming.is_anywhere:
        await wrong_tokens.slow(request)
        try:
            await asyncio.to_thread(_find_study, coming)
        except BadInput as refusal:
            return _refuse(request, coming, refusal)
    hidden = {"code": coming.code, "invitation": coming.invitation}
    hidden |= {f"{_GIVEN}{name}": value for name, value in coming.given.items()}
    kept = {name: value for name, value in hidden.items() if value}
    return page("join", code=coming.is_anywhere, hidden=kept, refusal="", typed=True)


def _place(coming: Arrival, kept: str | None) -> tuple[str, str]:
    with reading() as session:
        outside_id = joining.outside_id_of(session, coming)
        if kept is not None and joining.find_place(session, kept, coming) is not None:
            return kept, outside_id
    return joining.join(coming.code, coming).secret, outside_id


def _find_study(coming: Arrival) -> None:
    with reading() as session:
        joining.find_study(session, coming)


def _is_known(secret: str, coming: Arrival) -> bool:
    """Return whether the secret belongs to a participant (of the arrival's study, if the arrival names a study)."""
    with reading() as session:
        if coming.is_anywhere:
            return joining.find_place(session, secret, coming) is not None
        return joining.find_participant(session, secret) is not None


def _with_cookie(response: Response, site: Site, secret: str, outside_id: str) -> Response:
    value, seconds = participant_cookie(secret, outside_id), SESSION_DAYS * 86_400
    response.set_cookie(participant_cookie_name(site.port), value, max_age=seconds, **cookie_rules(site))
    return response
