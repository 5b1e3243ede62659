"""Reading what was sent, never more than the limit."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import orjson
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request

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
