"""The API as an application of its own, mounted under /api: its errors and its guard are its own too."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from console.server.api.admission import Admission
from console.server.api.openapi import OPERATIONS, Operation, document
from console.server.api.wire import HANDLERS, answer, problem

PREFIX = "/api/v1"


def routes() -> list[BaseRoute]:
    """Everything under /api; what is not there is a 404 in JSON, not the console's page."""
    # Streamlit answers an address that nobody knows with its page, also the bare one.
    return [Mount("/api", app=_api()), Route("/api", _nothing)]


def _api() -> Starlette:
    return Starlette(
        routes=[*map(_route, OPERATIONS), Route("/v1/openapi.json", _openapi)],
        middleware=[Middleware(Admission)],
        exception_handlers=HANDLERS,
    )


def _route(one: Operation) -> Route:
    found = Route("/v1" + one.path, one.endpoint, methods=[one.method])
    if one.needs_token and found.methods:
        # HEAD is GET without its answer: it would take a go-ahead and throw it away.
        found.methods.discard("HEAD")
    return found


async def _openapi(_request: Request) -> Response:
    return answer(document(OPERATIONS, PREFIX))


async def _nothing(_request: Request) -> Response:
    return problem(404, f"The API is under {PREFIX}; {PREFIX}/openapi.json lists what there is.")
