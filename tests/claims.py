"""Claims by hand: that very item of the queue, whoever would be offered it."""

from console.database import now_ms, review_queue
from storage import tables


def open_item(session, run, reviewer, item_id):
    """Claims the item of a run for a reviewer."""
    item = session.get(tables.Item, item_id)
    return review_queue().claim(
        run_id=run.id,
        trial=item.trial,
        reviewer=reviewer,
        now_ms=now_ms(),
        lease_ms=run.lease_ms,
        item_id=item_id,
        halted_free=run.halted_free,
    )
