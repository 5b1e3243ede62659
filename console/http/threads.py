"""Work that blocks, kept off the event loop: one waiting query there would stall every browser."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 32


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What the call returns, made in a thread of the API's own, so that pages never wait for one."""
    return await to_thread.run_sync(partial(work, *args, **kwargs), limiter=_limiter())


@lru_cache(maxsize=1)
def _limiter() -> CapacityLimiter:
    return CapacityLimiter(_THREADS)
