"""The text index kept up: words of what is new are taken in between imports and searches, in short transactions."""

from __future__ import annotations

import time

from console.database import reading, writing
from storage.tables import text_search


def catch_up(seconds: float | None = None) -> int:
    """Takes in what waits, for at most about that long; returns how many trajectories still wait."""
    with reading() as session:
        left = text_search.waiting(session.connection())
    end = None if seconds is None else time.monotonic() + seconds
    while left and (end is None or time.monotonic() < end):
        with writing() as session:
            left = text_search.take_in(session.connection())
    return left
