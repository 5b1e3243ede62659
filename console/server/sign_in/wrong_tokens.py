"""Wrong tokens: counted by client address and logged. Answers become slower as the count increases."""

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
    """Return the delay in seconds after this many wrong tokens: 0 at first, then doubling up to a limit."""
    return 0.0 if count < _FREE else min(_LONGEST_S, 0.25 * 2 ** (count - _FREE))


async def slow(request: Request) -> None:
    """Delay the answer if the client's address has sent wrong tokens recently."""
    count, at = _wrong.get(address_of(request), (0, 0.0))
    if time.monotonic() - at < _FORGOTTEN_S:
        await asyncio.sleep(delay_s(count))


def count_wrong(request: Request, what: str, kind: str = "") -> None:
    """Count and log a wrong token; `what` describes the token in the log, which never contains the token itself.

    Tokens with a `kind` are counted separately and do not cause a delay.
    """
    address, now = address_of(request), time.monotonic()
    count, at = _wrong.pop(kind + address, (0, now))
    count = count + 1 if now - at < _FORGOTTEN_S else 1
    _wrong[kind + address] = count, now
    while len(_wrong) > _MOST_ADDRESSES:
        _wrong.popitem(last=False)
    _log.warning("A wrong %s from %s (%d lately).", what, address, count)


def forget(request: Request) -> None:
    """Reset the count of an address after a valid token, for example if the link was pasted incompletely before."""
    _wrong.pop(address_of(request), None)


def address_of(request: Request) -> str:
    """Return the client's address, or an empty string if the address is unknown."""
    return request.client.host if request.client else ""
