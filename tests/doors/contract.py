"""The contract of every way in: what an agent executes and what its model reads, in each case that can happen.

`python -m tests.doors.approval_conformance` prints the table. A framework is looked for in this environment, then in
`$INFERACT_FRAMEWORKS/*/bin/python`.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from sqlmodel import select

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.errors import ConsoleError
from console.gate import Gate
from console.gate.policy import policy_store
from console.review import decisions
from console.review.decisions import ReviewDecision
from storage import tables
from storage.queue import Claim
from tests.doors.ways import WAYS
from tests.serving import free_port, new_agent, serving

ROOT = Path(__file__).resolve().parents[2]
# Read here, because each test puts the settings of the developer's shell aside.
NAMED = {name: os.environ.get(f"INFERACT_{name}", "") for name in ("FRAMEWORKS", "CLAUDE", "CODEX", "GEMINI")}
CLIENT = ROOT / "console" / "client"
ONE = [{"name": "transfer", "arguments": {"to": "ada", "amount": 5}}]
TWO = [*ONE, {"name": "transfer", "arguments": {"to": "bob", "amount": 7}}]
POLICY = """
undo: 0
rules:
  - {tool: transfer, when: 'args.amount > 1000', then: deny, because: Too much.}
  - {tool: transfer, when: 'args.amount == 1', then: allow}
  - {tool: transfer, when: 'args.amount == 2', then: ask, reviews: 2}
  - {tool: [Bash, run_shell_command], when: 'args.command.endsWith(" 5000")', then: deny, because: Too much.}
  - {tool: [Bash, run_shell_command], when: 'args.command.endsWith(" 1")', then: allow}
  - {tool: [Bash, run_shell_command], when: 'args.command.endsWith(" 2")', then: ask, reviews: 2}
default: ask
"""
SAYS_INSTEAD = {
    ("langgraph_batched", "edit"): ("a human reviewer replaced this tool call before it ran",),
    ("langgraph_per_call", "edit"): ("a human reviewer replaced this tool call before it ran",),
    ("openai_agents_approval", "edit"): ("A reviewer changed this call to", "Make that call instead"),
}
"""What the model reads where the framework has a sentence of its own."""

IN_TURN = "The program asks about the calls of one message in turn."
LIMITS = {
    ("plain", "two calls decided apart"): ("turn", "`check` asks about one call; use `check_many` for several."),
    ("openai_agents_approval", "edit"): ("none", "The SDK cannot replace the arguments of an approved call."),
    ("inspect", "two calls decided apart"): ("turn", IN_TURN),
    ("claude_agent_sdk", "two calls decided apart"): ("turn", IN_TURN),
    ("claude_code", "two calls decided apart"): ("turn", IN_TURN),
    ("gemini", "two calls decided apart"): ("turn", IN_TURN),
    ("codex", "agent interrupted"): ("late", "The item stays pending until the hook's own time is over."),
    ("gemini", "agent interrupted"): (
        "late",
        "The program waits for its hook, so the item stays pending until its end.",
    ),
}
"""Cells that hold in another way: what the cell shows, and what the framework does not allow."""

HOLDS, LONGEST_S = "", 120
_KILLED = -signal.SIGKILL


@dataclass(frozen=True)
class Case:
    """One case: the calls, what the reviewers do by recipient, and what must come of it.

    `says` are texts of which each must be in some message. `reviews` are (reviewer, decision, feedback, edited action);
    `refused` counts those that the console must refuse. `event` happens when the calls are pending.
    """

    name: str
    executed: list
    says: tuple = ()
    calls: list = field(default_factory=lambda: ONE)
    reviews: dict = field(default_factory=dict)
    deadline_s: float = 90.0
    event: str = ""
    refused: int = 0


@dataclass(frozen=True)
class Played:
    """What came of one case: `error` is the agent's, if it gave no answer; `states` are those of the items."""

    executed: list
    messages: list
    error: str = ""
    refused: int = 0
    together: int = 0
    """The largest number of calls that were pending at the same time."""
    states: tuple = ()


def to(name, amount):
    """An executed transfer."""
    return {"to": name, "amount": amount}


def call(amount):
    """One call with that amount."""
    return [{"name": "transfer", "arguments": {"to": "ada", "amount": amount}}]


