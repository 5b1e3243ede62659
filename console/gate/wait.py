"""An agent's wait for a decision: look, send a heartbeat, look again."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlalchemy.exc import DBAPIError
from sqlmodel import col, update

from console.database import now_ms, reading, review_queue, writing
from console.gate.resolve import OpenCheck, WaitState, may_have_answer, resolve
from console.gate.types import GateDecision
from storage import tables
from storage.errors import StorageError

HEARTBEAT_MS = 2_000

_log = logging.getLogger(__name__)


class Cancellation(Protocol):
    """A signal to stop waiting: a threading.Event or any object like it."""

    def is_set(self) -> bool:
        """Return whether to stop waiting."""
        ...


@dataclass(slots=True)
class Wait:
    """The wait of one agent for one decision until `deadline_ms`; `beats` is true if the agent sends heartbeats."""

    url: str
    check: OpenCheck
    deadline_ms: int
    cancel: Cancellation | None = None
    beaten_ms: int = 0
    beats: bool = True
    _gives_up_s: float = field(init=False)

    def __post_init__(self) -> None:
        # Measured here, so that a clock that is set back does not extend the wait.
        self._gives_up_s = time.monotonic() + (self.deadline_ms - now_ms()) / 1_000

    def look(self) -> GateDecision | None:
        """Return the decision, or None while there is none; raise if the database is unreachable after the deadline."""
        at_ms = now_ms()
        late = at_ms >= self.deadline_ms or time.monotonic() >= self._gives_up_s
        cancelled = self.cancel is not None and self.cancel.is_set()
        try:
            if late or cancelled or self._look_for_answer(at_ms):
                return self._resolve(WaitState(at_ms, late, cancelled))
            self._beat(at_ms)
        except (DBAPIError, StorageError) as away:
            if late or cancelled:
                raise
            _log.warning("The gate could not reach its database (%s) and tries again.", away)
        return None

    def withdraw(self) -> GateDecision | None:
        """Stop waiting and remove the item from the queue unless the item is decided."""
        return self._resolve(WaitState(now_ms(), cancelled=True))

    def _look_for_answer(self, at_ms: int) -> bool:
        with reading(self.url) as session:
            found = may_have_answer(session, self.check.ask.item_id or 0, at_ms)
        if found:
            # An expired claim releases its unit, so the budget may not be spent after all.
            review_queue(self.url).sweep(now_ms=at_ms)
        return found

    def _resolve(self, state: WaitState) -> GateDecision | None:
        with writing(self.url) as session:
            ask = session.get_one(tables.Ask, self.check.ask.id)
            return resolve(session, replace(self.check, ask=ask), state)

    def _beat(self, at_ms: int) -> None:
        if 0 <= at_ms - self.beaten_ms < HEARTBEAT_MS:
            return
        self.beaten_ms = at_ms
        beaten = {"heartbeat_ms": at_ms} | ({"beats": True} if self.beats else {})
        with writing(self.url) as session:
            ask = tables.Ask
            session.execute(update(ask).where(col(ask.id) == self.check.ask.id).values(**beaten))
