"""Logs as JSON: one line for each message, and for each request its id, status and duration, but no content."""

from __future__ import annotations

import logging
import re
import secrets
import sys
import time
from contextvars import ContextVar
from typing import Any

import orjson
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from console.auth import audit_log
from console.runs import iso
from console.settings import settings

REQUEST_ID = "X-Request-ID"

_GIVEN = re.compile(r"[\w-]{1,64}", re.ASCII)
_PLACES = re.compile(r"/(checks|invite|media|component|static|app)/[^/]+")
"""Places whose next part is an id, a token or a file, which a log does not hold."""
_current: ContextVar[str | None] = ContextVar("request_id", default=None)
_requests = logging.getLogger("console.requests")


def set_up_logs() -> bool:
    """Write the messages of this process as JSON to stderr if the setting `log_format` is `json`.

    Return False if the setting has another value. Raise BadInput if the setting `traces` needs a package that is not
    installed.
    """
    audit_log.check_traces_setting()
    if settings().log_format != "json":
        return False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    _requests.setLevel(logging.INFO)
    return True


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": iso(int(record.created * 1_000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": _current.get(),
        }
        if record.exc_info:
            line["exception"] = record.exc_text or self.formatException(record.exc_info)
        line |= getattr(record, "request", {})
        return orjson.dumps({key: value for key, value in line.items() if value is not None}, default=str).decode()


class RequestLog:
    """ASGI middleware that gives each request an id, answers with the id, and logs the request without its content.

    The id of a proxy (`X-Request-ID`) is kept if it has at most 64 letters, digits, `-` and `_`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request under its id."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given, started = Headers(scope=scope).get(REQUEST_ID, ""), time.perf_counter()
        id = given if _GIVEN.fullmatch(given) else secrets.token_hex(8)
        about: dict[str, Any] = {"method": scope["method"], "path": mask_path(scope["path"]), "status": 500}
        attributes = {"http.request.method": about["method"], "url.path": about["path"], "request.id": id}
        token = _current.set(id)

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                about["status"] = attributes["http.response.status_code"] = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = id
            await send(message)

        try:
            with audit_log.span(about["method"], attributes):
                await self._app(scope, receive, send_with_id)
        finally:
            about["ms"] = round((time.perf_counter() - started) * 1_000, 1)
            _requests.info("request", extra={"request": about})
            _current.reset(token)


def mask_path(path: str) -> str:
    """Return the path without ids, tokens and names of files, at most 200 characters."""
    return _PLACES.sub(r"/\1/…", path)[:200]
