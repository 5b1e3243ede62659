"""Whether the console can do its work, for whoever watches over it."""

from __future__ import annotations

import logging
from importlib.metadata import version

from sqlalchemy.exc import DBAPIError
from starlette.requests import Request
from starlette.responses import Response

from console.database import now_ms, reading
from console.gate import checks
from console.server.api.schema import Health
from console.server.api.wire import answer, in_thread
from storage.errors import StorageError

_log = logging.getLogger(__name__)


async def health(_request: Request) -> Response:
    """Whether the database answers, and how long the oldest item has waited; 503 where it does not."""
    found = await in_thread(_health)
    return answer(found, 200 if found.database else 503)


def _health() -> Health:
    try:
        with reading() as session:
            oldest_ms = checks.oldest_waiting_ms(session)
    except (DBAPIError, StorageError) as away:
        _log.error("The database does not answer: %s", away)
        return Health(status="unavailable", database=False, oldest_pending_s=None, version=_version())
    waited = None if oldest_ms is None else max(0, now_ms() - oldest_ms) / 1_000
    return Health(status="ok", database=True, oldest_pending_s=waited, version=_version())


def _version() -> str:
    return version("inferact-console")
