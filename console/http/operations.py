"""Every operation of the API: one line here is its route and its place in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from console.http import checks, health, imports
from console.http.schema import Check, CheckSent, Health, Imported, Result, ResultSent

Endpoint = Callable[[Request], Awaitable[Response]]
Answers = Mapping[int, tuple[type[BaseModel], str]]
"""Status to (model, what it means)."""

RAW = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Operation:
    """`sent` is the model of the body, RAW for a file, None for none; `query` says what each parameter means."""

    method: str
    path: str
    endpoint: Endpoint
    answers: Answers
    sent: type[BaseModel] | str | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    refusals: tuple[int, ...] = (422,)
    needs_token: bool = True


_CHECK: Answers = {200: (Check, "Decided."), 202: (Check, "A person has to look; wait for the check.")}
_WAIT = {"wait": f"Seconds to wait for the decision, at most {checks.LONGEST_WAIT_S:g}."}
_LOG = {
    "run": "The run's name; required.",
    "format": "The log's format; found out without it.",
    "name": "The file's name, for the report.",
}

OPERATIONS: tuple[Operation, ...] = (
    Operation("POST", "/checks", checks.submit, _CHECK, CheckSent, refusals=(400, 409, 413, 422)),
    Operation("GET", "/checks/{check_id}", checks.wait, _CHECK, query=_WAIT, refusals=(404, 422)),
    Operation("DELETE", "/checks/{check_id}", checks.withdraw, _CHECK, refusals=(404,)),
    Operation(
        "POST",
        "/checks/{check_id}/result",
        checks.report,
        {200: (Result, "Recorded, now or before.")},
        ResultSent,
        refusals=(400, 404, 409, 413, 422),
    ),
    Operation(
        "POST",
        "/trajectories",
        imports.import_log,
        {200: (Imported, "Imported."), 422: (Imported, "Rejected: the file with its reason and line.")},
        RAW,
        query=_LOG,
        refusals=(409, 413),
    ),
    Operation(
        "GET",
        "/health",
        health.health,
        {200: (Health, "The console works."), 503: (Health, "Its database does not answer.")},
        refusals=(),
        needs_token=False,
    ),
)
