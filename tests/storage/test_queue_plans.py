"""Statements that run at every claim begin with the index made for them, however many items a run has."""

import pytest

from storage.engine import engine
from storage.queue import statements
from storage.queue.transaction import Transaction, render_sql

PLANS = [
    ("FRESH", ["SEARCH i USING INDEX ix_item_ready (run_id=? AND trial=?)"]),
    ("EXPIRED_CLAIMS", ["SEARCH s USING INDEX ix_slot_lease (lease_until_ms<?)"]),
    ("FAR_CLAIMS", ["SEARCH s USING INDEX ix_slot_lease (lease_until_ms>?)"]),
    ("IS_OVERDUE", ["SEARCH i USING INTEGER PRIMARY KEY (rowid=?)"]),
    ("HELD_CLAIM", ["SEARCH s USING INDEX ix_slot_reviewer (reviewer=? AND status=?)"]),
    ("SKIPPED", ["SEARCH s USING INDEX ix_slot_reviewer (reviewer=? AND status=?)"]),
    ("SETTLE", ["SEARCH d USING INDEX ix_decision_undelivered (deliverable_ms>?)"]),
    ("DUE", ["SEARCH d USING INDEX ix_decision_undelivered (deliverable_ms<?)"]),
    ("COUNT_UNREVIEWED", ["SEARCH item USING COVERING INDEX ix_item_run_status (run_id=? AND trial=? AND status=?)"]),
]
VALUES = {
    "run_id": 1,
    "trial": 0,
    "reviewer": "ann",
    "now_ms": 1,
    "budget_id": 1,
    "far_ms": 2,
    "dead_ms": 0,
    "item_id": 1,
}


@pytest.mark.parametrize(("name", "searches"), PLANS)
def test_the_plan_begins_with_its_index(url, name, searches):
    statement = render_sql(getattr(statements, name), engine(url).dialect)
    with Transaction(url) as db:
        plan = [row[3] for row in db.rows(f"EXPLAIN QUERY PLAN {statement}", **VALUES)]
    first = [step for step in plan if not step.startswith(("LIST", "SEARCH decision"))]
    assert first[:1] == searches
