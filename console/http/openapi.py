"""The OpenAPI 3.1 document, made from the table of operations and the models that parse what is sent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from console.http.operations import RAW, Operation
from console.http.schema import Problem

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
