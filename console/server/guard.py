"""The guard of pages, uploads, media and the websocket: it requires a known host, our own origin and an open session.

The guard forwards requests under /api and requests of exporters, because the API has its own admission.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from console.auth import sessions
from console.auth.people import Identity
from console.auth.sessions import participant_cookie_name, secret_of
from console.database import now_ms, reading, writing
from console.server.api.errors import HTTP_WORDS, problem
from console.server.sign_in import participants
from console.server.sign_in.html_pages import in_language
from console.server.sign_in.session_cookies import keep_link
from console.server.site import Site
from console.studies.sessions import joining

_log = logging.getLogger(__name__)

OPEN = ("/_stcore/health", "/_stcore/host-config", "/favicon.png", "/whoami", "/join", "/sign-out")
OPEN_BELOW = ("/static/", "/sign-in", "/invite/")
"""Addresses that need no session: the sign-in, joining a study, and Streamlit's own files."""

_STREAMLITS = ("/_stcore/", "/media/", "/component/", "/app/")
MISSING = "/page-not-found"
"""An address without a page, for which the console shows that the page does not exist."""

_API = ("/api", "/api/", "/v1/traces")
_UNSAFE = re.compile(r"\0|\\|//|(^|/)\.\.(/|$)")
BODY_S = 30.0
"""The seconds in which a body must arrive, and in which each further 64 kB of the body must arrive."""
_SLOWEST_BYTES = 2**16
_LATE_BODY = "The body did not arrive in time. Send the request again."
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_CLOSED = 4401
_LOOK_EVERY_S = 2.0


class Guard:
    """ASGI middleware that answers requests without access itself, so that these requests never reach Streamlit."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app, self._site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request, or answer it if access is refused."""
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
            return
        refusal = await self._refusal(Request(scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    async def _refusal(self, request: Request) -> Response | None:
        path = request.scope["path"]
        if path in _API or path.startswith(_API[1]):
            # Streamlit would answer such an address itself, and not in JSON.
            return problem(404, HTTP_WORDS[404]) if _UNSAFE.search(path) else None
        if wrong := self._stranger(request, request.method not in _SAFE_METHODS):
            return PlainTextResponse(wrong, 403)
        if path.rstrip("/") == "/participate":
            return await in_language(request, participants.arrive(request, self._site))
        if path in OPEN or path.startswith(OPEN_BELOW):
            return None
        if await self._is_live(request):
            # No page has a nested address, and Streamlit would show the first page there.
            nested = "/" in path.strip("/") and not path.startswith(_STREAMLITS) and _is_document(request)
            return RedirectResponse(MISSING, 303, {"Cache-Control": "no-store"}) if nested else None
        if _is_document(request):
            response = RedirectResponse("/sign-in", 303, {"Cache-Control": "no-store"})
            keep_link(request, response, self._site)
            return response
        return PlainTextResponse("Sign in first.", 401, {"Cache-Control": "no-store"})

    def _stranger(self, connection: HTTPConnection, acts: bool) -> str | None:
        """Return the reason why the request cannot come from our own pages, or None if it can."""
        host, origin = connection.headers.get("host", ""), connection.headers.get("origin")
        if host not in self._site.hosts:
            return f"{host!r} is not a host name of this console. Start the console with --public-url to add the name."
        if (acts or origin is not None) and (origin not in self._site.origins or origin.partition("//")[2] != host):
            return "This request came from another site's page, so it is refused."
        return None

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = HTTPConnection(scope)
        if self._stranger(connection, acts=True) or not await self._is_live(connection):
            origin = quote(connection.headers.get("origin", ""))
            _log.warning("A websocket was refused: no session, or another site's page (Origin %r).", origin)
            await receive()
            await send({"type": "websocket.close", "code": _CLOSED})
            return
        await self._while_live(connection, scope, receive, send)

    async def _while_live(self, connection: HTTPConnection, scope: Scope, receive: Receive, send: Send) -> None:
        over = asyncio.create_task(self._until_over(connection))

        async def receive_until_over() -> Message:
            coming = asyncio.ensure_future(receive())
            await asyncio.wait((coming, over), return_when=asyncio.FIRST_COMPLETED)
            if not over.done():
                return coming.result()
            coming.cancel()
            await send({"type": "websocket.close", "code": _CLOSED})
            return {"type": "websocket.disconnect", "code": _CLOSED}

        async def send_while_live(message: MutableMapping[str, Any]) -> None:
            # A run may still send to a socket that is closed by now.
            if not over.done():
                await send(message)

        try:
            await self._app(scope, receive_until_over, send_while_live)
        finally:
            over.cancel()

    async def _until_over(self, connection: HTTPConnection) -> None:
        while await self._is_live(connection):
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _is_live(self, connection: HTTPConnection) -> bool:
        try:
            return await asyncio.to_thread(_stands_behind, connection.cookies, self._site.port)
        except Exception:
            # Without the database no session can be verified.
            _log.exception("The session could not be looked up.")
            return False


class BodyDeadline:
    """ASGI middleware that answers 408 if a request's body stops arriving or arrives too slowly."""

    def __init__(self, app: ASGIApp, seconds: float = BODY_S) -> None:
        self._app, self._seconds = app, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request with a deadline for its body; extend the deadline with each received byte."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        until, is_whole = time.monotonic() + self._seconds, False

        async def receive_in_time() -> Message:
            nonlocal until, is_whole
            if is_whole:
                # A whole request waits here for its client to hang up.
                return await receive()
            try:
                async with asyncio.timeout(until - time.monotonic()):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, _LATE_BODY, {"Connection": "close"}) from None
            until += len(message.get("body", b"")) / _SLOWEST_BYTES * self._seconds
            is_whole = not message.get("more_body", False)
            return message

        await self._app(scope, receive_in_time, send)


def person_behind(cookies: MutableMapping[str, str] | dict[str, str], port: int) -> Identity | None:
    """Return the person whose session is in the cookie, or None, and record that the session is in use."""
    token = cookies.get(sessions.cookie_name(port))
    if not token:
        return None
    at_ms = now_ms()
    with reading() as session:
        identity = sessions.identity_of(session, token, at_ms)
        stale = identity is not None and sessions.is_stale(session, token, at_ms)
    if stale:
        with writing() as session:
            sessions.mark_seen(session, token, at_ms)
    return identity


def _stands_behind(cookies: dict[str, str], port: int) -> bool:
    if person_behind(cookies, port) is not None:
        return True
    secret = secret_of(cookies.get(participant_cookie_name(port)))
    if secret is None:
        return False
    with reading() as session:
        return joining.find_participant(session, secret) is not None


def _is_document(request: Request) -> bool:
    wants = request.headers.get("sec-fetch-dest", "document")
    return request.method in _SAFE_METHODS and wants == "document" and "text/html" in request.headers.get("accept", "")
