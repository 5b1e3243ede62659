"""The contract of every way in: what an agent executes and what its model reads, in each case that can happen.

`python -m tests.doors.contract` prints the table. A framework is looked for in this environment, then in
`$INFERACT_FRAMEWORKS/*/bin/python`; a way in whose framework is missing is named as not tried.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.gate import Gate
from console.gate.policy import policy_store
from console.review import decisions
from console.review.decisions import ReviewDecision
from tests.doors.ways import WAYS
from tests.serving import free_port, new_agent, serving

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "console" / "client"
ONE = [{"name": "transfer", "arguments": {"to": "ada", "amount": 5}}]
TWO = [*ONE, {"name": "transfer", "arguments": {"to": "bob", "amount": 7}}]
POLICY = """
undo: 0
rules:
  - {tool: transfer, when: 'args.amount > 1000', then: deny, because: Too much.}
  - {tool: transfer, when: 'args.amount == 1', then: allow}
  - {tool: transfer, when: 'args.amount == 2', then: ask, reviews: 2}
default: ask
"""
NO_EDIT = {"openai_agents_approval"}
"""Ways in whose framework cannot replace the arguments of an approved call."""

OWN_NOTICE = "a human reviewer replaced this tool call before it ran"
"""What LangChain's own middleware says after an edit."""


@dataclass(frozen=True)
class Case:
    """One case: the calls, what the reviewers do by recipient, and what must come of it.

    `says` are texts of which each must be in some message. `reviews` are (reviewer, decision, feedback, edited action).
    """

    name: str
    executed: list
    says: tuple = ()
    calls: list = field(default_factory=lambda: ONE)
    reviews: dict = field(default_factory=dict)
    deadline_s: float = 90.0
    away: bool = False


def to(name, amount):
    """An executed transfer."""
    return {"to": name, "amount": amount}


def call(amount):
    """One call with that amount."""
    return [{"name": "transfer", "arguments": {"to": "ada", "amount": amount}}]


EDITED = 'transfer({"amount":4,"to":"ada"})'
CASES = [
    Case("approve", [to("ada", 5)], ("Sent 5 to ada.",), reviews={"ada": [("rita", "approve", "", None)]}),
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
        reviews={"ada": [("rita", "edit", "", EDITED)]},
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
    Case("console away", [], ("could not be reached",), deadline_s=2, away=True),
    Case(
        "two calls decided apart",
        [to("bob", 7)],
        ("A person rejected this call", "Sent 7 to bob."),
        calls=TWO,
        reviews={"ada": [("rita", "reject", "No.", None)], "bob": [("rita", "approve", "", None)]},
    ),
    Case(
        "second reviewer needed",
        [to("ada", 2)],
        ("Sent 2 to ada.",),
        calls=call(2),
        reviews={"ada": [("rita", "approve", "", None), ("omar", "approve", "", None)]},
    ),
]


@cache
def find_python(module):
    """The interpreter of an environment that has the module, or None."""
    folders = os.environ.get("INFERACT_FRAMEWORKS", "")
    found = [Path(sys.executable), *(sorted(Path(folders).glob("*/bin/python")) if folders else ())]
    code = f"import httpx, {module}"
    for python in found:
        if subprocess.run([str(python), "-c", code], capture_output=True, timeout=120).returncode == 0:
            return python
    return None


