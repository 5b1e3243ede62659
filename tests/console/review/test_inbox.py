"""A reviewer's own progress, recounted by hand."""

from contextlib import ExitStack

import pytest
from sqlalchemy import insert

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.detection import batch
from console.review import decisions
from console.review.waiting import DAYS, MOST_TIMED, measure_progress
from console.runs import ingest
from console.runs.trajectory_rows import insert_rows, prepare
from storage import tables
from tests import postgres
from tests.logs import purchase, write_log

DAY_MS = 86_400_000
NOON_MS = 20_000 * DAY_MS + DAY_MS // 2


def test_decisions_are_counted_by_run_and_by_day_without_escalations(tmp_path, data_dir):
    records = [purchase(n, wrong=True) for n in range(6)]
    ingest.import_file(write_log(tmp_path / "log.jsonl", *records), "shop", "auto", lambda _: None)
    runs.set_budget("shop", "5")
    batch.detect("shop", ["rules"])
    given = [("approve", 0, 3), ("reject", 0, 9), ("reject", 2, 5), ("reject", DAYS, 100), ("escalate", 0, 7)]
    for kind, _age, _took in given:
        with reading() as session:
            run = runs.get(session, "shop")
            claim = decisions.claim_next_item(review_queue(), session, run, "Ada", now_ms())
        decisions.submit(review_queue(), run, claim, "Ada", decisions.ReviewDecision(kind), now_ms())
    with writing() as session:
        for id, (_kind, age, took) in enumerate(given, start=1):
            row = session.get_one(tables.Decision, id)
            row.decided_ms = NOON_MS - age * DAY_MS
            row.claimed_ms = row.decided_ms - took * 1_000
    with reading() as session:
        found = measure_progress(session, [runs.get(session, "shop")], "Ada", NOON_MS)
        nobody = measure_progress(session, [runs.get(session, "shop")], "Ben", NOON_MS)
    (one,) = found.runs
    assert (one.decisions, one.agreed, one.escalated, one.seconds, one.pending) == (4, 1, 1, 7.0, 0)
    assert [count for count in found.days.values() if count] == [1, 2]
    assert len(found.days) == DAYS
    assert list(found.days)[-1] == "2024-10-04"
    assert nobody.decisions == 0


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=(postgres.NEEDED, pytest.mark.at_length))])
def test_all_decisions_are_counted_and_the_latest_ones_are_timed(kind, data_dir):
    with ExitStack() as stack:
        url = stack.enter_context(postgres.database()) if kind == "postgresql" else None
        with writing(url) as session:
            run = runs.archive(session, "shop", 1)
            insert_rows(session, run, [prepare(purchase(1, wrong=True), [])], 1)
            session.flush()
            stop = {"run_id": run.id, "trial": 0, "trajectory_id": 1, "step": 1, "kind": "action", "status": "decided"}
            session.add(tables.Item(**stop, priority=1, open_slots=0, reviews_required=1, created_ms=1))
            session.flush()
            session.execute(insert(tables.Decision), [decided(n) for n in range(MOST_TIMED + 2_500)])
        with reading(url) as session:
            found = measure_progress(session, [runs.get(session, "shop")], "Ada", NOON_MS)
    (one,) = found.runs
    assert (one.decisions, one.agreed, one.seconds) == (MOST_TIMED + 2_500, MOST_TIMED + 2_500, 3.0)
    assert [*found.days.values()][-2:] == [2_500, MOST_TIMED]


def decided(number):
    """A decision of a log; the earlier ones took 9 s and were made on the day before."""
    is_early = number < 2_500
    at_ms = NOON_MS - is_early * DAY_MS
    times = {"claimed_ms": at_ms - (9_000 if is_early else 3_000), "decided_ms": at_ms, "deliverable_ms": at_ms}
    row = {"item_id": 1, "reviewer": "Ada", "decision": "approve", "feedback_type": "none", "action_digest": "d"}
    return {**row, **times, "submit_key": str(number), "budget_used": 0, "door": "import"}
