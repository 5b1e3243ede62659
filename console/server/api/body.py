"""Request bodies: JSON up to 8 MB and files up to 200 MB; a larger body is refused while it is being received.

The API's blocking work runs in threads of its own, so that the event loop and pages do not wait for a query or a
detector. FastAPI's threads also serve the console's pages.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ParamSpec, TypeVar

import orjson
from anyio import CapacityLimiter, to_thread
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 32


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call the function in one of the API's threads and return its result."""
    return await to_thread.run_sync(partial(work, *args, **kwargs), limiter=_limiter())


@lru_cache(maxsize=1)
def _limiter() -> CapacityLimiter:
    return CapacityLimiter(_THREADS)


JSON_LIMIT = 8 * 2**20
FILE_LIMIT = 200 * 2**20

_UNSAFE = re.compile(r"[^\w.-]+")


class JsonRoute(APIRoute):
    """A route that parses the body as strict JSON whatever its Content-Type, because `curl -d` sends another type.

    The route raises HTTPException: 400 if the JSON is invalid, 413 if the body is too large. FastAPI's own limit
    answers in plain text, and FastAPI's parser accepts NaN and lone surrogates.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's route handler, wrapped so that it receives the parsed body."""
        handle = super().get_route_handler()

        async def read_and_handle(request: Request) -> Response:
            return await handle(await _read_json(request) if self.body_field else request)

        return read_and_handle


class _JsonRequest(Request):
    """A request whose body is already parsed and whose content type is JSON."""

    def __init__(self, request: Request, content: bytes, document: object) -> None:
        headers = [(name, value) for name, value in request.scope["headers"] if name != b"content-type"]
        headers.append((b"content-type", b"application/json"))
        super().__init__({**request.scope, "headers": headers}, request.receive)
        self._content, self._document = content, document

    async def body(self) -> bytes:
        return self._content

    async def json(self) -> Any:
        return self._document


async def _read_json(request: Request) -> _JsonRequest:
    content = await read_limited(request, JSON_LIMIT)
    try:
        return _JsonRequest(request, content, orjson.loads(content))
    except orjson.JSONDecodeError as broken:
        raise HTTPException(400, f"The body is not valid JSON ({broken}). Correct the JSON.") from broken


@asynccontextmanager
async def as_file(request: Request, name: str) -> AsyncIterator[Path]:
    """Store the body in a temporary file named after `name`; raise HTTPException (413) if the body is too large."""
    with TemporaryDirectory(prefix="inferact-") as folder:
        path = Path(folder) / (_UNSAFE.sub("_", Path(name).name)[-100:].lstrip(".") or "body")
        with path.open("wb") as file:
            async for chunk in _chunks(request, FILE_LIMIT):
                await run_in_threadpool(file.write, chunk)
        yield path


async def read_limited(request: Request, limit: int) -> bytes:
    """Return the body; raise HTTPException (413) if it has more than `limit` bytes."""
    return b"".join([chunk async for chunk in _chunks(request, limit)])


async def _chunks(request: Request, limit: int) -> AsyncIterator[bytes]:
    too_large = HTTPException(413, f"The body is larger than {limit // 2**20} MB. Send less at a time.")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise too_large
    total = 0
    async for chunk in request.stream():
        total += len(chunk)
        if total > limit:
            raise too_large
        yield chunk
