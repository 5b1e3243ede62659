"""The floor that the queue is measured against does what the queue does."""

import runpy
from pathlib import Path

from sqlmodel import select

from storage import tables
from storage.engine import reading

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_it_claims_and_answers_as_the_queue_does(url, stock, answer):
    queue = stock(url, 2)
    Floor = runpy.run_path(str(BENCHMARKS / "floor.py"))["Floor"]  # noqa: N806
    floor = Floor(Path(url.removeprefix("sqlite:///")))
    item, token = floor.claim("ann", 10)
    floor.decide("ann", item, token, "first", 20)
    floor.close()
    claim = queue.claim(run_id=1, trial=0, reviewer="ann", now_ms=30, lease_ms=600_000)
    queue.decide(**answer("second"), item_id=claim.item_id, reviewer="ann", token=claim.token, now_ms=40, undo_ms=5_000)
    with reading(url) as session:
        by_floor, by_queue = session.exec(select(tables.Decision).order_by(tables.Decision.id)).all()
        slots = session.exec(select(tables.Slot).order_by(tables.Slot.id)).all()
    own = {
        "id",
        "item_id",
        "slot_id",
        "submit_key",
        "claimed_ms",
        "decided_ms",
        "deliverable_ms",
        "budget_used",
        "door",
    }
    assert by_floor.model_dump(exclude=own) == by_queue.model_dump(exclude=own)
    assert slots[0].status == slots[1].status == "decided"
