"""The rounds of the queue's benchmark and its report."""

import json
import multiprocessing
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from multiprocessing.pool import Pool
from pathlib import Path
from statistics import median

from floor import LEASE_MS, Floor
from queue_cells import Cell, build, claim_us, item, work

from storage.queue import Queue

GOALS = {
    "full_claim_1p": (">=", 0.75),
    "full_claim_4p": (">=", 0.75),
    "cycle_1p": (">=", 0.70),
    "cycle_4p": (">=", 0.70),
    "batch_put": (">=", 0.75),
    "claim_100k_done_in_front": (">=", 0.85),
    "claim_p50_million_vs_thousand": ("<=", 1.25),
}
Measure = Callable[[], float]
JOBS = {"full_claim": "claim", "cycle": "cycle"}
PUT_ROWS = 5_000


def run(quick: bool) -> None:
    """Measures, prints the table, ends with one line of JSON."""
    rounds, seconds = (13, 0.2) if quick else (21, 0.4)
    with tempfile.TemporaryDirectory() as folder, multiprocessing.get_context("spawn").Pool(4) as pool:
        began = time.time()
        pairs = _pairs(Path(folder), pool, seconds, quick)
        print(f"files built in {time.time() - began:.0f} s; {rounds} rounds of {len(pairs)} pairs")
        found = _rounds(pairs, rounds)
    _report(found)


def _pairs(folder: Path, pool: Pool, seconds: float, quick: bool) -> dict[str, tuple[Measure, Measure]]:
    """The two measurements whose quotient is each figure."""
    pairs: dict[str, tuple[Measure, Measure]] = {}
    source = build(folder / "waiting.db", 30_000 if quick else 100_000)
    ours, floor = (Path(shutil.copy(source, folder / f"{way}.db")) for way in ("ours", "floor"))
    for figure, job in JOBS.items():
        for processes in (1, 4):
            rate = partial(_rate, pool, job, seconds, processes)
            pairs[f"{figure}_{processes}p"] = partial(rate, "ours", ours), partial(rate, "floor", floor)
    pairs["batch_put"] = _put_pair(Path(shutil.copy(source, folder / "put.db")))
    thousand = build(folder / "thousand.db", 1_000)
    behind = build(folder / "behind.db", 1_000, done=100_000)
    pairs["claim_100k_done_in_front"] = partial(claim_us, thousand), partial(claim_us, behind)
    if not quick:
        million = build(folder / "million.db", 1_000_000)
        pairs["claim_p50_million_vs_thousand"] = partial(claim_us, million), partial(claim_us, thousand)
    return pairs


def _rate(pool: Pool, job: str, seconds: float, processes: int, way: str, path: Path) -> float:
    share = Cell(way, job, path, seconds, start_at=time.time() + 0.05)
    rate = sum(pool.map(work, [share] * processes, chunksize=1))
    # Claims that were not answered go back, so that no round begins with fewer items than the one before.
    Queue(f"sqlite:///{path}").sweep(now_ms=10 * LEASE_MS)
    return rate


def _put_pair(path: Path) -> tuple[Measure, Measure]:
    """Seconds to put a batch of new items, the floor's and ours; rows are made before the clock starts."""
    floor, queue, places = Floor(path), Queue(f"sqlite:///{path}"), count(10_000_000)

    def fresh() -> list:
        return [item(next(places), 0.5) for _ in range(PUT_ROWS)]

    def put_floor() -> float:
        rows = [tuple(vars(row).values()) for row in fresh()]
        return _seconds(partial(floor.put, rows))

    def put_ours() -> float:
        return _seconds(partial(queue.put, fresh()))

    return put_floor, put_ours


def _seconds(job: Callable[[], object]) -> float:
    began = time.perf_counter()
    job()
    return time.perf_counter() - began


def _rounds(pairs: dict[str, tuple[Measure, Measure]], rounds: int) -> dict[str, list[float]]:
    """Each figure's value in every round, the two sides one right after the other; the first round only warms up."""
    order, chance = list(pairs), random.Random(11)
    found: dict[str, list[float]] = {name: [] for name in pairs}
    for turn in range(rounds + 1):
        chance.shuffle(order)
        for name in order:
            sides = [0, 1]
            chance.shuffle(sides)
            values = {side: pairs[name][side]() for side in sides}
            if turn:
                found[name].append(values[0] / values[1])
    return found


def _report(found: dict[str, list[float]]) -> None:
    figures = {name: round(median(values), 3) for name, values in found.items()}
    goals = {name: GOALS[name] for name in figures}
    met = {
        name: figures[name] >= goal if sign == ">=" else figures[name] <= goal for name, (sign, goal) in goals.items()
    }
    print(f"{'ratio to the floor, or between depths':<40}{'median':>8}{'lowest':>8}{'highest':>9}   goal")
    for name, values in found.items():
        sign, goal = goals[name]
        verdict = "met" if met[name] else "MISSED"
        print(f"{name:<40}{figures[name]:>8.2f}{min(values):>8.2f}{max(values):>9.2f}   {sign} {goal:.2f} {verdict}")
    print(json.dumps({"benchmark": "queue", "figures": figures, "goals": goals, "met": all(met.values())}))
