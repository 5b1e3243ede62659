"""The console as `inferact serve` runs it, in a process of its own."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from console.auth import agents
from console.database import now_ms, writing
from tests.forking import Forked

ROOT = Path(__file__).resolve().parents[1]


class Server:
    """A running `inferact serve`."""

    def __init__(self, process, url, log, token):
        self.process, self.url, self.data, self._log = process, url, log.parent, log
        self.port = int(url.rpartition(":")[2])
        self.client = self.client_with(token)

    def client_with(self, token):
        """A client that shows that token, or none where it is empty."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=30, trust_env=False)

    def said(self):
        """What it has printed so far."""
        return self._log.read_text()

    def stop(self):
        """Ends it as Ctrl+C does and returns the seconds that it took."""
        started = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=30)
        return time.monotonic() - started


@contextmanager
def serving(data, *options, port=None, anew=False, **more):
    """A running server on that data directory, with further options and settings; its client is an agent of its own.

    With `anew` it is a new Python, for tests of what it reads where it starts.
    """
    port = port or free_port()
    env = {name: value for name, value in os.environ.items() if not name.startswith("INFERACT_")}
    env |= {"INFERACT_DATA_DIR": str(data), "PYTHONPATH": str(ROOT), **more}
    data.mkdir(parents=True, exist_ok=True)
    log = data / f"server-{port}.log"
    command = ["serve", "--port", str(port), *options]
    if anew:
        with log.open("wb") as out:
            new = [sys.executable, "-m", "console.cli", *command]
            process = subprocess.Popen(new, cwd=data, env=env, stdout=out, stderr=subprocess.STDOUT)
    else:
        process = Forked(command, cwd=data, env=env, output=log)
    server = Server(process, f"http://127.0.0.1:{port}", log, new_agent(data, f"agent {secrets.token_hex(4)}"))
    try:
        _await(server)
        yield server
    finally:
        server.client.close()
        process.terminate()
        process.wait(timeout=30)


def new_agent(data, name):
    """The token of a new agent in the database of that data directory."""
    with writing(f"sqlite:///{data / 'console.db'}") as session:
        return agents.add(session, name, now_ms())


def free_port():
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _await(server):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.process.poll() is None:
        try:
            if server.client.get("/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    pytest.fail(f"the server did not come up: {server.said()}")
