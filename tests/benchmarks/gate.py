"""The gate: what an unflagged check costs, how soon a decision arrives, and whether each reaches its own action, once.

`python tests/benchmarks/gate.py [--quick]`; the last line is the result as JSON. Agents and reviewers are processes of
their own on one SQLite file. Times are in units of what is promised: 5 ms beyond the detector's own time for a check
that is not flagged, a timer of one poll interval for the way from a decision to its agent, and over HTTP a request with
the agent's token to an address where there is nothing.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean, median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sqlmodel import select

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.detection.detectors import DETECTORS, Detector, Verdict
from console.gate import Gate
from console.gate.policy import policy_store
from console.review import decisions
from console.settings import settings
from console.trajectory.checkpoints import Checkpoint
from storage import tables
from storage.queue import Claim
from tests.benchmarks.measure import LOOP_S, Figure, median_of, queued_s, report, run_loop, spend
from tests.serving import serving

GOALS = {
    "unflagged_p95_vs_5_ms": ["<=", 1.0],
    "http_allowed_vs_no_op": ["<=", 3.0],
    "http_unflagged_vs_no_op": ["<=", 3.0],
    "decision_to_agent_vs_poll_interval": ["<=", 1.5],
    "wrongly_delivered": ["<=", 0],
    "executed_twice": ["<=", 0],
    "unanswered": ["<=", 0],
}
ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "console" / "gate" / "programs"
STEPS = [("look[shelf]", "a shelf with many things on it")] * 8
POLL_S = 0.2
PHASES = 7
LIMIT_S = 0.005


def main() -> None:
    """Print the figures and whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer actions, under a minute")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as folder:
        figures = {
            "unflagged_p95_vs_5_ms": unflagged(Path(folder), blocks=9 if quick else 31),
            **over_http(Path(folder) / "served", rounds=15 if quick else 41),
            "decision_to_agent_vs_poll_interval": latency(Path(folder), rounds=3 if quick else 7),
            **deliveries(Path(folder), actions=200 if quick else 1_000),
        }
    sys.exit(not report("gate", figures, GOALS))


def unflagged(folder: Path, blocks: int) -> Figure:
    """Return the p95 of an unflagged check without its detector's own time, in units of the calibrated loop's p95.

    Both are processor time. A block is 100 checks, each with the loop after it, so that what slows a core down for a
    moment falls on both alike.
    """
    judging: list[float] = []

    def judge(checkpoint: Checkpoint, seed: int) -> Verdict:
        start = time.process_time()
        verdict = DETECTORS["rules"].judge(checkpoint, seed)
        judging.append(time.process_time() - start)
        return verdict

    DETECTORS["timed"] = Detector("timed", "rules, timed", judge, threshold=1.0)
    gate = Gate("quiet", "timed", ["pay*"], url=f"sqlite:///{folder / 'quiet.db'}")
    gate.check("Pay.", STEPS, "pay[0]", task_id="warm")
    gc.collect()
    gc.freeze()
    ratios, elapsed = [], []
    for number in range(blocks):
        ours, loops = [], []
        for place in range(100):
            check = partial(gate.check, f"Pay bill {place}.", STEPS, f"pay[{place}]", task_id=f"{number}-{place}")
            spent = spend(check)
            ours.append(spent.processor - judging[-1])
            elapsed.append(spent.wall)
            loops.append(spend(run_loop).processor)
        ratios.append(sorted(ours)[94] / (LIMIT_S / LOOP_S * sorted(loops)[94]))
    print(f"unflagged check: p95 {sorted(elapsed)[int(0.95 * len(elapsed))] * 1e3:.2f} ms by the clock on the wall")
    return median_of(ratios)


def over_http(data: Path, rounds: int) -> dict[str, Figure]:
    """Return a check that a rule allows and one that is not flagged, in units of a request that does nothing.

    Processor time of client and server together, twelve requests of each kind in turns.
    """
    os.environ["INFERACT_DATA_DIR"] = str(data)
    settings.cache_clear()
    steps = [{"action": action, "observation": seen} for action, seen in STEPS]
    run: dict[str, object] = {"run": "open", "detector": "random", "threshold": 1.0, "critical": ["pay*"]}
    numbers = itertools.count()
    with serving(data) as server:
        with writing() as session:
            policy_store.save(session, None, "default: judge\nrules: [{tool: look, then: allow}]", "bench", now_ms())
        # The agent's detector takes nothing; the console's own `rules`, which judge beside it, are part of it.
        Gate("open", "random", ["pay*"], threshold=1.0).open()

        def ask(action: str) -> None:
            sent = {"task": "Pay.", "task_id": str(next(numbers)), "steps": steps, "action": action, **run}
            answer = server.client.post("checks", json=sent).json()
            assert answer["decision"]["approved"], answer

        def repeat(request: Callable[[], object]) -> None:
            for _ in range(12):
                request()

        kinds = {
            "no_op": partial(repeat, partial(server.client.get, "nothing")),
            "allowed": partial(repeat, partial(ask, "look[1]")),
            "unflagged": partial(repeat, partial(ask, "pay[1]")),
        }
        found = [
            {name: spend(kind, server=server.process.pid) for name, kind in kinds.items()} for _ in range(rounds + 1)
        ][1:]
    for name in kinds:
        wall, processor = (median(getattr(one[name], clock) for one in found) for clock in ("wall", "processor"))
        print(f"over HTTP, {name}: {wall / 12 * 1e3:.2f} ms elapsed, {processor / 12 * 1e3:.2f} ms computing")
    return {
        f"http_{name}_vs_no_op": median_of([one[name].processor / one["no_op"].processor for one in found])
        for name in ("allowed", "unflagged")
    }