APPROVED = ("rita", "approve", "", None)
CASES = [
    Case("approve", [to("ada", 5)], ("Sent 5 to ada.",), reviews={"ada": [APPROVED]}),
    Case(
        "reject with feedback",
        [],
        ("A person rejected this call", "Not ada, please."),
        reviews={"ada": [("rita", "reject", "Not ada, please.", None)]},
    ),
    Case(
        "edit",
        [to("ada", 4)],
        ("A reviewer changed this call before it ran",),
        reviews={"ada": [("rita", "edit", "", {"amount": 4})]},
    ),
    Case(
        "edit refused by the schema",
        [to("ada", 5)],
        ("Sent 5 to ada.",),
        reviews={"ada": [("rita", "edit", "", {"amount": "four"}), APPROVED]},
        refused=1,
    ),
    Case(
        "respond",
        [],
        ("Use the other account.",),
        reviews={"ada": [("rita", "respond", "Use the other account.", None)]},
    ),
    Case("denied by a rule", [], ("A rule of the policy denies this call", "Too much."), calls=call(5_000)),
    Case("allowed by a rule", [to("ada", 1)], ("Sent 1 to ada.",), calls=call(1)),
    Case("nobody decides", [], ("This is not a rejection",), deadline_s=2),
    Case("console away", [], ("could not be reached",), deadline_s=2, event="away"),
    Case("console restarted", [to("ada", 5)], ("Sent 5 to ada.",), reviews={"ada": [APPROVED]}, event="restart"),
    Case(
        "two calls decided apart",
        [to("bob", 7)],
        ("A person rejected this call", "Sent 7 to bob."),
        calls=TWO,
        reviews={"ada": [("rita", "reject", "No.", None)], "bob": [APPROVED]},
    ),
    Case("agent interrupted", [], reviews={"ada": [APPROVED]}, event="interrupt"),
    Case("agent killed after begin", [to("ada", 5)], reviews={"ada": [APPROVED]}, event="kill"),
    Case(
        "second reviewer needed",
        [to("ada", 2)],
        ("Sent 2 to ada.",),
        calls=call(2),
        reviews={"ada": [APPROVED, ("omar", "approve", "", None)]},
    ),
]


@cache
def find_python(module):
    """The interpreter of an environment that has the modules, or None."""
    folders = NAMED["FRAMEWORKS"]
    found = [Path(sys.executable), *(sorted(Path(folders).glob("*/bin/python")) if folders else ())]
    code = "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, "
    code += f"{['httpx', *module.split(', ')]!r})))"
    for python in found:
        if subprocess.run([str(python), "-c", code], capture_output=True, timeout=120).returncode == 0:
            return python
    return None


