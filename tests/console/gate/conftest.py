"""A gate on a database of its own, and people who answer at it."""

import os
import shutil
import threading
import time
from pathlib import Path

import pytest
from sqlmodel import select

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.gate import Gate
from console.gate.policy import policy_store
from console.review import decisions
from storage import tables
from storage.engine import close
from storage.queue import Claim
from tests import postgres
from tests.forking import Forked

RUN = "shop-bot"
POLICY = "{default: allow, rules: [{pattern: pay*, then: judge}]}"
PROGRAMS = Path(__file__).parent / "programs"
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def url(request, tmp_path, empty_database):
    """The URL of a new database that no setting names: a SQLite file, or on a server where a test asks for both."""
    if getattr(request, "param", "sqlite") == "postgresql":
        with postgres.database() as made:
            yield made
        return
    made = f"sqlite:///{shutil.copy(empty_database, tmp_path / 'gate.db')}"
    yield made
    close(made)


@pytest.fixture
def make_gate(url):
    """A function that makes a gate where `pay*` is judged and flagged, all else runs, and answers count at once."""

    def make(policy=POLICY, **changes):
        if policy:
            with writing(url) as session:
                policy_store.list_versions(session, None) or policy_store.save(session, None, policy, "ada", 0)
        usual = {"detector": "full-validation", "critical": ["pay*"], "undo_s": 0, "poll_s": 0.01, "url": url}
        return Gate(changes.pop("run", RUN), **(usual | changes))

    return make


class Person:
    """A reviewer at the queue of one run."""

    def __init__(self, url, name, run=RUN):
        self.url, self.name, self.run_name = url, name, run

    def claim(self, timeout_s=20.0):
        """The next item, waited for."""
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            with reading(self.url) as session:
                run = runs.find(session, self.run_name)
                found = run and decisions.claim_next_item(review_queue(self.url), session, run, self.name, now_ms())
            if isinstance(found, Claim):
                return run, found
            time.sleep(0.01)
        raise TimeoutError("nothing came into the queue")

    def answer(self, decision, feedback="", **others):
        """Decides the next item and returns the decision."""
        run, claim = self.claim()
        answer = decisions.ReviewDecision(decision, feedback, **others)
        return decisions.submit(review_queue(self.url), run, claim, self.name, answer, now_ms())


@pytest.fixture
def person(url):
    """A function that makes a reviewer of that name."""
    return lambda name="ann", run=RUN: Person(url, name, run)


@pytest.fixture
def meanwhile():
    """A function that does something beside the test; what it raised is raised at the end."""
    threads, raised = [], []

    def run(work, *arguments, **named):
        def guarded():
            try:
                work(*arguments, **named)
            except Exception as failure:
                raised.append(failure)

        threads.append(threading.Thread(target=guarded))
        threads[-1].start()

    yield run
    for thread in threads:
        thread.join(30)
    if raised:
        raise raised[0]


@pytest.fixture
def stored(url):
    """A function that reads all rows of a table, in order."""

    def rows(table):
        with reading(url) as session:
            found = list(session.exec(select(table).order_by(*table.__table__.primary_key.columns)))
            session.expunge_all()
        return found

    return rows


@pytest.fixture
def items(stored):
    """A function that tells the state of every item."""
    return lambda: [item.status for item in stored(tables.Item)]


@pytest.fixture
def start(url, tmp_path):
    """A function that starts a program of this folder on the database; what still runs at the end is killed."""
    running = []

    def run(program, *arguments):
        path, output = PROGRAMS / f"{program}.py", tmp_path / f"{program}.log"
        running.append(Forked([url, RUN, *arguments], cwd=ROOT, env=os.environ, output=output, program=path))
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.wait(30)
    # Shown where the test fails.
    for output in tmp_path.glob("*.log"):
        print(output.read_text())
