"""The processes around one gate: four agents, a reviewer, the worker, the console; each may be killed and goes on."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.process import BaseProcess
from pathlib import Path

from crash_gate_books import PROGRAMS, ROOT

from tests.serving import free_port

sys.path.append(str(PROGRAMS))

RUN = "bot"
AT_ONCE = 6
CONSOLE = (sys.executable, "-m", "console.cli")
PROGRAM = {name: import_module(name) for name in ("agent", "http_agent", "reviewer")}
# Forked, not spawned: agents and reviewers are at work within milliseconds. No connection is open at that moment.
FORK = multiprocessing.get_context("fork")


@dataclass
class Player:
    """One process that is started again whenever it is gone; `fallen` counts the ends that nobody caused."""

    name: str
    play: Callable[[], object]
    environment: dict[str, str]
    log: Path
    is_ready: Callable[[str], bool] = bool
    is_done: Callable[[], bool] = bool
    fallen: int = 0
    process: BaseProcess | None = None
    _said_before: int = 0

    def start(self) -> None:
        """Starts the process; its output goes to its log."""
        self._said_before = self.log.stat().st_size if self.log.exists() else 0
        self.process = FORK.Process(target=self._live, daemon=True)
        self.process.start()

    def kill(self) -> None:
        """Ends the process without a word of warning."""
        if self.process is not None and self.process.pid is not None:
            if self.process.is_alive():
                os.kill(self.process.pid, signal.SIGKILL)
            self.process.join()

    def tend(self) -> None:
        """Starts the process again where it ended by itself, unless it is done."""
        if self.process is not None and not self.process.is_alive() and not self.is_done():
            self.fallen += 1
            self.start()

    def is_at_work(self) -> bool:
        """Whether it has got as far as its work since it was started."""
        return self.is_ready(self.log.read_text()[self._said_before :] if self.log.exists() else "")

    def _live(self) -> None:
        with self.log.open("ab") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        os.chdir(ROOT)
        os.environ.update(self.environment)
        self.play()


@dataclass
class Agent:
    """An agent's place: one batch of payments after the other, each asked about by processes that follow each other."""

    name: str
    program: str
    door: str
    folder: Path
    size: int
    batch: int = 0

    def play(self, *manner: str) -> None:
        """The life of one process: the payments of the present batch."""
        words = (self.door, RUN, f"{self.name}{self.batch}", self.size, AT_ONCE, self.log(self.batch), self._done())
        asyncio.run(PROGRAM[self.program].main(*map(str, words), *manner))

    def is_done(self) -> bool:
        """Whether every payment of the present batch has an answer."""
        return self._done().exists()

    def logs(self) -> list[Path]:
        """The notes of all batches."""
        return [self.log(batch) for batch in range(self.batch + 1)]

    def log(self, batch: int) -> Path:
        """The notes of one batch."""
        return self.folder / f"{self.name}{batch}.jsonl"

    def asked(self) -> set[str]:
        """The actions of all batches."""
        return {f"pay[{self.name}{batch}-{number}]" for batch in range(self.batch + 1) for number in range(self.size)}

    def _done(self) -> Path:
        return self.folder / f"{self.name}{self.batch}.done"


@dataclass
class Cast:
    """All of them on one database."""

    url: str
    folder: Path
    size: int
    token: str
    agents: dict[str, Agent] = field(default_factory=dict)
    players: dict[str, Player] = field(default_factory=dict)

    def __post_init__(self) -> None:
        port = free_port()
        for name in ("left", "right"):
            self._engage(Agent(name, "agent", self.url, self.folder, self.size))
        self._engage(Agent("http", "http_agent", f"http://127.0.0.1:{port}", self.folder, self.size))
        self._engage(Agent("served", "agent", f"http://127.0.0.1:{port}", self.folder, self.size))
        self._add("reviewer", lambda: PROGRAM["reviewer"].work(self.url, RUN, "rita"), _at_once)
        self._add("worker", lambda: _command("worker", "--every", "0.2"), lambda said: "Working" in said)
        self._add("console", lambda: _command("serve", "--port", str(port)), lambda _said: _listens(port))

    def environment(self) -> dict[str, str]:
        """The settings that every process gets."""
        data = str(self.folder / "data")
        return {
            "INFERACT_DATABASE_URL": self.url,
            "INFERACT_DATA_DIR": data,
            "PYTHONPATH": str(ROOT),
            "AGENT_TOKEN": self.token,
        }

    def tend(self) -> None:
        """Starts what has fallen."""
        for player in self.players.values():
            player.tend()

    def go_on(self) -> None:
        """Gives every agent that is done its next batch."""
        for name, agent in self.agents.items():
            process = self.players[name].process
            if agent.is_done() and process is not None:
                process.join()
                agent.batch += 1
                self.players[name].start()

    def finish(self, limit_s: float) -> bool:
        """Waits until every agent is done; False where one is not in time."""
        until = time.monotonic() + limit_s
        while not all(agent.is_done() for agent in self.agents.values()):
            if time.monotonic() > until:
                return False
            self.tend()
            time.sleep(0.1)
        return True

    def _engage(self, agent: Agent) -> None:
        self.agents[agent.name] = agent
        self._add(agent.name, agent.play, _at_once, agent.is_done)

    def _add(
        self, name: str, play: Callable[[], object], is_ready: Callable[[str], bool], is_done: Callable[[], bool] = bool
    ) -> None:
        log = self.folder / f"{name}.out"
        self.players[name] = Player(name, play, self.environment(), log, is_ready, is_done)


@contextmanager
def playing(cast: Cast) -> Iterator[Cast]:
    """All of them at work until the end of the block."""
    try:
        for player in cast.players.values():
            player.start()
        yield cast
    finally:
        for player in cast.players.values():
            player.kill()


def _command(*words: str) -> None:
    os.execv(sys.executable, [*CONSOLE, *words])


def _at_once(_said: str) -> bool:
    return True


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
