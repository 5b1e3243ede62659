"""Admission to the API: every agent needs a token, including agents on this machine.

Pages of other sites are refused with or without a token; the API uses no cookie.
"""

from __future__ import annotations

import logging
from urllib.parse import urlsplit

from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from console.auth import agents
from console.auth.agents import KnownAgent
from console.database import now_ms, reading, writing
from console.gate.request import Asker
from console.server.api.body import in_thread
from console.server.api.errors import UNREACHABLE, problem
from console.server.sign_in import wrong_tokens
from storage.errors import StorageError

_WITHOUT_TOKEN = ("/api/v1/health", "/api/v1/ready", "/api/v1/openapi.json")
_FOREIGN = "Requests from another site's page are refused. Call the API from a program."
_NO_TOKEN = "Send your agent's token as `Authorization: Bearer TOKEN`. Create a token with `inferact agent add NAME`."

_log = logging.getLogger(__name__)


class Admission:
    """ASGI middleware that answers 401 or 403 to requests without access and identifies the agent of other requests."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request with its agent, or answer with a one-sentence refusal."""
        if scope["type"] == "http" and (refused := await _refusal(scope)) is not None:
            status, sentence = refused
            headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
            await problem(status, sentence, headers)(scope, receive, send)
            return
        await self._app(scope, receive, send)


async def asker(request: Request) -> Asker:
    """Return the agent that sent the request."""
    # Async, since FastAPI would run a plain function in a thread.
    agent = _agent(request)
    return Asker(agent.id, agent.name)


async def refuse_agents(request: Request) -> None:
    """Raise HTTPException (403) for an agent: agents may only submit, wait, begin, report and withdraw."""
    agent = _agent(request)
    if agent.id is not None:
        raise HTTPException(
            403, f"The agent {agent.name} may not import or read metrics. Use the token of INFERACT_API_TOKEN."
        )


def _agent(request: Request) -> KnownAgent:
    agent: KnownAgent = request.state.agent
    return agent


async def _refusal(scope: Scope) -> tuple[int, str] | None:
    """Return (status, sentence) if access is refused; otherwise store the agent in the state of the request."""
    request = Request(scope)
    if _is_foreign(request):
        return 403, _FOREIGN
    if scope["path"] in _WITHOUT_TOKEN:
        return None
    token = _token(request)
    try:
        agent = await in_thread(_known, token)
    except StorageError as stopped:
        _log.error("The API could not look up a token: %s", stopped)
        return 503, str(stopped) or str(type(stopped).__doc__)
    except DBAPIError as away:
        _log.error("The API could not look up a token: %s", away)
        return 503, UNREACHABLE
    if agent is None:
        if token:
            # Counted separately: agents may share an address with people, whose sign-in must not be delayed.
            wrong_tokens.count_wrong(request, "agent's token", "agent ")
        return 401, _NO_TOKEN
    request.state.agent = agent
    return None


def _known(token: str) -> KnownAgent | None:
    if not token:
        return None
    at_ms = now_ms()
    with reading() as session:
        agent = agents.find_by_token(session, token, at_ms)
        is_news = agent is not None and agents.is_seen_outdated(session, agent, at_ms)
    if agent is not None and is_news:
        with writing() as session:
            agents.note_seen(session, agent, at_ms)
    return agent


def _is_foreign(request: Request) -> bool:
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        return True
    return request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def _token(request: Request) -> str:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""
