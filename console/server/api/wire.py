"""How the API answers: JSON, and every refusal as one sentence under `error`.

Reading what was sent, never more than the limit.
Work that blocks, kept off the event loop: one waiting query there would stall every browser.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ParamSpec, TypeVar

import orjson
from anyio import CapacityLimiter, to_thread
from pydantic import BaseModel, ValidationError
from sqlalchemy.exc import DBAPIError
from starlette.concurrency import run_in_threadpool
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

JSON_LIMIT = 8 * 2**20
FILE_LIMIT = 200 * 2**20

_UNSAFE = re.compile(r"[^\w.-]+")

Sent = TypeVar("Sent", bound=BaseModel)


async def read_json(request: Request, model: type[Sent]) -> Sent:
    """The body as that model; raises HTTPException (400, 413) and pydantic's ValidationError."""
    body = bytearray()
    async for chunk in _chunks(request, JSON_LIMIT):
        body += chunk
    try:
        document = orjson.loads(bytes(body))
    except orjson.JSONDecodeError as broken:
        raise HTTPException(400, f"The body is not valid JSON ({broken}).") from broken
    return model.model_validate(document)


@asynccontextmanager
async def as_file(request: Request, name: str) -> AsyncIterator[Path]:
    """The body as a file of about that name, gone afterwards; raises HTTPException (413)."""
    with TemporaryDirectory(prefix="inferact-") as folder:
        path = Path(folder) / (_UNSAFE.sub("_", Path(name).name)[-100:].lstrip(".") or "body")
        with path.open("wb") as file:
            async for chunk in _chunks(request, FILE_LIMIT):
                await run_in_threadpool(file.write, chunk)
        yield path


async def _chunks(request: Request, limit: int) -> AsyncIterator[bytes]:
    too_large = HTTPException(413, f"The body is larger than {limit // 2**20} MB; send less at a time.")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise too_large
    total = 0
    async for chunk in request.stream():
        total += len(chunk)
        if total > limit:
            raise too_large
        yield chunk


P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 32


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What the call returns, made in a thread of the API's own, so that pages never wait for one."""
    return await to_thread.run_sync(partial(work, *args, **kwargs), limiter=_limiter())


@lru_cache(maxsize=1)
def _limiter() -> CapacityLimiter:
    return CapacityLimiter(_THREADS)