class Door:
    """A served console with the contract's policy, and reviewers who do what a case says."""

    def __init__(self, data):
        self.data, self.database = data, f"sqlite:///{data / 'console.db'}"
        self._numbers = iter(range(1_000_000))

    def play(self, server, way, case, folder):
        """Return what came of one way in, in one case; `folder` is the agent's own."""
        number = next(self._numbers)
        run = f"{way} {case.name} {number}"
        Gate(run, url=self.database, undo_s=0).open()
        with writing(self.database) as session:
            policy_store.save(session, runs.get(session, run), POLICY, "ada", now_ms())
        token = new_agent(self.data, f"agent {way} {number}")
        with ExitStack() as stack:
            url = f"http://127.0.0.1:{free_port()}" if case.event in ("away", "restart") else server.url
            if case.event == "restart":
                serves = stack.enter_context(ExitStack())
                serves.enter_context(serving(self.data, port=int(url.rpartition(":")[2])))
            asked = {"url": url, "token": token, "run": run, "deadline_s": case.deadline_s, "calls": case.calls}
            asked |= {"folder": str(folder), "task": f"Send the money ({run})."}
            if case.event == "kill":
                (folder / "kills").touch()
            agent = self._start(way, asked)
            reviewers = Reviewers(self.database, run, case)
            try:
                if case.event in ("restart", "interrupt"):
                    reviewers.await_pending()
                if case.event == "restart":
                    serves.close()
                    serves.enter_context(serving(self.data, port=int(url.rpartition(":")[2])))
                if case.event == "interrupt":
                    os.kill(int((folder / "agent.pid").read_text()), signal.SIGINT)
                else:
                    reviewers.start()
                answer, error = _finish(agent)
                if case.event == "kill" and agent.returncode == _KILLED:
                    answer, error = _finish(self._start(way, asked | {"deadline_s": 2}))
            finally:
                reviewers.stop()
                _kill(agent)
        log = folder / "executed.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        executed = [to(line["to"], line["amount"]) for line in map(json.loads, lines)]
        states = reviewers.states(settled=case.event == "interrupt")
        return Played(executed, answer.get("messages", []), error, reviewers.refused, reviewers.together, states)

    def _start(self, way, asked):
        """The agent's process; it has read its question."""
        process = subprocess.Popen(
            [str(find_python(WAYS[way].module)), str(Path(__file__).with_name("ways.py")), way],
            env={
                **os.environ,
                **{f"INFERACT_{name}": value for name, value in NAMED.items() if value},
                "PYTHONPATH": str(CLIENT),
                "PYTHONWARNINGS": "ignore",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Programs that a killed agent leaves behind are ended with its group.
            start_new_session=True,
        )
        process.stdin.write(json.dumps(asked))
        process.stdin.close()
        process.stdin = None
        return process


def _finish(process):
    """(answer, error) of an agent; {} if it gave no answer."""
    try:
        out, error = process.communicate(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        _kill(process)
        return {}, f"no end within {LONGEST_S} s"
    lines = out.strip().splitlines()
    if process.returncode or not lines:
        return {}, f"exit {process.returncode}: {error.strip()[-2_000:]}"
    return json.loads(lines[-1]), ""


def _kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


class Reviewers:
    """Those who decide about the items of one run as a case says, in a thread."""

    def __init__(self, database, run, case):
        self._database, self._run, self._case = database, run, case
        self._queue, self._left = review_queue(database), {name: list(acts) for name, acts in case.reviews.items()}
        self._stop, self._thread = threading.Event(), threading.Thread(target=self._work)
        self.refused = self.together = 0

    def start(self):
        """Begin to review."""
        self._thread.start()

    def stop(self):
        """End at once."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def states(self, settled=False):
        """The states of the run's items; if `settled`, when none of them is pending any more, or after 20 s."""
        until = time.monotonic() + 20
        while True:
            with reading(self._database) as session:
                item = tables.Item
                found = session.exec(select(item.status).where(item.run_id == runs.get(session, self._run).id)).all()
            states = tuple(map(str, found))
            if not settled or (states and "pending" not in states) or time.monotonic() > until:
                return states
            time.sleep(0.1)

    def await_pending(self, wait_s=60, more_s=60):
        """Wait until every call is pending, or `more_s` after the first; note how many were so at the same time."""
        until = time.monotonic() + wait_s
        while time.monotonic() < until and not self._stop.is_set():
            pending = self.states().count("pending")
            if pending and not self.together:
                until = min(until, time.monotonic() + more_s)
            self.together = max(self.together, pending)
            if self.together >= len(self._case.calls):
                return
            time.sleep(0.1)

    def _work(self):
        if len(self._case.calls) > 1:
            self.await_pending(more_s=8)
        reviewers = sorted({act[0] for acts in self._left.values() for act in acts}, reverse=True)
        while not self._stop.is_set() and any(self._left.values()):
            for reviewer in reviewers:
                self._review(reviewer)
            time.sleep(0.1)

    def _review(self, reviewer):
        """Claim an item as this reviewer and decide it as the case says."""
        with reading(self._database) as session:
            run = runs.get(session, self._run)
            session.expunge(run)
            claim = decisions.claim_next_item(self._queue, session, run, reviewer, now_ms())
            if not isinstance(claim, Claim):
                return
        # The session above may still see the moment before the item.
        with reading(self._database) as session:
            asked = session.connection().exec_driver_sql(
                "SELECT body FROM trajectory_body JOIN item USING (trajectory_id) WHERE item.id = ?", (claim.item_id,)
            )
            action = json.loads(asked.scalar_one())["critical_action"]
        name = next(name for name in self._left if name in action)
        for act in [act for act in self._left[name] if act[0] == reviewer]:
            self._left[name].remove(act)
            edited = None if act[3] is None else _edit(action, act[3])
            label = "misaligned" if act[1] == "respond" else None
            try:
                decided = ReviewDecision(act[1], act[2], edited, label)
                decisions.submit(self._queue, run, claim, reviewer, decided, now_ms())
            except ConsoleError:
                self.refused += 1
            else:
                return


def _edit(action, changed):
    """The pending action with another amount: of a transfer, or of a shell command that ends with it."""
    name, _, given = action.partition("(")
    arguments = json.loads(given.removesuffix(")"))
    if "command" in arguments:
        amount = changed["amount"]
        edited = arguments["command"].rsplit(" ", 1)[0] + f" {amount}" if isinstance(amount, int) else 4
        return f"{name}({json.dumps(arguments | {'command': edited})})"
    return f"{name}({json.dumps(arguments | changed)})"


def _sorted_json(value):
    return json.dumps(value, sort_keys=True)


def find_fault(way, case, played):
    """Return what breaks the contract, or "" if nothing does."""
    mark, _ = LIMITS.get((way, case.name), ("", ""))
    expected = [] if mark == "none" else case.executed
    if sorted(played.executed, key=_sorted_json) != sorted(expected, key=_sorted_json):
        return f"executed {played.executed}, not {expected} {played.error.strip()[-300:]}"
    if played.refused != case.refused:
        return f"{played.refused} decisions were refused, not {case.refused}"
    if case.event == "interrupt" and mark == "late":
        return ""
    if case.event == "interrupt":
        return "" if played.states == ("cancelled",) else f"the items are {played.states} {played.error[-300:]}"
    if played.error:
        return f"the agent failed: {played.error.splitlines()[-1]}"
    if case.event == "kill":
        # An agent whose way in gives each session its own task asks again, and nobody approves twice.
        says = ("has begun before", "This is not a rejection")
        return "" if any(text in one for text in says for one in played.messages) else f"read {played.messages}"
    # A program that asks in turn may ask about the second call while the first is still being decided.
    if len(case.calls) > 1 and played.together < 2 and mark != "turn":
        return f"{played.together} calls of one message were pending side by side"
    says = SAYS_INSTEAD.get((way, case.name), case.says)
    missing = [text for text in says if not any(text in one for one in played.messages)]
    return f"the model did not read {missing}, only {played.messages}" if missing else ""
