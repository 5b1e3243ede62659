"""A live run in a small office, and a reviewer who answers what waits."""

import pytest
from sqlmodel import col, select

from console import runs
from console.database import now_ms, reading, review_queue
from console.review import decisions
from console.runs.status import run_status
from console.trajectory import from_json
from console.trials import engine, start
from storage import tables
from storage.queue import Claim


@pytest.fixture
def ledger(tmp_path):
    """The file that the office writes its executions to."""
    path = tmp_path / "executions.txt"
    path.touch()
    return path


@pytest.fixture
def start_run():
    """A function that starts a run of n letters and plays its first trial; every action is flagged, nothing waits."""

    def begin(players, n=3, concurrency=None, **fields):
        usual = {"detector_name": "full-validation", "trials": 3, "undo_ms": 0, "feedback_mode": "nl"}
        start.start_run("run", {"office": n}, actor_and_environments=players, **usual | fields)
        return engine.resume("run", actor_and_environments=players, concurrency=concurrency or n)

    return begin


@pytest.fixture
def answer():
    """A function that answers every item that waits with what `choose(instruction, kind)` says."""

    def give(choose, reviewer="ann", limit=None):
        given = 0
        while given != limit:
            with reading() as session:
                run = runs.get(session, "run")
                claim = decisions.claim_next_item(review_queue(), session, run, reviewer, now_ms())
            if not isinstance(claim, Claim):
                return given
            record = from_json(claim.body)
            wanted = choose(record.instruction, claim.kind)
            fields = wanted if isinstance(wanted, dict) else {"decision": wanted}
            decisions.submit(review_queue(), run, claim, reviewer, decisions.ReviewDecision(**fields), now_ms())
            given += 1
        return given

    return give


@pytest.fixture
def trial():
    """A function from task number and trial to (row, record)."""

    def find(n, number=0):
        record, task, body = tables.Trajectory, tables.Task, tables.TrajectoryBody
        statement = (
            select(record, body.body)
            .join(task, col(task.id) == record.task_id)
            .join(body, col(body.trajectory_id) == col(record.id))
            .where(task.task_key == f"letter-{n}", record.trial == number)
        )
        with reading() as session:
            found = session.exec(statement).first()
        return (None, None) if found is None else (found[0], from_json(found[1]))

    return find


@pytest.fixture
def status():
    """The status of the run, trial by trial."""

    def read():
        with reading() as session:
            return run_status(session, runs.get(session, "run"))["trials"]

    return read
