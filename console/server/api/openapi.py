"""The OpenAPI 3.1 document, made from the table of operations and the models that parse what is sent.

Every operation of the API: one line here is its route and its place in the OpenAPI document.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response

from console.server.api import checks, health, imports
from console.server.api.schema import Check, CheckSent, Health, Imported, Problem, Result, ResultSent

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

_MEANS = {
    400: "The body cannot be read.",
    401: "The token is missing or wrong.",
    403: "The request comes from another site's page.",
    404: "There is no such thing.",
    409: "The present state does not allow it.",
    413: "The body is too large.",
    422: "What was sent cannot be used.",
    503: "The database does not answer.",
}
_ABOUT = (
    "Ask before a critical action, wait for the decision, report what came of it. "
    "An action may run only where `approved` is true, and a go-ahead is given once."
)


def document(operations: Sequence[Operation], prefix: str) -> dict[str, Any]:
    """The whole document for operations under that path."""
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(prefix + one.path, {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "InferAct Console", "version": version("inferact-console"), "description": _ABOUT},
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "schemas": _schemas(operations),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(one: Operation) -> dict[str, Any]:
    said = (one.endpoint.__doc__ or "").strip()
    found: dict[str, Any] = {
        "operationId": getattr(one.endpoint, "__name__", one.path),
        "summary": said,
        "responses": _responses(one),
    }
    if parameters := [*_in_path(one.path), *_in_query(one)]:
        found["parameters"] = parameters
    if isinstance(one.sent, str):
        found["requestBody"] = {"required": True, "content": {RAW: {"schema": {"type": "string"}}}}
    elif one.sent is not None:
        found["requestBody"] = {"required": True, "content": _json(one.sent)}
    if not one.needs_token:
        found["security"] = [{}]
    return found


def _responses(one: Operation) -> dict[str, Any]:
    refusals = {*one.refusals, 403, 503, *([401] if one.needs_token else [])} - set(one.answers)
    found = {
        str(status): {"description": means, "content": _json(model)} for status, (model, means) in one.answers.items()
    }
    found |= {str(status): {"description": _MEANS[status], "content": _json(Problem)} for status in sorted(refusals)}
    return found


def _in_path(path: str) -> list[dict[str, Any]]:
    names = re.findall(r"{(\w+)}", path)
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _in_query(one: Operation) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "query",
            "description": means,
            "required": "required" in means,
            "schema": {"type": "number", "minimum": 0} if name == "wait" else {"type": "string"},
        }
        for name, means in one.query.items()
    ]


def _schemas(operations: Sequence[Operation]) -> dict[str, Any]:
    sent = [one.sent for one in operations if isinstance(one.sent, type)]
    answered = [model for one in operations for model, _ in one.answers.values()]
    models = [*((model, "validation") for model in sent), *((model, "serialization") for model in [*answered, Problem])]
    _, found = models_json_schema(list(dict.fromkeys(models)), ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    schemas: dict[str, Any] = found["$defs"]
    return schemas


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}
