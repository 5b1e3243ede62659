"""The work of the queue's benchmark: files full of items, and what one process does to one of them for a while."""

import os
import random
import time
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import NamedTuple

from floor import LEASE_MS, RUN, TRIAL, Floor
from sqlalchemy import insert, text

from storage import tables
from storage.engine import close, writing
from storage.migrations import migrate
from storage.queue import NewItem, Queue
from tests.benchmarks.measure import Comparison, compare, queued_s, spend

TRAJECTORIES, BODY = 2_000, "x" * 8_000
ANSWER = {
    "decision": "reject",
    "label": "misaligned",
    "feedback_type": "nl",
    "feedback_text": "ask for the size",
    "edited_action": None,
    "action_digest": "digest",
    "annotator_kind": "human",
}


class Cell(NamedTuple):
    """One process's share of a measurement: `way` is floor or ours, `job` is claim or cycle."""

    way: str
    job: str
    path: Path
    seconds: float
    start_at: float


def build(path: Path, waiting: int, done: int = 0) -> Path:
    """A closed file with that many waiting items, ranked at random, and that many decided ones before them all."""
    url = f"sqlite:///{path}"
    migrate(url)
    fill(url, waiting, done)
    with writing(url) as session:
        session.connection().execute(text("UPDATE item SET open_slots = 0, status = 'decided' WHERE priority > 1"))
    close(url)
    return path


def fill(url: str, waiting: int, done: int = 0) -> None:
    """Put the run, its trajectories and so many items into a database; the done ones rank above 1."""
    with writing(url) as session:
        _trajectories(session)
    queue, ranks = Queue(url), random.Random(7)
    queue.open_budget(run_id=RUN, trial=TRIAL, cap=1_000_000_000)
    for start in range(0, waiting + done, 100_000):
        queue.put([item(n, ranks.random() + (n < done)) for n in range(start, min(start + 100_000, waiting + done))])


def item(place: int, priority: float) -> NewItem:
    """The n-th item of a file."""
    step, trajectory = divmod(place, TRAJECTORIES)
    return NewItem(RUN, TRIAL, trajectory + 1, step, "action", priority, 1, None, place)


def work(cell: Cell) -> float:
    """Jobs per second of one process, once all have waited for the start; time queued for a processor is no time."""
    job = _jobs(cell.way, cell.path)[cell.job]
    time.sleep(max(0.0, cell.start_at - time.time()))
    done, queued, began = 0, queued_s(), time.perf_counter()
    while (spent := time.perf_counter() - began) < cell.seconds:
        job(str(os.getpid()))
        done += 1
    return done / (spent - queued_s() + queued)


def compare_jobs(job: str, floor: Path, ours: Path, jobs: int) -> Comparison:
    """Run one job of the floor's and one of ours in turns, in one process."""
    run = {side: _jobs(side, path)[job] for side, path in (("floor", floor), ("ours", ours))}
    return compare(lambda: run["ours"]("alone"), lambda: run["floor"]("alone"), jobs, warm_up=20, collect=False)


def claim_us(path: Path, claims: int = 200) -> float:
    """Return the processor time of the median claim in microseconds; all of them are put back afterwards."""
    queue, spent = Queue(f"sqlite:///{path}"), []
    for place in range(claims):
        claim = partial(queue.claim, run_id=RUN, trial=TRIAL, reviewer=f"r{place}", now_ms=place, lease_ms=LEASE_MS)
        spent.append(spend(claim).processor * 1e6)
    queue.sweep(now_ms=LEASE_MS + claims)
    return median(spent)


@lru_cache(maxsize=64)
def _jobs(way: str, path: Path) -> dict[str, Callable[[str], None]]:
    return _floor_jobs(Floor(path)) if way == "floor" else _our_jobs(Queue(f"sqlite:///{path}"))


def _floor_jobs(floor: Floor) -> dict[str, Callable[[str], None]]:
    numbers = count()

    def claim(process: str) -> None:
        place = next(numbers)
        floor.claim(f"{process} {place}", place)

    def cycle(process: str) -> None:
        place = next(numbers)
        item_id, token = floor.claim(process, place)
        floor.decide(process, item_id, token, f"{process} {place}", place)

    return {"claim": claim, "cycle": cycle}


def _our_jobs(queue: Queue) -> dict[str, Callable[[str], None]]:
    numbers, at = count(), {"run_id": RUN, "trial": TRIAL, "lease_ms": LEASE_MS}

    def claim(process: str) -> None:
        place = next(numbers)
        queue.claim(**at, reviewer=f"{process} {place}", now_ms=place)

    def cycle(process: str) -> None:
        place = next(numbers)
        mine = queue.claim(**at, reviewer=process, now_ms=place)
        key = {"item_id": mine.item_id, "token": mine.token, "submit_key": f"{process} {place}"}
        queue.decide(**key, reviewer=process, now_ms=place, undo_ms=5_000, **ANSWER)

    return {"claim": claim, "cycle": cycle}


def _trajectories(session) -> None:
    session.add(tables.Run(id=RUN, name="drill", kind="live", environment="webshop", created_ms=1))
    session.flush()
    session.add(
        tables.Task(id=1, run_id=RUN, task_key="t", environment="webshop", instruction="i", instruction_digest="d")
    )
    session.flush()
    common = {"run_id": RUN, "task_id": 1, "trial": TRIAL, "environment": "webshop", "n_steps": 9, "n_critical": 1}
    rest = {"outcome": "paused", "recorded_outcome": "failed", "carried_over": False, "source": "{}", "created_ms": 1}
    ids = range(1, TRAJECTORIES + 1)
    session.execute(insert(tables.Trajectory), [{"id": i, "digest": str(i), **common, **rest} for i in ids])
    session.execute(insert(tables.TrajectoryBody), [{"trajectory_id": i, "body": BODY} for i in ids])
