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

from floor import Floor
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
JOBS = {"full_claim": "claim", "cycle": "cycle"}
PUT_ROWS = 5_000


def run(quick: bool) -> None:
    """Measures, prints the table, ends with one line of JSON."""
    rounds, seconds = (11, 0.25) if quick else (15, 0.5)
    with tempfile.TemporaryDirectory() as folder, multiprocessing.get_context("spawn").Pool(4) as pool:
        began = time.time()
        cells, ratios = _cells(Path(folder), pool, seconds, quick)
        print(f"files built in {time.time() - began:.0f} s; {rounds} rounds of {len(cells)} cells")
        figures = _figures(cells, ratios, rounds)
    _report(figures)


def _cells(
    folder: Path, pool: Pool, seconds: float, quick: bool
) -> tuple[dict[str, Callable[[], float]], dict[str, tuple[str, str]]]:
    """Every cell by name, each measuring a rate or a time; and which two make which ratio."""
    cells: dict[str, Callable[[], float]] = {}
    ratios: dict[str, tuple[str, str]] = {}
    source = build(folder / "waiting.db", 30_000 if quick else 100_000)
    for way in ("floor", "ours"):
        path = Path(shutil.copy(source, folder / f"{way}.db"))
        for figure, job in JOBS.items():
            for processes in (1, 4):
                cells[f"{figure}_{processes}p {way}"] = partial(_rate, pool, way, job, path, seconds, processes)
                ratios[f"{figure}_{processes}p"] = (f"{figure}_{processes}p ours", f"{figure}_{processes}p floor")
    cells |= _put_cells(Path(shutil.copy(source, folder / "put.db")))
    ratios["batch_put"] = ("batch_put floor", "batch_put ours")
    depths = {"none_done": (1_000, 0), "100k_done": (1_000, 100_000)} | ({} if quick else {"million": (1_000_000, 0)})
    for name, (waiting, done) in depths.items():
        cells[name] = partial(claim_us, build(folder / f"{name}.db", waiting, done))
    ratios["claim_100k_done_in_front"] = ("none_done", "100k_done")
    if not quick:
        ratios["claim_p50_million_vs_thousand"] = ("million", "none_done")
    return cells, ratios


def _rate(pool: Pool, way: str, job: str, path: Path, seconds: float, processes: int) -> float:
    share = Cell(way, job, path, seconds, start_at=time.time() + 0.05)
    return sum(pool.map(work, [share] * processes, chunksize=1))


def _put_cells(path: Path) -> dict[str, Callable[[], float]]:
    """Seconds to put a batch of new items; rows are made before the clock starts."""
    floor, queue, places = Floor(path), Queue(f"sqlite:///{path}"), count(10_000_000)

    def fresh() -> list:
        return [item(next(places), 0.5) for _ in range(PUT_ROWS)]

    def put_floor() -> float:
        rows = [tuple(vars(row).values()) for row in fresh()]
        return _seconds(partial(floor.put, rows))

    def put_ours() -> float:
        return _seconds(partial(queue.put, fresh()))

    return {"batch_put floor": put_floor, "batch_put ours": put_ours}


def _seconds(job: Callable[[], object]) -> float:
    began = time.perf_counter()
    job()
    return time.perf_counter() - began


def _figures(
    cells: dict[str, Callable[[], float]], ratios: dict[str, tuple[str, str]], rounds: int
) -> dict[str, list[float]]:
    """For each ratio its value in every round; the first round only warms up."""
    order, shuffled = list(cells), random.Random(11)
    found: dict[str, list[float]] = {name: [] for name in ratios}
    for turn in range(rounds + 1):
        shuffled.shuffle(order)
        measured = {name: cells[name]() for name in order}
        for name, (above, below) in ratios.items():
            if turn:
                found[name].append(measured[above] / measured[below])
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
