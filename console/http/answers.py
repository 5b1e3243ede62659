"""How the API answers: JSON, and every refusal as one sentence under `error`."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import orjson
from pydantic import BaseModel, ValidationError
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from console.errors import BadInput, ConsoleError, Refused, Unknown
from storage.errors import NoSuchItem, QueueRefusal, StorageError

_log = logging.getLogger(__name__)

_STATUS: dict[type[Exception], int] = {
    Unknown: 404,
    BadInput: 422,
    Refused: 409,
    ConsoleError: 409,
    NoSuchItem: 404,
    QueueRefusal: 409,
    StorageError: 503,
}
"""The most exact class of an error counts."""

_HTTP_WORDS = {
    404: "There is nothing at this address; /api/v1/openapi.json lists what there is.",
    405: "This address does not take that method; /api/v1/openapi.json lists what there is.",
}


def answer(document: BaseModel | Mapping[str, object], status: int = 200) -> Response:
    """The document as JSON, never kept by a cache."""
    plain = document.model_dump(mode="json") if isinstance(document, BaseModel) else document
    return Response(orjson.dumps(plain), status, {"Cache-Control": "no-store"}, "application/json")


def problem(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """A refusal in one sentence."""
    return Response(orjson.dumps({"error": sentence}), status, headers, "application/json")


async def refused(_request: Request, error: Exception) -> Response:
    """Our own refusals with the status that they mean."""
    status = next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)
    return problem(status, str(error) or str(type(error).__doc__))


async def unreadable(_request: Request, error: Exception) -> Response:
    """A body or a parameter of the wrong shape: where, and what is wrong with it."""
    found = error.errors(include_url=False, include_input=False) if isinstance(error, ValidationError) else []
    said = [f"{'.'.join(map(str, one['loc'])) or 'the body'}: {one['msg']}" for one in found[:5]]
    return problem(422, f"The request cannot be used ({'; '.join(said)}).")


async def http_error(_request: Request, error: Exception) -> Response:
    """What the server itself refuses: no such address, no such method, too large."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = str(error.detail) if isinstance(error, HTTPException) else ""
    headers = error.headers if isinstance(error, HTTPException) else None
    return problem(status, _HTTP_WORDS.get(status, words), headers)


async def unreachable(_request: Request, error: Exception) -> Response:
    """The database does not answer; the server's log has the reason."""
    _log.error("The API could not use its database: %s", error)
    return problem(503, "The database cannot be used now; try again in a moment.")


async def broken(_request: Request, _error: Exception) -> Response:
    """Whatever else went wrong; the server's log has the traceback."""
    return problem(500, "The console could not answer this request; its log says why.")


HANDLERS = {
    ConsoleError: refused,
    StorageError: refused,
    ValidationError: unreadable,
    HTTPException: http_error,
    DBAPIError: unreachable,
    Exception: broken,
}
"""What becomes of an error: (class of the error, its answer)."""
