"""A real server process in front of a real database, and a client that talks to it over a socket."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from console import review, runs
from console.database import now_ms, reading, review_queue
from console.review import Answer
from console.settings import settings

ROOT = Path(__file__).resolve().parents[3]
TASK = "i want a green kettle, and price lower than 30.00 dollars"


class Server:
    """A running `inferact serve`."""

    def __init__(self, process, url, log):
        self.process, self.url, self._log = process, url, log
        self.client = httpx.Client(base_url=f"{url}/api/v1", timeout=30, trust_env=False)

    def said(self):
        """What it has printed so far."""
        return self._log.read_text()

    def stop(self):
        """Ends it as Ctrl+C does and returns the seconds that it took."""
        started = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=30)
        return time.monotonic() - started


@pytest.fixture(scope="module")
def module_data(tmp_path_factory):
    return tmp_path_factory.mktemp("served") / "data"


@pytest.fixture(scope="module")
def shared(module_data):
    """One server for the tests of a file that get along with each other."""
    with _serving(module_data) as server:
        yield server


@pytest.fixture
def api(shared, module_data, monkeypatch):
    """The client of the shared server; what the test does itself reaches the same database."""
    monkeypatch.setenv("INFERACT_DATA_DIR", str(module_data))
    settings.cache_clear()
    return shared.client


@pytest.fixture
def serve(data_dir):
    """A function that starts a server of the test's own, with further options and settings."""
    with ExitStack() as stack:
        yield lambda *options, **more: stack.enter_context(_serving(data_dir, *options, **more))


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
def decide():
    """A function that answers the next item of a run from this process, as a reviewer does."""

    def decide(run_name, decision, text="", edited=None, label=None, reviewer="rita"):
        queue = review_queue()
        with reading() as session:
            run = runs.get(session, run_name)
            claim = review.next_item(queue, session, run, reviewer, now_ms())
            return review.submit(queue, run, claim, reviewer, Answer(decision, text, edited, label), now_ms())

    return decide


@contextmanager
def _serving(data, *options, **more):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {name: value for name, value in os.environ.items() if not name.startswith("INFERACT_")}
    env |= {"INFERACT_DATA_DIR": str(data), "PYTHONPATH": str(ROOT), **more}
    data.mkdir(parents=True, exist_ok=True)
    log = data / f"server-{port}.log"
    command = [sys.executable, "-m", "console.cli", "serve", "--port", str(port), *options]
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=data, env=env, stdout=out, stderr=subprocess.STDOUT)
    server = Server(process, f"http://127.0.0.1:{port}", log)
    try:
        _await(server)
        yield server
    finally:
        server.client.close()
        process.terminate()
        process.wait(timeout=30)


def _await(server):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.process.poll() is None:
        try:
            if server.client.get("/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    pytest.fail(f"the server did not come up: {server.said()}")
