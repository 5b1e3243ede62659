"""The HTTP API as a FastAPI app: imports of logs, health, admission, errors and the OpenAPI document."""

from __future__ import annotations

import logging
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from sqlalchemy.exc import DBAPIError
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Route

from console.auth.audit_log import By, Door, acting
from console.database import database_url, now_ms, reading
from console.errors import BadInput
from console.gate import checks as gate_checks
from console.gate.policy import policy_store
from console.runs import ingest
from console.runs.log_reading import FileReport
from console.server import shutdown
from console.server.api import checks, metrics, otlp
from console.server.api.admission import Admission, refuse_agents
from console.server.api.body import as_file, in_thread
from console.server.api.errors import HANDLERS, refusals
from console.server.api.schema import FileImported, Health, Imported, Readiness
from console.server.sign_in.wrong_tokens import address_of
from storage.errors import StorageError
from storage.migrations import head, revision

router = APIRouter()

_SENT = {
    # Read by hand, so that a request without it gets our own sentence.
    "parameters": [
        {"name": "run", "in": "query", "required": True, "description": "The run's name.", "schema": {"type": "string"}}
    ],
    "requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}},
}
_REJECTED = {"model": Imported, "description": "Rejected: the file with its reason and line."}


@router.post(
    "/trajectories",
    response_description="Imported.",
    responses=refusals(401, 409, 413) | {422: _REJECTED},
    response_model_exclude_unset=True,
    openapi_extra=_SENT,
    dependencies=[Depends(refuse_agents)],
)
async def import_log(
    request: Request,
    response: Response,
    format: Annotated[str, Query(description="The log's format; detected by default.")] = "auto",
    name: Annotated[str, Query(description="The file's name, for the report.")] = "body",
) -> Imported:
    """Import the body into `run`, each file completely or not at all. Respond with 422 and the reason if a file is
    rejected.

    An agent's own token cannot import, because the imported actions would look like those of other agents.
    """
    run = request.query_params.get("run")
    if not run:
        raise BadInput("The run of the log is missing. Name the run: ?run=NAME.")
    by = By("agent", Door.API, address_of(request))
    async with as_file(request, name) as path:
        reports = await in_thread(_import, path, name, run, format, by)
    imported = Imported(
        files=[FileImported.model_validate(report.to_dict()) for report in reports],
        imported=sum(report.imported for report in reports),
        rejected=sum(bool(report.rejected) for report in reports),
    )
    if faults := [sentence for report in reports for good, sentence in ingest.list_lines(report) if not good]:
        imported.error, response.status_code = "; ".join(faults), 422
    return imported


def _import(path: Path, name: str, run: str, format: str, by: By) -> list[FileReport]:
    with acting(by):
        return ingest.import_files(path, run, format, lambda _: None, name)


PREFIX = "/api/v1"
_VERSION = version("inferact-console")

_log = logging.getLogger(__name__)

_ABOUT = (
    "Submit a check before a critical action, wait for its decision, begin the action and report its result. An "
    "action may run only if `approved` is true and, if it has a `check_id`, `begin` has answered 200, which it does "
    "once. Each agent has its own token (`inferact agent add NAME`) and cannot see other agents' checks."
)


@router.head("/health", include_in_schema=False)
@router.get(
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
        return Health(status="unavailable", database=False, oldest_pending_s=None, version=_VERSION)
    waited = None if oldest_ms is None else max(0, now_ms() - oldest_ms) / 1_000
    return Health(status="ok", database=True, oldest_pending_s=waited, version=_VERSION)


@router.head("/ready", include_in_schema=False)
@router.get(
    "/ready",
    response_description="The console can take requests.",
    responses={503: {"model": Readiness, "description": "The console cannot take requests yet."}},
    openapi_extra={"security": [{}]},
)
async def ready(response: Response) -> Readiness:
    """Report whether the database is reachable and of this version, and whether a restore needs a choice of policies.

    A load balancer sends requests only to consoles that answer 200; the other answer is 503.
    """
    problems = await in_thread(_find_problems)
    response.status_code = 503 if problems else 200
    return Readiness(ready=not problems, problems=problems)


def _find_problems() -> list[str]:
    if shutdown.is_set():
        return ["The console is stopping."]
    try:
        if (found := revision(database_url())) != head():
            return [f"The database has the schema {found}, but this console needs {head()}: inferact db upgrade"]
        with reading() as session:
            undecided = policy_store.has_undecided(session)
    except (DBAPIError, StorageError) as away:
        _log.error("The database is unreachable: %s", away)
        return ["The database is unreachable; the log has the cause."]
    return ["Choose a policy after the restore: inferact policy set RUN FILE"] if undecided else []


class _Api(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document; every operation requires a token unless the operation overrides `security`."""
        document = super().openapi()
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
        return document


def routes() -> list[BaseRoute]:
    """Return every route of the API; an unknown address under /api is answered with 404 in JSON, not with a page."""
    # Streamlit would answer unknown addresses with its page.
    return [Route("/api", API), Route("/api/{path:path}", API), Route("/v1/traces", API)]


def _api() -> FastAPI:
    api = _Api(
        title="InferAct Console",
        version=_VERSION,
        description=_ABOUT,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        responses=refusals(403, 503),
        dependencies=[Depends(_no_store)],
        middleware=[Middleware(Admission)],
        exception_handlers=HANDLERS,
        generate_unique_id_function=attrgetter("name"),
        # What agents send stays on this console.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    for part in (checks.router, router, metrics.router):
        api.include_router(part, prefix=PREFIX)
    # Exporters append this path to the address of the console.
    api.include_router(otlp.router)
    api.add_api_route(f"{PREFIX}/openapi.json", _document, methods=["GET", "HEAD"], include_in_schema=False)
    return api


async def _document() -> dict[str, Any]:
    return API.openapi()


async def _no_store(response: Response) -> None:
    response.headers["Cache-Control"] = "no-store"


API = _api()
