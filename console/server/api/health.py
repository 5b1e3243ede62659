"""Health: whether the console can do its work, for who watches it; it stands alone as one of the API's routers."""

from __future__ import annotations

import logging
from importlib.metadata import version

from fastapi import APIRouter, Response
from sqlalchemy.exc import DBAPIError

from console.database import now_ms, reading
from console.gate import checks
from console.server.api.schema import Health
from console.server.api.threads import in_thread
from storage.errors import StorageError

router = APIRouter()
_log = logging.getLogger(__name__)


@router.head("/health", include_in_schema=False)
@router.get(
    "/health",
    response_description="The console works.",
    responses={503: {"model": Health, "description": "Its database does not answer."}},
    openapi_extra={"security": [{}]},
)
async def health(response: Response) -> Health:
    """Whether the database answers, and how long the oldest item has waited; 503 where it does not."""
    state = await in_thread(_health)
    response.status_code = 200 if state.database else 503
    return state


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
