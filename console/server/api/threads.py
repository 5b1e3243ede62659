"""Threads for the API's blocking work, so that the event loop and pages do not wait for a query or a detector.

These threads are separate from FastAPI's threads, which also serve the console's pages.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 32


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call the function in one of the API's threads and return its result."""
    return await to_thread.run_sync(partial(work, *args, **kwargs), limiter=_limiter())


@lru_cache(maxsize=1)
def _limiter() -> CapacityLimiter:
    return CapacityLimiter(_THREADS)
