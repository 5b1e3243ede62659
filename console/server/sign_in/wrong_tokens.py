"""Wrong tokens: counted by the address that they come from, logged, and answered the slower the more there are."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict

from starlette.requests import Request

_FREE = 3
_LONGEST_S = 5.0
_FORGOTTEN_S = 600.0
_MOST_ADDRESSES = 10_000

_log = logging.getLogger(__name__)
_wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()


def delay_s(count: int) -> float:
    """Seconds that an address waits after that many wrong tokens: none for slips, then twice as long each time."""
    return 0.0 if count < _FREE else min(_LONGEST_S, 0.25 * 2 ** (count - _FREE))


async def slow(request: Request) -> None:
    """Makes an address wait that has sent wrong tokens lately."""
    count, at = _wrong.get(_address(request), (0, 0.0))
    if time.monotonic() - at < _FORGOTTEN_S:
        await asyncio.sleep(delay_s(count))


def count_wrong(request: Request, what: str, kind: str = "") -> None:
    """Counts and logs a wrong token; `what` names it in the log, which never holds the token itself.

    A `kind` of its own is counted apart and slows nobody.
    """
    address, now = _address(request), time.monotonic()
    count, at = _wrong.pop(kind + address, (0, now))
    count = count + 1 if now - at < _FORGOTTEN_S else 1
    _wrong[kind + address] = count, now
    while len(_wrong) > _MOST_ADDRESSES:
        _wrong.popitem(last=False)
    _log.warning("A wrong %s from %s (%d lately).", what, address, count)


def forget(request: Request) -> None:
    """Forgives an address what it sent before a right one: somebody has pasted half a link and then the whole."""
    _wrong.pop(_address(request), None)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