def latency(folder: Path, rounds: int) -> Figure:
    """Return the time from a stored decision to the agent's answer, against a timer of one poll interval.

    A round is the mean of seven decisions spread evenly over the interval: how long a decision waits for the next poll
    depends on nothing else. The time for which the agent's thread waited for a processor does not count.
    """
    url = f"sqlite:///{folder / 'latency.db'}"
    gate = Gate("slow", "full-validation", ["pay*"], undo_s=0, poll_s=POLL_S, url=url)
    gate.open()
    ratios = []
    for number in range(PHASES * rounds):
        decided: list[float] = []
        pause_s = POLL_S * (number % PHASES) / PHASES
        person = threading.Thread(target=approve, args=(url, pause_s, decided))
        person.start()
        gate.check("Pay the bill.", STEPS, f"pay[{number}]", task_id=str(number))
        arrived = undisturbed_clock()
        person.join()
        ratios.append((arrived - decided[0]) / slept(POLL_S))
    return median_of([fmean(ratios[start : start + PHASES]) for start in range(0, len(ratios), PHASES)])


def approve(url: str, pause_s: float, decided: list[float]) -> None:
    """Approves the next item after a pause and notes when the decision was stored."""
    while True:
        with reading(url) as session:
            run = runs.get(session, "slow")
            found = decisions.claim_next_item(review_queue(url), session, run, "ann", now_ms())
        if isinstance(found, Claim):
            break
        time.sleep(0.01)
    time.sleep(pause_s)
    decisions.submit(review_queue(url), run, found, "ann", decisions.ReviewDecision("approve"), now_ms())
    decided.append(undisturbed_clock())


def undisturbed_clock() -> float:
    """Return the time in seconds, stopped while the main thread waits for a processor."""
    return time.perf_counter() - queued_s(threading.main_thread().native_id)


def deliveries(folder: Path, actions: int) -> dict[str, int]:
    """Two agents with half the actions each and two reviewers: what went to the wrong action, ran twice, was lost."""
    url, names = f"sqlite:///{folder / 'many.db'}", ("left", "right")
    Gate("bot", "full-validation", ["pay*"], undo_s=0, url=url).open()
    people = [started("reviewer", url, name) for name in ("ann", "bob")]
    agents = [
        started("agent", url, name, actions // 2, 50, folder / f"{name}.jsonl", folder / f"{name}.done")
        for name in names
    ]
    for agent in agents:
        agent.wait()
    for person in people:
        person.kill()
        person.wait()
    lines = [json.loads(line) for name in names for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    told = [line for line in lines if "reason" in line]
    ran = [line["ran"] for line in lines if "ran" in line]
    with reading(url) as session:
        intended = list(session.exec(select(tables.Intent.action)))
    return {
        "actions": actions,
        "wrongly_delivered": sum(not own(line) for line in told) + len(set(ran) - set(intended)),
        "executed_twice": len(ran) - len(set(ran)),
        "unanswered": actions - len({line["asked"] for line in told}),
    }


def own(told: dict[str, object]) -> bool:
    """Whether the agent was told the decision about its own action, by the rule that the reviewers follow."""
    answer = answer_to(told["asked"])
    allowed = {"approve": told["asked"], "edit": answer.edited_action, "reject": None}[answer.decision]
    return told["approved"] == (allowed is not None) and told["action"] == (allowed or told["asked"])


def started(program: str, url: str, *arguments: object) -> subprocess.Popen[bytes]:
    """The program as a process of its own."""
    command = [sys.executable, str(PROGRAMS / f"{program}.py"), url, "bot", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})


def slept(seconds: float) -> float:
    """How long a sleep of so many seconds really takes here."""
    start = time.perf_counter()
    time.sleep(seconds)
    return time.perf_counter() - start


answer_to = runpy.run_path(str(PROGRAMS / "reviewer.py"))["answer_to"]

if __name__ == "__main__":
    main()
