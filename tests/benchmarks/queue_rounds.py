"""The rounds of the queue's benchmark and its report."""

import gc
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from multiprocessing.pool import Pool
from pathlib import Path

from floor import LEASE_MS, Floor
from queue_cells import Cell, build, claim_us, compare_jobs, item, work

from storage.queue import Queue
from tests.benchmarks.measure import median_of, report, spend

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
PUT_ROWS, JOBS_ALONE = 5_000, 300
CHANCE = random.Random(11)


def run(quick: bool) -> None:
    """Measures, prints the table, ends with one line of JSON."""
    rounds, seconds = (11, 0.25) if quick else (21, 0.4)
    with tempfile.TemporaryDirectory() as folder, multiprocessing.get_context("spawn").Pool(4) as pool:
        began = time.time()
        ratios = _ratios(Path(folder), pool, seconds, quick)
        print(f"files built in {time.time() - began:.0f} s; {rounds} rounds of {len(ratios)} figures")
        figures = {name: median_of(values) for name, values in _rounds(ratios, rounds).items()}
    sys.exit(not report("queue", figures, {name: GOALS[name] for name in figures}))


def _ratios(folder: Path, pool: Pool, seconds: float, quick: bool) -> dict[str, Measure]:
    """What measures each figure once."""
    ratios: dict[str, Measure] = {}
    source = build(folder / "waiting.db", 30_000 if quick else 100_000)
    ours, floor = (Path(shutil.copy(source, folder / f"{way}.db")) for way in ("ours", "floor"))
    for figure, job in JOBS.items():
        rate = partial(_rate, pool, job, seconds)
        ratios[f"{figure}_1p"] = partial(_alone, job, floor, ours)
        ratios[f"{figure}_4p"] = partial(_there_and_back, partial(rate, "ours", ours), partial(rate, "floor", floor))
    ratios["batch_put"] = partial(_there_and_back, *_put_pair(Path(shutil.copy(source, folder / "put.db"))))
    thousand = partial(claim_us, build(folder / "thousand.db", 1_000))
    behind = partial(claim_us, build(folder / "behind.db", 1_000, done=100_000))
    ratios["claim_100k_done_in_front"] = partial(_quotient, thousand, behind)
    if not quick:
        million = partial(claim_us, build(folder / "million.db", 1_000_000))
        ratios["claim_p50_million_vs_thousand"] = partial(_quotient, million, thousand)
    return ratios


def _quotient(above: Measure, below: Measure) -> float:
    """One measurement over another, made one right after the other in a random order."""
    values, order = {}, [above, below]
    CHANCE.shuffle(order)
    for measure in order:
        values[measure] = measure()
    return values[above] / values[below]


def _there_and_back(above: Measure, below: Measure) -> float:
    """One measurement over another, each made twice, as in a b b a: what drifts meanwhile falls on both alike."""
    first, second = CHANCE.sample([above, below], 2)
    values = {first: first(), second: second() + second()}
    values[first] += first()
    return values[above] / values[below]


def _alone(job: str, floor: Path, ours: Path) -> float:
    """Return the floor's processor time for a job in units of ours, the median of pairs of jobs."""
    pairs = compare_jobs(job, floor, ours, JOBS_ALONE)
    for path in (floor, ours):
        _put_back(path)
    return pairs.computing().inverted().value


def _rate(pool: Pool, job: str, seconds: float, way: str, path: Path) -> float:
    """Jobs per second of four processes together."""
    share = Cell(way, job, path, seconds, start_at=time.time() + 0.05)
    rate = sum(pool.map(work, [share] * 4, chunksize=1))
    _put_back(path)
    return rate


def _put_back(path: Path) -> None:
    """Frees the claims that were not answered, so that no round begins with fewer items than the one before."""
    Queue(f"sqlite:///{path}").sweep(now_ms=10 * LEASE_MS)


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
    gc.collect()
    gc.freeze()
    seconds = spend(job).processor
    gc.unfreeze()
    return seconds


def _rounds(ratios: dict[str, Measure], rounds: int) -> dict[str, list[float]]:
    """Each figure's value in every round, in a random order; the first round only warms up."""
    order = list(ratios)
    found: dict[str, list[float]] = {name: [] for name in ratios}
    for turn in range(rounds + 1):
        CHANCE.shuffle(order)
        for name in order:
            value = ratios[name]()
            if turn:
                found[name].append(value)
    return found
