"""An agent's wait for a person: look, say that the agent lives, look again."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy.exc import DBAPIError
from sqlmodel import col, select, update

from console.database import now_ms, reading, review_queue, writing
from console.gate.resolve import OpenCheck, WaitState, anything_new, settled
from console.gate.types import GateDecision
from storage import tables
from storage.errors import StorageError

HEARTBEAT_MS = 2_000
ABANDONED_MS = 60_000
"""An agent that is silent for so long after its deadline does not come back for the answer."""

_log = logging.getLogger(__name__)


class Cancellation(Protocol):
    """What says that the answer is no longer wanted: a threading.Event or anything like it."""

    def is_set(self) -> bool:
        """Whether to stop waiting."""
        ...


@dataclass(slots=True)
class Wait:
    """One agent waiting for one answer; `deadline_ms` is None where it waits for ever."""

    url: str
    case: OpenCheck
    deadline_ms: int | None
    cancel: Cancellation | None = None
    beaten_ms: int = 0

    def look(self) -> GateDecision | None:
        """The answer if there is one now; raises when the database stays away beyond the deadline."""
        at_ms = now_ms()
        late = self.deadline_ms is not None and at_ms >= self.deadline_ms
        cancelled = self.cancel is not None and self.cancel.is_set()
        try:
            if late or cancelled or self._anything_new(at_ms):
                return self._settle(WaitState(at_ms, late, cancelled))
            self._beat(at_ms)
        except (DBAPIError, StorageError) as away:
            if late or cancelled:
                raise
            _log.warning("The gate could not reach its database (%s) and tries again.", away)
        return None

    def withdraw(self) -> GateDecision | None:
        """Says that nobody waits any more; the item leaves the queue unless it is decided."""
        return self._settle(WaitState(now_ms(), cancelled=True))

    def _anything_new(self, at_ms: int) -> bool:
        with reading(self.url) as session:
            found = anything_new(session, self.case.ask.item_id or 0, at_ms)
        if found:
            # A claim that has lapsed gives its unit back, and the budget may not be spent after all.
            review_queue(self.url).sweep(now_ms=at_ms)
        return found

    def _settle(self, moment: WaitState) -> GateDecision | None:
        with writing(self.url) as session:
            ask = session.get_one(tables.Ask, self.case.ask.id)
            return settled(session, OpenCheck(self.case.run, self.case.question, ask), moment)

    def _beat(self, at_ms: int) -> None:
        if at_ms - self.beaten_ms < HEARTBEAT_MS:
            return
        self.beaten_ms = at_ms
        with writing(self.url) as session:
            ask = tables.Ask
            session.execute(update(ask).where(col(ask.id) == self.case.ask.id).values(heartbeat_ms=at_ms))


def expire_abandoned(url: str, run_id: int, at_ms: int) -> int:
    """Expires the items whose agents went away before their deadline; returns how many."""
    ask, item = tables.Ask, tables.Item
    statement = (
        select(item.id)
        .join(ask, col(ask.item_id) == col(item.id))
        .where(ask.run_id == run_id, col(ask.answer).is_(None), col(item.status).in_(["pending", "claimed"]))
        .where(col(ask.deadline_ms) < at_ms - ABANDONED_MS, col(ask.heartbeat_ms) < at_ms - ABANDONED_MS)
    )
    with reading(url) as session:
        left = [found for found in session.exec(statement) if found is not None]
    return review_queue(url).expire(item_ids=left, now_ms=at_ms) if left else 0
