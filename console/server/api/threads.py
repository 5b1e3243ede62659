"""Threads for the API's blocking work, so that neither the event loop nor a page waits for a query or a judge.

They stand apart from the threads that FastAPI gives a plain function: those also serve the console's pages.
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
    """What the call returns, made in one of the API's threads."""
    return await to_thread.run_sync(partial(work, *args, **kwargs), limiter=_limiter())


@lru_cache(maxsize=1)
def _limiter() -> CapacityLimiter:
    return CapacityLimiter(_THREADS)
