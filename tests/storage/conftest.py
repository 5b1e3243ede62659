"""A migrated database of its own for each test, and a short way to put work into it."""

import shutil

import pytest
from sqlmodel import Session

from storage import tables
from storage.engine import close, writing
from storage.queue import HALTED, NewItem, Queue
from tests import postgres

RUN, TRIAL = 1, 0


@pytest.fixture
def url(request, tmp_path, empty_database):
    """The URL of a fresh database: a SQLite file, or a database on a server where a test asks for both."""
    if getattr(request, "param", "sqlite") == "postgresql":
        with postgres.database() as made:
            yield made
        return
    made = f"sqlite:///{shutil.copy(empty_database, tmp_path / 'console.db')}"
    yield made
    close(made)


@pytest.fixture
def stock():
    """A function that puts n items into run 1, trial 0, the first one ranking highest, and opens the budget."""

    def put(url: str, n: int, *, cap: int | None = None, reviews: int = 1, halted: int = 0) -> Queue:
        with writing(url) as session:
            trajectories = _trajectories(session, n + halted)
        queue = Queue(url)
        queue.put([_item(trajectory, place, place >= n, reviews) for place, trajectory in enumerate(trajectories)])
        queue.open_budget(run_id=RUN, trial=TRIAL, cap=cap)
        return queue

    return put


@pytest.fixture
def answer():
    """The fields of an answer that every decision needs; the given ones replace the usual ones."""

    def fields(submit_key: str, decision: str = "reject", **others: object) -> dict:
        usual = {
            "decision": decision,
            "label": "misaligned",
            "feedback_type": "nl",
            "feedback_text": "ask for the size",
            "edited_action": None,
            "action_digest": "digest",
            "annotator_kind": "human",
            "submit_key": submit_key,
        }
        return usual | others

    return fields


def _trajectories(session: Session, n: int) -> list[int]:
    run = tables.Run(name="shop", kind="live", environment="webshop", created_ms=1)
    session.add(run)
    session.flush()
    task = tables.Task(run_id=run.id, task_key="t", environment="webshop", instruction="shades", instruction_digest="d")
    session.add(task)
    session.flush()
    common = {"run_id": run.id, "task_id": task.id, "trial": TRIAL, "environment": "webshop", "n_steps": 2}
    rows = [
        tables.Trajectory(
            **common, outcome="paused", recorded_outcome="failed", n_critical=1, digest=str(i), created_ms=1
        )
        for i in range(n)
    ]
    session.add_all(rows)
    session.flush()
    session.add_all(tables.TrajectoryBody(trajectory_id=row.id, body=f'{{"task_id": "{row.id}"}}') for row in rows)
    return [row.id for row in rows]


def _item(trajectory_id: int, place: int, halted: bool, reviews: int) -> NewItem:
    return NewItem(
        run_id=RUN,
        trial=TRIAL,
        trajectory_id=trajectory_id,
        step=1,
        kind=HALTED if halted else "action",
        priority=-1.0 if halted else 1 / (place + 1),
        reviews_required=reviews,
        verdict_id=None,
        created_ms=1_000 + place,
    )
