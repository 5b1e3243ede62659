"""The HTTP API as a FastAPI app: its routers, its guard, its errors, and its OpenAPI document."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from fastapi import Depends, FastAPI, Response
from fastapi.routing import APIRoute
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Route

from console.server.api import checks, health, imports
from console.server.api.admission import Admission
from console.server.api.errors import HANDLERS, refusals

PREFIX = "/api/v1"
ROUTERS = (checks.router, imports.router, health.router)
"""One file a noun, one entry here."""

_ABOUT = (
    "Ask before a critical action, wait for the decision, say that it begins, report what came of it. "
    "An action may run only where `approved` is true and `begin`, where there is a `check_id`, was answered with 200, "
    "which it is once. "
    "Each agent has a token of its own (`inferact agent add NAME`) and knows of no other's checks."
)


class _Api(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """The document; every operation takes a token but the one that says otherwise."""
        document = super().openapi()
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
        return document


def routes() -> list[BaseRoute]:
    """Everything under /api; what is not there is a 404 in JSON, not the console's page."""
    # Streamlit answers an address that nobody knows with its page, also the bare one.
    return [Route("/api", API), Route("/api/{path:path}", API)]


def _api() -> FastAPI:
    api = _Api(
        title="InferAct Console",
        version=version("inferact-console"),
        description=_ABOUT,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        responses=refusals(403, 503),
        dependencies=[Depends(_no_store)],
        middleware=[Middleware(Admission)],
        exception_handlers=HANDLERS,
        generate_unique_id_function=_operation_id,
        # What agents send is for the reviewers of this console alone.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    for router in ROUTERS:
        api.include_router(router, prefix=PREFIX)
    api.add_api_route(f"{PREFIX}/openapi.json", _document, methods=["GET", "HEAD"], include_in_schema=False)
    return api


async def _document() -> dict[str, Any]:
    return API.openapi()


async def _no_store(response: Response) -> None:
    response.headers["Cache-Control"] = "no-store"


def _operation_id(route: APIRoute) -> str:
    return route.name


API = _api()
