"""Admission to the API: anybody on this machine while the server listens to it alone, otherwise who has the token.

A browser's page of another site may not, with or without the token: there is no cookie that it could borrow.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from console.auth import api_token
from console.server.api.errors import problem

_WITHOUT_TOKEN = ("/api/v1/health", "/api/v1/openapi.json")
_PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


class Admission:
    """ASGI middleware that answers 401 or 403 to requests that may not come in."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, or refuses it in one sentence."""
        refused = refusal(Request(scope)) if scope["type"] == "http" else None
        if refused is None:
            await self._app(scope, receive, send)
            return
        status, sentence = refused
        headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
        await problem(status, sentence, headers)(scope, receive, send)


def refusal(request: Request) -> tuple[int, str] | None:
    """(status, sentence) where the request may not come in, else None."""
    if _is_foreign(request):
        return 403, "Requests from another site's page are refused; call the API from a program."
    if request.url.path in _WITHOUT_TOKEN or (_is_local(request) and not api_token.is_needed(listening())):
        return None
    if _has_token(request):
        return None
    return 401, "Send the API's token as `Authorization: Bearer TOKEN`; `inferact serve` says where it is kept."


def listening() -> str | None:
    """The address that the server of this process was told to listen at, None for all."""
    address: str | None = st.get_option("server.address")
    return address


def _is_foreign(request: Request) -> bool:
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        return True
    return request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def _is_local(request: Request) -> bool:
    """Whether it came straight from this machine: not to another address, under another name, or through a proxy."""
    server = request.scope.get("server") or ("", None)
    named = request.url.hostname
    forwarded = any(name in request.headers for name in _PROXY_HEADERS)
    return api_token.is_loopback(server[0]) and api_token.is_loopback(named) and not forwarded


def _has_token(request: Request) -> bool:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and api_token.is_token(given.strip())
