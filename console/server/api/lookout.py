"""One task that looks for the decisions of all waiting checks, so that a waiting agent occupies no thread."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from console.gate import GateDecision
from console.gate.checks import Wait, find_news
from console.server import shutdown
from console.server.api.threads import in_thread

_FIRST_LOOKS_S, _LATER_LOOKS_S, _YOUNG_S = 0.1, 0.4, 5.0
_ATTEND_S = 0.5
"""The seconds after which a waiting request is checked for a disconnected agent or a stopping server."""

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Watched:
    wait: Wait
    found: asyncio.Future[GateDecision]
    since_s: float = field(default_factory=time.monotonic)


@dataclass
class _Lookout:
    """The waiting requests of one event loop, and the task that looks for their decisions while any request waits."""

    watched: set[_Watched] = field(default_factory=set)
    task: asyncio.Task[None] | None = None

    def add(self, one: _Watched) -> None:
        """Add a waiting request to the watched requests."""
        self.watched.add(one)
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._look())

    async def _look(self) -> None:
        while self.watched:
            now = time.monotonic()
            is_young = any(now - one.since_s < _YOUNG_S for one in self.watched)
            await asyncio.sleep(_FIRST_LOOKS_S if is_young else _LATER_LOOKS_S)
            by_url: dict[str, list[_Watched]] = {}
            for one in self.watched:
                by_url.setdefault(one.wait.url, []).append(one)
            for url, some in by_url.items():
                try:
                    await self._look_at(url, some)
                except Exception as failure:
                    # The other agents still wait, and this look is repeated.
                    _log.exception("Looking for decisions failed: %s", failure)

    async def _look_at(self, url: str, some: list[_Watched]) -> None:
        news = await in_thread(find_news, url, [one.wait for one in some])
        by_wait = {id(one.wait): one for one in some}
        for wait in news:
            one = by_wait[id(wait)]
            if one not in self.watched:
                continue
            try:
                decision = await in_thread(wait.look)
            except Exception as failure:
                if not one.found.done():
                    one.found.set_exception(failure)
                continue
            if decision is not None and not one.found.done():
                one.found.set_result(decision)


_lookouts: WeakKeyDictionary[asyncio.AbstractEventLoop, _Lookout] = WeakKeyDictionary()


async def wait_for(wait: Wait, until_s: float, is_gone: Callable[[], Awaitable[bool]]) -> GateDecision | None:
    """Return the decision, or None at `until_s` (monotonic seconds), if the agent `is_gone` or the server stops.

    Raise the errors of `Wait.look`.
    """
    loop = asyncio.get_running_loop()
    lookout = _lookouts.setdefault(loop, _Lookout())
    one = _Watched(wait, loop.create_future())
    lookout.add(one)
    try:
        while (left := until_s - time.monotonic()) > 0 and not shutdown.is_set() and not await is_gone():
            with suppress(asyncio.TimeoutError):
                return await asyncio.wait_for(asyncio.shield(one.found), min(left, _ATTEND_S))
        return one.found.result() if one.found.done() else None
    finally:
        lookout.watched.discard(one)
        one.found.cancel()
