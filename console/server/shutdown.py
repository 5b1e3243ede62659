"""The shutdown of the server: requests that wait for a decision are answered immediately."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_stopping = threading.Event()


def is_set() -> bool:
    """Return whether the server is stopping."""
    return _stopping.is_set()


@contextmanager
def handle_signals() -> Iterator[None]:
    """Handle the signals that stop a server; without this handler, the server would wait for every open request."""
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