class Door:
    """A served console with the contract's policy, and reviewers who do what a case says."""

    def __init__(self, data):
        self.data, self.database = data, f"sqlite:///{data / 'console.db'}"
        self._numbers = iter(range(1_000_000))

    def play(self, server, way, case):
        """Return (executed, messages, errors) of one way in, in one case."""
        _, module = WAYS[way]
        number = next(self._numbers)
        run = f"{way} {case.name} {number}"
        Gate(run, url=self.database, undo_s=0).open()
        with writing(self.database) as session:
            policy_store.save(session, runs.get(session, run), POLICY, "ada", now_ms())
        url = f"http://127.0.0.1:{free_port()}" if case.away else server.url
        token = new_agent(self.data, f"agent {way} {number}")
        asked = {"url": url, "token": token, "run": run, "deadline_s": case.deadline_s, "calls": case.calls}
        stop = threading.Event()
        reviewing = threading.Thread(target=self._review, args=(run, case, stop))
        reviewing.start()
        try:
            done = subprocess.run(
                [str(find_python(module)), str(Path(__file__).with_name("ways.py")), way],
                input=json.dumps(asked | {"task": f"Send the money ({run})."}),
                env={**os.environ, "PYTHONPATH": str(CLIENT), "PYTHONWARNINGS": "ignore"},
                capture_output=True,
                text=True,
                timeout=180,
            )
        finally:
            stop.set()
            reviewing.join()
        lines = done.stdout.strip().splitlines()
        if done.returncode or not lines:
            return None, [], done.stderr[-2_000:]
        answer = json.loads(lines[-1])
        return answer["executed"], answer["messages"], ""

    def _review(self, run_name, case, stop):
        queue, left = review_queue(self.database), {name: list(acts) for name, acts in case.reviews.items()}
        reviewers = sorted({act[0] for acts in left.values() for act in acts}, reverse=True)
        while not stop.is_set() and any(left.values()):
            for reviewer in reviewers:
                self._act(queue, run_name, reviewer, left)
            time.sleep(0.1)

    def _act(self, queue, run_name, reviewer, left):
        """Claim an item as this reviewer and decide it as the case says."""
        try:
            with reading(self.database) as session:
                run = runs.get(session, run_name)
                session.expunge(run)
                claim = decisions.claim_next_item(queue, session, run, reviewer, now_ms())
                asked = session.connection().exec_driver_sql(
                    "SELECT body FROM trajectory_body JOIN item USING (trajectory_id) WHERE item.id = ?",
                    (claim.item_id,),
                )
                action = json.loads(asked.scalar_one())["critical_action"]
        except Exception:
            # No item is pending yet, or another reviewer has claimed it.
            return
        name = next(name for name in left if f'"{name}"' in action)
        act = next(act for act in left[name] if act[0] == reviewer)
        left[name].remove(act)
        if act[3]:
            # The name as it is pending, which may have the server's in front.
            act = (*act[:3], action.partition("(")[0] + act[3].removeprefix("transfer"))
        label = "misaligned" if act[1] == "respond" else None
        decisions.submit(queue, run, claim, reviewer, ReviewDecision(*act[1:], label), now_ms())


def _sorted_json(value):
    return json.dumps(value, sort_keys=True)


def find_fault(way, case, executed, messages, error):
    """Return what breaks the contract, or "" if nothing does."""
    if executed is None:
        return f"the agent failed: {error.strip().splitlines()[-1] if error.strip() else 'no answer'}"
    if case.name == "edit" and way in NO_EDIT:
        return "" if executed == [] and any("A reviewer changed this call" in one for one in messages) else "edit ran"
    if sorted(executed, key=_sorted_json) != sorted(case.executed, key=_sorted_json):
        return f"executed {executed}, not {case.executed}"
    says = (OWN_NOTICE,) if case.name == "edit" and way.startswith("langgraph") else case.says
    missing = [text for text in says if not any(text in one for one in messages)]
    return f"the model did not read {missing}, only {messages}" if missing else ""


def main():
    """Print the table: each way in, in each case."""
    faults, held = [], 0
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        os.environ["INFERACT_DATA_DIR"] = str(data)
        door = Door(data)
        with serving(data) as server:
            print(f"{'way in':<24}" + "".join(f"{number:>4}" for number in range(1, len(CASES) + 1)))
            for way, (_, module) in WAYS.items():
                if find_python(module) is None:
                    print(f"{way:<24} not tried: {module} is not installed")
                    continue
                cells = []
                for case in CASES:
                    fault = find_fault(way, case, *door.play(server, way, case))
                    held += not fault
                    faults += [f"{way}, {case.name}: {fault}"] if fault else []
                    cells.append("no" if fault else "edit" if case.name == "edit" and way in NO_EDIT else "ok")
                print(f"{way:<24}" + "".join(f"{cell:>4}" for cell in cells), flush=True)
    print("\n".join(f"{number:>3} {case.name}" for number, case in enumerate(CASES, 1)))
    print("edit: the framework cannot replace the arguments, so the call is rejected with the edit's text.")
    print(f"{held} cells hold, {len(faults)} do not, on {datetime.now(UTC):%Y-%m-%d}.")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
