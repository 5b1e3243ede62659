"""Pages about a large run count up to a limit, and say so."""

import pytest
from sqlalchemy import text

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.review.pending_items import MOST_COUNTED, list_pending_items
from console.review.waiting import measure_offered
from console.runs.trajectory_rows import insert_rows, prepare
from console.trajectory import Step, Trajectory
from storage.queue import NewItem

COUNT = MOST_COUNTED + 50


@pytest.fixture
def large(data_dir):
    """A run with more items than a page counts."""
    with writing() as session:
        run = runs.archive(session, "large", now_ms())
        run.detector, run.environment = "rules", "generic"
        made = [Trajectory(f"t-{at}", "generic", "Pay", (Step("", f"pay({at})", "ok"),)) for at in range(COUNT)]
        insert_rows(session, run, [prepare(one, []) for one in made], 1)
        run_id = run.id
    queue = review_queue()
    queue.open_budget(run_id=run_id, trial=0, cap=None)
    queue.put([NewItem(run_id, 0, id, 1, "action", id / COUNT, 1, None, 1) for id in range(1, COUNT + 1)])
    return "large"


def test_the_inbox_counts_up_to_a_limit_and_shows_that_there_are_more(large, open_page, words):
    with reading() as session:
        run = runs.get(session, large)
        found = list_pending_items(session, [run], "Ada")
        assert (found.matching, len(found.offered)) == (MOST_COUNTED, 100)
        assert [row.item.id for row in found.offered] == list(range(COUNT, COUNT - 100, -1))
        assert measure_offered(session, [run.id], "Ada") == (MOST_COUNTED, 1)
    assert "<b>2,000+</b> pending" in words(open_page("inbox"))
    runs.set_budget(large, "30")
    with reading() as session:
        run = runs.get(session, large)
        assert measure_offered(session, [run.id], "Ada") == (30, 1)
        assert len(list_pending_items(session, [run], "Ada").offered) == 30
    assert "Beyond budget: 1,970" in words(open_page("inbox"))


COPIES = """
INSERT INTO trajectory (run_id, task_id, trial, environment, outcome, recorded_outcome, carried_over, n_steps,
    n_critical, digest, source, created_ms)
WITH RECURSIVE number(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < 50000)
SELECT run_id, task_id, trial, environment, outcome, recorded_outcome, carried_over, n_steps, n_critical, i, source, 1
FROM trajectory, number"""


def test_the_list_of_trajectories_counts_up_to_a_limit_and_says_how_to_reach_the_others(data_dir, open_page, words):
    with writing() as session:
        run = runs.archive(session, "long", now_ms())
        insert_rows(session, run, [prepare(Trajectory("t", "generic", "Pay", (Step("", "pay(1)", "ok"),)), [])], 1)
        session.flush()
        session.connection().execute(text(COPIES))
    at = open_page("trajectories", run="long")
    at.session_state["page"] = 1_000
    at.run()
    assert "More than 50,000 trajectories. Search or filter to reach those after the first 50,000." in words(at)
    # The last page ends with the last trajectory that is counted.
    assert 'data-item="50000"' in words(at)


DECIDED = """
INSERT INTO decision (item_id, reviewer, annotator_kind, decision, feedback_type, feedback_text, action_digest,
    submit_key, revision, superseded, budget_used, claimed_ms, decided_ms, deliverable_ms, door)
WITH RECURSIVE number(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < 2001)
SELECT 1, 'Ada', 'human', 'approve', 'none', '', 'd', i, 1, 0, 0, 1, 3001, 1, 'import' FROM number"""


@pytest.mark.at_length
def test_my_reviews_counts_all_decisions_and_says_which_of_them_are_timed(large, open_page, words):
    with writing() as session:
        session.connection().execute(text(DECIDED))
    shown = words(open_page("answers", run=large))
    assert "2,001" in shown
    assert "Median times cover your latest 2,000 decisions." in shown
