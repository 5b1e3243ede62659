"""Workers as the database knows them."""

from console.database import reading, writing
from console.runs import workers

DAY_MS = 86_400_000


def listed(at_ms):
    with reading() as session:
        return [(one.name, one.status, one.job, one.jobs_done) for one in workers.list_workers(session, at_ms)]


def test_a_worker_without_a_heartbeat_is_gone_and_forgotten_after_a_week():
    with writing() as session:
        first = workers.add_worker(session, "one", 0)
        workers.record_job(session, first, "shop", 1)
    assert listed(20_000) == [("one", "working", "shop", 0)]
    assert listed(40_000) == [("one", "gone", "shop", 0)]
    with writing() as session:
        workers.add_worker(session, "two", 8 * DAY_MS)
    assert listed(8 * DAY_MS) == [("two", "working", "", 0)]


def test_only_a_job_that_succeeds_counts_and_a_failure_is_kept():
    with writing() as session:
        first = workers.add_worker(session, "one", 0)
        for failure in (None, "The model is away."):
            workers.record_job(session, first, "shop", 1)
            workers.record_job(session, first, "", 2, failure)
    with reading() as session:
        (one,) = workers.list_workers(session, 3)
    assert (one.jobs_done, one.failure) == (1, "The model is away.")


def test_drained_workers_learn_so_by_their_heartbeat():
    with writing() as session:
        first, second = (workers.add_worker(session, name, 0) for name in ("one", "two"))
        assert workers.drain_workers(session, [second]) == 1
        assert workers.record_heartbeat(session, first, 5) == "working"
        assert workers.record_heartbeat(session, second, 5) == "draining"
        assert workers.drain_workers(session) == 1
        workers.end_worker(session, first, 6)
        assert workers.record_heartbeat(session, 99, 5) is None
    assert listed(7) == [("two", "draining", "", 0), ("one", "stopped", "", 0)]
