"""Everything around the gate killed at random points: what ran without approval, ran twice, was lost, or never ended.

`python tests/benchmarks/crash_gate.py [--quick]`; the last line is the result as JSON. Four agents (two of them over
HTTP with a token, of which one fetches each go-ahead several times), a reviewer, the worker and the console share one
SQLite file; one of them is killed and started again at each point. The figures are counts over all actions. A reckless
agent, who runs its actions whatever the gate answers, is there to show that the count finds what it looks for.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from crash_gate_books import ROOT, books
from crash_gate_cast import AT_ONCE, CONSOLE, FORK, RUN, Cast, playing
from sqlmodel import col, func, select

from console.auth import agents
from console.database import now_ms, reading, writing
from console.gate import Gate
from storage import tables
from storage.engine import close
from storage.tables import SlotStatus

POINTS, QUICK_POINTS = 200, 20
BATCH, CONTROL = 100, 24
PAUSE_S = (0.02, 0.6)
END_S = 180.0
NONE = ("<=", 0)
GOALS: dict[str, tuple[str, float]] = {
    "without_approval": NONE,
    "twice": NONE,
    "not_ended": NONE,
    "left_open": NONE,
    "other_ends": NONE,
    "wrong_answers": NONE,
    "lost_results": NONE,
    "lost_before_begin": NONE,
    "units_amiss": NONE,
    "fallen_by_themselves": NONE,
    "database_problems": NONE,
    "unknown_per_kill": ("<=", AT_ONCE),
    "control_without_approval": (">=", 1),
    "control_twice": (">=", 1),
}


def main() -> None:
    """Prints the counts as a table and the result as one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20 kills")
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    points = QUICK_POINTS if wanted.quick else POINTS
    with tempfile.TemporaryDirectory() as folder:
        figures = crash(Path(folder), points, wanted.seed)
    with tempfile.TemporaryDirectory() as folder:
        figures |= reckless(Path(folder))
    for name, figure in figures.items():
        print(f"{name:26} {figure}")
    goals = GOALS | {"kills": (">=", points)}
    met = all(reached(figures[name], *goal) for name, goal in goals.items())
    print(json.dumps({"benchmark": "crash_gate", "figures": figures, "goals": goals, "met": met}))


def reached(figure: float, sign: str, bound: float) -> bool:
    """Whether the figure is on the right side of its goal."""
    return figure >= bound if sign == ">=" else figure <= bound


def crash(folder: Path, points: int, seed: int) -> dict[str, float]:
    """Kills one of the processes so many times and counts what came of it all."""
    url = opened(folder, "random")
    with playing(Cast(url, folder, BATCH, token_for(url))) as cast:
        killed = kill(cast, points, random.Random(seed))
        cast.finish(END_S)
        settle(url)
    asked = set().union(*(agent.asked() for agent in cast.agents.values()))
    found = books(url, [log for agent in cast.agents.values() for log in agent.logs()], asked)
    fallen = {name: player for name, player in cast.players.items() if player.fallen}
    for name, player in fallen.items():
        print(f"{name} ended by itself; the end of what it said:\n{player.log.read_text()[-2_000:]}", file=sys.stderr)
    return {
        "kills": killed.total(),
        **{f"kills_of_{name}": killed[name] for name in cast.players},
        **found,
        "unknown_per_kill": round(found["unknown"] / killed.total(), 3),
        "fallen_by_themselves": sum(player.fallen for player in fallen.values()),
        "database_problems": problems(cast),
    }


def kill(cast: Cast, points: int, chance: random.Random) -> Counter[str]:
    """Kills and restarts one at a time that is at work, so many in all; returns how often each was killed."""
    killed: Counter[str] = Counter()
    deck: list[str] = []
    while killed.total() < points:
        deck = deck or chance.sample(list(cast.players), len(cast.players))
        ready = next((name for name in deck if cast.players[name].is_at_work()), None)
        time.sleep(chance.uniform(*PAUSE_S))
        cast.tend()
        cast.go_on()
        if ready is not None:
            deck.remove(ready)
            cast.players[ready].kill()
            cast.players[ready].start()
            killed[ready] += 1
    return killed


def settle(url: str) -> None:
    """Waits until the worker has freed what a killed reviewer held."""
    claimed = select(func.count()).where(col(tables.Slot.status) == SlotStatus.CLAIMED)
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with reading(url) as session:
            held = session.exec(claimed).one()
        if not held:
            break
        time.sleep(0.1)
    close(url)


def problems(cast: Cast) -> int:
    """How many problems `inferact db check` finds."""
    command, environment = [*CONSOLE, "db", "check", "--json"], {**os.environ, **cast.environment()}
    said = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=False)
    return len(json.loads(said.stdout)["problems"])


def reckless(folder: Path) -> dict[str, float]:
    """What is counted for an agent that asks, runs its actions whatever it is told, and does it all again."""
    url = opened(folder, "full-validation")
    cast = Cast(url, folder, CONTROL, "")
    agent, reviewer = cast.agents["left"], cast.players["reviewer"]
    reviewer.start()
    try:
        for _ in range(2):
            process = FORK.Process(target=agent.play, args=("reckless",))
            process.start()
            process.join()
    finally:
        reviewer.kill()
    found = books(url, agent.logs(), agent.asked())
    close(url)
    return {f"control_{name}": found[name] for name in ("without_approval", "twice")}


def token_for(url: str) -> str:
    """The token of the agents that ask over HTTP."""
    with writing(url) as session:
        token = agents.add(session, "over HTTP", now_ms())
    close(url)
    return token


def opened(folder: Path, detector: str) -> str:
    """A database in the folder with the run that the agents ask in; `random` flags half of their actions."""
    url = f"sqlite:///{folder / 'gate.db'}"
    Gate(RUN, detector, ["pay*"], undo_s=0, budget=1_000_000, url=url).open()
    close(url)
    return url


if __name__ == "__main__":
    main()
