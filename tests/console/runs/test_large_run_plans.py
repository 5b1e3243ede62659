"""What a page asks about a run of any size begins with an index."""

import pytest
from sqlalchemy import event, func, select, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Engine

from console.database import reading, writing
from console.detection.oversight import pool
from console.review import inbox, pending_items
from console.review.capacity import describe_own_capacity
from console.review.overview import build_overview
from console.runs import IS_TAKEN, archive, get, status
from console.trials import vigilance
from storage import tables
from storage.engine import engine
from storage.tables import server_search
from tests import postgres


def explain(session, work):
    """The steps of the plan of every select that the work runs, as one list for each."""
    asked = []

    def keep(_connection, _cursor, statement, parameters, *_others):
        asked.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", keep)
    try:
        work()
    finally:
        event.remove(Engine, "before_cursor_execute", keep)
    connection = session.connection()
    explaining = "EXPLAIN QUERY PLAN" if connection.dialect.name == "sqlite" else "EXPLAIN"
    return [
        [row[-1] for row in connection.exec_driver_sql(f"{explaining} {one}", values)]
        for one, values in asked
        if one.startswith(("SELECT", "WITH"))
    ]


@pytest.fixture
def run(data_dir):
    with writing() as session:
        archive(session, "log", 1)
    return "log"


COUNTED = "run_count_changed"


def test_the_status_and_the_overview_of_a_run_count_the_rows_of_marked_blocks_alone(run):
    with reading() as session:
        found = explain(session, lambda: status.run_status(session, get(session, run)))
        found += explain(session, lambda: build_overview(session, get(session, run), 1))
    counted = [plan for plan in found if any(COUNTED in step for step in plan)]
    steps = [step for plan in counted for step in plan]
    assert len(counted) >= 4
    assert "SEARCH r USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)" in steps
    assert "SEARCH r USING INDEX sqlite_autoindex_item_1 (trajectory_id>? AND trajectory_id<?)" in steps
    # Neither all rows of a table nor all rows of the run.
    assert [step for step in steps if step.startswith("SCAN r") or step.endswith(" r USING INDEX (run_id=?)")] == []
    assert [step for plan in found for step in plan if step.startswith("SCAN item")] == []


def test_the_metrics_of_a_large_run_read_their_sample_alone(run):
    sample = status.Sample(20_000, "4")
    with reading() as session:
        found = explain(session, lambda: pool.read_reviews(session, get(session, run), sample))
    (first,) = [plan[0] for plan in found if any(" decision " in step for step in plan)]
    assert first.endswith("sqlite_autoindex_trajectory_1 (run_id=? AND digest<?)")


def test_what_anybody_may_claim_is_counted_in_an_index_alone(run):
    with reading() as session:
        found = explain(session, lambda: inbox.get_queue_state(session, [1, 2]))
    steps = [step for plan in found for step in plan]
    assert "SEARCH item USING COVERING INDEX ix_item_ready (run_id=?)" in steps
    assert [step for step in steps if step.startswith("SCAN item")] == []


def test_the_capacity_of_a_reviewer_without_known_items_reads_no_item_of_the_run(run):
    with reading() as session:
        found = explain(session, lambda: describe_own_capacity(session, get(session, run), "Ada", 1))
    assert [step for plan in found for step in plan if step.endswith("ix_item_run_status (run_id=?)")] == []


def test_known_items_and_claims_are_found_without_the_items_of_the_run(run):
    with reading() as session:
        known = explain(session, lambda: vigilance.measure(session, get(session, run)))
        seen = explain(session, lambda: build_overview(session, get(session, run), 1))
    assert [step for plan in known for step in plan if step.endswith("ix_item_run_status (run_id=?)")] == []
    (claims,) = [plan for plan in seen if any(" slot " in step for step in plan)]
    assert claims[0].startswith(("SCAN slot USING INDEX ix_slot_lease", "SEARCH slot USING INDEX ix_slot_lease"))


STOCK = """
INSERT INTO task (id, run_id, task_key, environment, instruction, instruction_digest) VALUES (1, 1, 't', 'e', 'i', 'd');
INSERT INTO trajectory (id, run_id, task_id, trial, environment, outcome, recorded_outcome, carried_over, n_steps,
    n_critical, digest, source, created_ms)
SELECT n, 1, 1, 0, 'e', 'failed', 'failed', false, 1, 1, n::text, '{}', 1 FROM generate_series(1, 20000) n;
INSERT INTO item (run_id, trial, trajectory_id, step, kind, status, priority, open_slots, reviews_required, created_ms)
SELECT 1, 0, n, 1, 'action', 'pending', n, 1, 1, 1 FROM generate_series(1, 20000) n;
INSERT INTO budget (run_id, trial, scope, used, halted) VALUES (1, 0, '', 0, 0)"""


@pytest.mark.at_length
@postgres.NEEDED
def test_on_a_server_the_inbox_sorts_no_pending_items():
    with postgres.database() as url:
        with writing(url) as session:
            archive(session, "log", 1)
            session.flush()
            for statement in STOCK.split(";"):
                session.connection().exec_driver_sql(statement)
        with engine(url).execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")
        with reading(url) as session:
            run = get(session, "log")
            # All of so small a table is read as fast without an index.
            session.execute(text("SET LOCAL enable_seqscan = off"))
            plans = explain(session, lambda: pending_items.list_pending_items(session, [run], "Ada"))
            plans += explain(session, lambda: inbox.get_queue_state(session, [1]))
            taken = select(func.count()).where(tables.Item.run_id == run.id, IS_TAKEN)
            (reviewed,) = explain(session, lambda: session.execute(taken))
    steps = [step.strip() for plan in plans for step in plan]
    assert [step for step in steps if "using ix_item_ready on item" in step]
    assert [step for step in steps if step.startswith(("Sort Key: item.priority", "->  Seq Scan on item "))] == []
    # The condition of a partial index and that of the query must be the same.
    assert [step for step in reviewed if "ix_item_taken" in step], reviewed


@postgres.NEEDED
@pytest.mark.parametrize("words", [["refund"], ["refund*"], ["rm-rf", "disk"]])
def test_a_search_on_a_server_reads_the_index_of_words(words):
    record = tables.Trajectory
    asked = select(record.id).where(server_search.find_words(words, "actions"))
    compiled = asked.compile(dialect=postgresql.dialect(), compile_kwargs={"literal_binds": True})
    with postgres.database() as url, reading(url) as session:
        # An empty table is read as fast without an index.
        session.execute(text("SET LOCAL enable_seqscan = off"))
        plan = "\n".join(session.execute(text(f"EXPLAIN {compiled}".replace(":*", r"\:*"))).scalars())
    assert "Bitmap Index Scan on trajectory_words_words" in plan
