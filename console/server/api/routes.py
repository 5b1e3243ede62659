"""The HTTP API as a FastAPI app: its routers, health, admission, errors and OpenAPI document."""

from __future__ import annotations

import logging
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Response
from fastapi.routing import APIRoute
from sqlalchemy.exc import DBAPIError
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Route

from console.database import now_ms, reading
from console.gate import checks as gate_checks
from console.server.api import checks, imports
from console.server.api.admission import Admission
from console.server.api.errors import HANDLERS, refusals
from console.server.api.schema import Health
from console.server.api.threads import in_thread
from storage.errors import StorageError

PREFIX = "/api/v1"

_log = logging.getLogger(__name__)
_health_router = APIRouter()

_ABOUT = (
    "Submit a check before a critical action, wait for its decision, begin the action and report its result. "
    "An action may run only if `approved` is true and, if it has a `check_id`, `begin` has answered 200, which it does "
    "once. "
    "Each agent has its own token (`inferact agent add NAME`) and cannot see other agents' checks."
)


@_health_router.head("/health", include_in_schema=False)
@_health_router.get(
    "/health",
    response_description="The console works.",
    responses={503: {"model": Health, "description": "The database is unreachable."}},
    openapi_extra={"security": [{}]},
)
async def health(response: Response) -> Health:
    """Report whether the database is reachable (503 if not), and how long the oldest item has been pending."""
    state = await in_thread(_look_at_database)
    response.status_code = 200 if state.database else 503
    return state


def _look_at_database() -> Health:
    try:
        with reading() as session:
            oldest_ms = gate_checks.oldest_waiting_ms(session)
    except (DBAPIError, StorageError) as away:
        _log.error("The database is unreachable: %s", away)
        return Health(status="unavailable", database=False, oldest_pending_s=None, version=_version())
    waited = None if oldest_ms is None else max(0, now_ms() - oldest_ms) / 1_000
    return Health(status="ok", database=True, oldest_pending_s=waited, version=_version())


def _version() -> str:
    return version("inferact-console")


class _Api(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """Return the document; every operation takes a token unless the operation says otherwise."""
        document = super().openapi()
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
        return document


def routes() -> list[BaseRoute]:
    """Return every route under /api; an unknown address is answered with 404 in JSON instead of the console's page."""
    # Streamlit would answer unknown addresses with its page.
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
        # What agents send stays on this console.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    for router in (checks.router, imports.router, _health_router):
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
