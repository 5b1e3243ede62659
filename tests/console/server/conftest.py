"""A real server process in front of a real database, and a client that talks to it over a socket."""

import secrets
from contextlib import ExitStack

import pytest

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.gate import Gate
from console.gate.policy import policy_store
from console.review import decisions
from console.review.decisions import ReviewDecision
from console.settings import settings
from tests.serving import new_agent, serving

API_TOKEN = "the-token-of-the-settings"
TASK = "i want a green kettle, and price lower than 30.00 dollars"


@pytest.fixture(scope="module")
def module_data(tmp_path_factory):
    return tmp_path_factory.mktemp("served") / "data"


@pytest.fixture(scope="module")
def shared(module_data):
    """One server for the tests of a file that get along with each other."""
    with serving(module_data, INFERACT_API_TOKEN=API_TOKEN) as server:
        yield server


@pytest.fixture
def api(shared, module_data, monkeypatch):
    """The client of the shared server; what the test does itself reaches the same database."""
    monkeypatch.setenv("INFERACT_DATA_DIR", str(module_data))
    settings.cache_clear()
    return shared.client


@pytest.fixture
def admin(shared, api):
    """The client of the shared server that shows the token of its settings."""
    with shared.client_with(API_TOKEN) as client:
        yield client


@pytest.fixture
def stranger(shared, api, module_data):
    """Another agent's client of the shared server."""
    with shared.client_with(new_agent(module_data, f"stranger {secrets.token_hex(4)}")) as client:
        yield client


@pytest.fixture
def serve(data_dir):
    """A function that starts a server of the test's own, with further options and settings."""
    with ExitStack() as stack:
        yield lambda *options, **more: stack.enter_context(serving(data_dir, *options, **more))


@pytest.fixture
def serve_from(data_dir):
    """A function that starts a server whose working directory is its `folder`, for files to lie in before."""

    def start():
        return serving(data_dir, anew=True)

    start.folder = data_dir
    data_dir.mkdir(parents=True, exist_ok=True)
    return start


@pytest.fixture
def question():
    """A function that makes the body of a check; every action in it goes to a person, who can take nothing back."""

    def make(**more):
        sent = {
            "run": f"bot-{secrets.token_hex(4)}",
            "task": TASK,
            "task_id": f"task-{secrets.token_hex(4)}",
            "steps": [{"thought": "Look.", "action": "find[kettle]", "observation": "a red kettle, 90 dollars"}],
            "action": {"name": "buy", "arguments": {"item": "red kettle", "amount": 90}},
            "detector": "full-validation",
            "undo_s": 0,
        }
        return sent | more

    return make


@pytest.fixture
def let_run():
    """A function that makes a run whose policy allows everything, or says what `text` says, and returns its name."""

    def make(run_name="easy", text="default: allow", **named):
        Gate(run_name, **named).open()
        with writing() as session:
            policy_store.save(session, runs.get(session, run_name), text, "ada", now_ms())
        return run_name

    return make


@pytest.fixture
def decide():
    """A function that answers the next item of a run from this process, as a reviewer does."""

    def decide(run_name, decision, text="", edited=None, label=None, reviewer="rita"):
        queue = review_queue()
        with reading() as session:
            run = runs.get(session, run_name)
            session.expunge(run)
            run.undo_ms = 0
            claim = decisions.claim_next_item(queue, session, run, reviewer, now_ms())
            return decisions.submit(
                queue, run, claim, reviewer, ReviewDecision(decision, text, edited, label), now_ms()
            )

    return decide
