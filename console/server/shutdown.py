"""The shutdown of the server: once it is asked to stop, answers that wait for a person are given as they stand."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_stopping = threading.Event()


def is_set() -> bool:
    """Whether waiting is over."""
    return _stopping.is_set()


@contextmanager
def heard() -> Iterator[None]:
    """Listens to the signals that end a server, which would otherwise wait for every open request."""
    _stopping.clear()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def hear(number: int, frame: FrameType | None) -> None:
        _stopping.set()
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number in before:
        signal.signal(number, hear)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
