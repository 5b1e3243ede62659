"""Errors of the API: the status of each error, and one sentence in the field `error`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from console.errors import BadInput, ConsoleError, Refused, TooMany, Unknown
from console.server.api.schema import Problem
from storage.errors import NoSuchItem, QueueRefusal, StorageError

_log = logging.getLogger(__name__)

_STATUS: dict[type[Exception], int] = {
    Unknown: 404,
    BadInput: 422,
    Refused: 409,
    TooMany: 429,
    ConsoleError: 409,
    NoSuchItem: 404,
    QueueRefusal: 409,
    StorageError: 503,
}
"""The status of each error; the most specific class counts."""

_RETRY_AFTER_S, _LONGEST = "60", 80
UNREACHABLE = "The database cannot be used now. Try again in a moment."
HTTP_WORDS = {
    404: "This address does not exist; /api/v1/openapi.json lists all addresses.",
    405: "This address does not accept that method; /api/v1/openapi.json lists all methods.",
}
_MEANS = {
    400: "The body cannot be read.",
    401: "The token is missing or wrong, or the token's agent is disabled.",
    403: "A page of another site sent the request, or agents may not send it. For `begin`: the policy no longer allows "
    "the action, or an operator stopped the run.",
    404: "The requested object does not exist.",
    409: "The request is not possible in the current state.",
    410: "The console was restored from a backup since, so the check is void; submit it again.",
    413: "The body is too large.",
    415: "The body has another media type or encoding.",
    422: "The request cannot be used.",
    429: "The agent has too many waiting checks or new runs, or sends too many requests.",
    503: "The database is unreachable.",
}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the responses with these statuses in the format of the OpenAPI document."""
    return {status: {"model": Problem, "description": _MEANS[status]} for status in statuses}


def problem(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a refusal in one sentence."""
    return JSONResponse({"error": sentence}, status, headers)


async def _refused(_request: Request, error: Exception) -> Response:
    status = next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)
    headers = {"Retry-After": _RETRY_AFTER_S} if status == 429 else None
    return problem(status, str(error) or str(type(error).__doc__), headers)


async def _unusable(_request: Request, error: RequestValidationError) -> Response:
    named = [(".".join(str(part)[:_LONGEST] for part in one["loc"][1:]), one["msg"]) for one in error.errors()[:5]]
    wrong = [f"{name or 'the body'}: {message}" for name, message in named]
    return problem(422, f"The request cannot be used ({'; '.join(wrong)}).")


async def _hung_up(_request: Request, _error: ClientDisconnect) -> Response:
    return problem(400, "The connection ended before the whole body arrived. Send the request again.")


async def _http_error(_request: Request, error: HTTPException) -> Response:
    return problem(error.status_code, HTTP_WORDS.get(error.status_code, error.detail), error.headers)


async def _unreachable(_request: Request, error: Exception) -> Response:
    _log.error("The API could not use its database: %s", error)
    return problem(503, UNREACHABLE)


async def _broken(_request: Request, _error: Exception) -> Response:
    return problem(500, "The console failed to process this request; the server log has the cause.")


HANDLERS: dict[Any, Any] = {
    ConsoleError: _refused,
    StorageError: _refused,
    RequestValidationError: _unusable,
    HTTPException: _http_error,
    ClientDisconnect: _hung_up,
    DBAPIError: _unreachable,
    Exception: _broken,
}
"""The handlers of errors; the nearest class counts."""
