"""The next items for one reviewer over several runs, most urgent first, without a claim.

The order is: live items by deadline, the reviewer's claims, items assigned to the reviewer, then priority. Skipped
items return when their skip ends, or if no other item is left.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from storage.queue.statements import IS_OF_OTHERS
from storage.queue.transaction import Transaction
from storage.queue.values import DEAD_MS

MOST = 8
"""Maximum number of offers per kind; other reviewers may claim the first offers in the meantime."""
UNTIL_NOTHING_ELSE_MS = 1 << 45
"""Default length of a skip in ms: longer than any run lasts, so that skipped items keep their order."""


class Offer(NamedTuple):
    """An item that the reviewer can claim; `deadline_ms` is the deadline of its waiting agent, or None."""

    item_id: int
    run_id: int
    trial: int
    deadline_ms: int | None = None


_BUDGET_LEFT = """
SELECT 1 FROM budget b WHERE b.run_id = i.run_id AND b.trial = i.trial AND b.scope = ''
  AND (b.cap IS NULL OR b.used < b.cap)"""
_OWN_SLOT = "SELECT 1 FROM slot s WHERE s.item_id = i.id AND s.reviewer = :reviewer"
_PAID = f"EXISTS ({_BUDGET_LEFT})"
_HELD = f"EXISTS ({_OWN_SLOT} AND s.status = 'claimed')"
_LEFT = f"EXISTS ({_OWN_SLOT} AND (s.status = 'decided' OR (s.status = 'skipped' AND s.lease_until_ms > :now_ms)))"

_LIVE = f"""
SELECT i.id, i.run_id, i.trial, a.deadline_ms, a.asked_ms FROM ask a CROSS JOIN item i
WHERE a.answer IS NULL AND a.item_id IS NOT NULL AND i.id = a.item_id AND i.run_id IN (%s)
  AND i.status IN ('pending', 'claimed') AND (a.deadline_ms IS NULL OR a.deadline_ms > :now_ms)
  AND ({_HELD} OR NOT a.beats OR a.heartbeat_ms >= :dead_ms)
  AND NOT {_LEFT} AND NOT {IS_OF_OTHERS} AND ({_HELD} OR (i.open_slots > 0 AND {_PAID}))
ORDER BY a.deadline_ms IS NULL, a.deadline_ms, i.priority DESC, i.id LIMIT :most"""

_CLAIMED = """
SELECT i.id, i.run_id, i.trial FROM slot s CROSS JOIN item i
WHERE s.reviewer = :reviewer AND s.status = 'claimed' AND s.lease_until_ms > :now_ms
  AND i.id = s.item_id AND i.run_id IN (%s)
ORDER BY s.claimed_ms DESC, s.id DESC LIMIT 1"""

_ASSIGNED = f"""
SELECT i.id, i.run_id, i.trial FROM item_reviewer r CROSS JOIN item i
WHERE r.reviewer = :reviewer AND i.id = r.item_id AND i.run_id IN (%s) AND i.open_slots > 0
  AND NOT {_LEFT} AND {_PAID}
ORDER BY i.priority DESC, i.id LIMIT {MOST}"""

# The first item of the first trial that has one and a budget for it, by the index of the pending items; nothing of the
# later trials is read.
_FRESH = f"""
SELECT i.id, i.run_id, i.trial FROM run u CROSS JOIN item i
WHERE u.id IN (%s) AND i.id = (
    SELECT f.id FROM budget b CROSS JOIN item f
    WHERE b.run_id = u.id AND b.scope = '' AND (b.cap IS NULL OR b.used < b.cap) AND f.id = (
        SELECT i.id FROM item i
        WHERE i.run_id = b.run_id AND i.trial = b.trial AND i.open_slots > 0 AND NOT {_LEFT} AND NOT {_HELD}
          AND NOT {IS_OF_OTHERS}
        ORDER BY i.priority DESC, i.id LIMIT 1)
    ORDER BY b.trial LIMIT 1)
ORDER BY i.priority DESC, i.id"""

_SKIPPED = f"""
SELECT i.id, i.run_id, i.trial FROM slot s CROSS JOIN item i
WHERE s.reviewer = :reviewer AND s.status = 'skipped' AND s.lease_until_ms > :now_ms
  AND i.id = s.item_id AND i.run_id IN (%s) AND i.open_slots > 0 AND NOT {IS_OF_OTHERS} AND {_PAID}
ORDER BY s.lease_until_ms, i.id LIMIT {MOST}"""


_OPEN = f"""
SELECT count(*), min(created_ms) FROM (
    SELECT i.created_ms FROM item i
    WHERE i.run_id = %d AND i.trial = %d AND i.open_slots > 0%s
      AND (:reviewer = '' OR NOT {IS_OF_OTHERS} AND NOT EXISTS ({_OWN_SLOT} AND s.status IN ('claimed', 'decided')))
    ORDER BY i.priority DESC, i.id LIMIT %d) AS opened"""


OpenItems = tuple[int, int, str, int]
"""The run, the trial, an SQL condition on item i (or nothing), and the number of the first items to count."""


def count_open(db: Transaction, parts: Sequence[OpenItems], reviewer: str | None) -> tuple[int, int | None]:
    """Return the number of these items that the reviewer (None: any) can claim, and the oldest one's time in ms."""
    rows: list[Sequence[Any]] = []
    # SQLite allows 500 parts of a statement.
    for start in range(0, len(parts), 400):
        counted = " UNION ALL ".join(_OPEN % part for part in parts[start : start + 400])
        rows += db.rows(counted, reviewer=reviewer or "")
    return sum(count for count, _ in rows), min((at_ms for _, at_ms in rows if at_ms is not None), default=None)


class LiveItem(NamedTuple):
    """An item whose agent has waited since `asked_ms`; `deadline_ms` is None if the agent has no deadline."""

    item_id: int
    run_id: int
    trial: int
    deadline_ms: int | None
    asked_ms: int


def list_live_items(
    db: Transaction, run_ids: Sequence[int], reviewer: str, now_ms: int, most: int = MOST
) -> list[LiveItem]:
    """Return the live items of these runs that the reviewer may claim, ordered by deadline.

    An agent whose heartbeats stopped no longer waits, unless the reviewer has claimed its item.
    """
    if not run_ids:
        return []
    rows = db.rows(_LIVE % _listed(run_ids), reviewer=reviewer, now_ms=now_ms, dead_ms=now_ms - DEAD_MS, most=most)
    return [LiveItem(*row) for row in rows]


def _listed(run_ids: Sequence[int]) -> str:
    return ", ".join(str(int(run_id)) for run_id in run_ids)


def list_offers(db: Transaction, run_ids: Sequence[int], reviewer: str, now_ms: int) -> list[Offer]:
    """Return the next items of these runs for the reviewer, ordered by urgency, including the reviewer's own claim."""
    if not run_ids:
        return []
    known = _listed(run_ids)
    at = {"reviewer": reviewer, "now_ms": now_ms}
    found = [Offer(*row[:4]) for row in list_live_items(db, run_ids, reviewer, now_ms)]
    found += [Offer(*row) for row in db.rows(_CLAIMED % known, **at)]
    found += [Offer(*row) for row in db.rows(_ASSIGNED % known, **at)]
    fresh = db.rows(_FRESH % known, **at)
    found += [Offer(*row) for row in fresh or db.rows(_SKIPPED % known, **at)]
    by_item: dict[int, Offer] = {}
    for offer in found:
        by_item.setdefault(offer.item_id, offer)
    return list(by_item.values())
