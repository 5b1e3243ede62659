"""Busy reviewers killed at random moments, on both databases: no claim overlaps, nothing is lost, doubled or unpaid.

`python tests/benchmarks/crash.py [--quick] [--database sqlite]`; the last line is the result as JSON. Four processes
never rest (`tests/storage/histories.py`), each of 500 kills ends one of them, and a monitor adds up the budget all the
time. Two queues that are built wrong have to be caught: one that claims first and pays in a second transaction, and one
that takes what it has read in an earlier transaction.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from queue_cells import fill

from storage.check import check
from storage.engine import close
from storage.migrations import migrate
from storage.queue import Queue
from tests import postgres
from tests.storage.histories import AT, Hasty, Unpaid, finish, judge, playing

# A round ends when its budget is spent; on a busy machine, 20 s would leave most of the items to the last reviewer.
PROCESSES, ITEMS, SECONDS = 4, 2_000, 120
NONE = ("<=", 0)
FAULTS = ("overlapping claims", "lost items", "lost decisions", "second feedback", "budget or ledger", "other faults")


def main() -> None:
    """Kills, judges, prints, ends with one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="60 kills instead of 500")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), help="one of them instead of both")
    chosen = parser.parse_args()
    kills = 60 if chosen.quick else 500
    figures: dict[str, int] = {}
    with databases() as make:
        for kind in [chosen.database] if chosen.database else ["sqlite", "postgresql"]:
            figures |= {f"{kind}: {name}": n for name, n in crash(make, kind, kills).items()}
            figures[f"{kind}: unpaid claims caught"] = count_caught(make, kind, Unpaid, "budget or ledger")
            figures[f"{kind}: hasty claims caught"] = count_caught(make, kind, Hasty, "overlapping claims")
    report(figures, kills)


@contextmanager
def databases() -> Iterator:
    """A function that gives a database of a kind with pending items, for the length of a block."""
    server = postgres.make_folder()

    @contextmanager
    def make(kind: str) -> Iterator[tuple[str, Path]]:
        with tempfile.TemporaryDirectory() as folder:
            if kind == "sqlite":
                url = f"sqlite:///{Path(folder) / 'console.db'}"
                migrate(url)
                fill(url, ITEMS)
                yield url, Path(folder)
            else:
                with postgres.database() as url:
                    fill(url, ITEMS)
                    yield url, Path(folder)
            close(url)

    try:
        yield make
    finally:
        if server is not None:
            postgres.stop(server)


def crash(make, kind: str, kills: int) -> dict[str, int]:
    """Counts over as many databases as it takes for that many kills of processes at work."""
    figures = dict.fromkeys(("kills", "snapshots", "acts", *FAULTS), 0)
    chance = random.Random(7)
    while figures["kills"] < kills:
        with make(kind) as (url, folder):
            queue = Queue(url)
            queue.open_budget(**AT, cap=ITEMS * 3 // 4)
            close(url)
            until = time.monotonic() + SECONDS
            with playing(queue, folder, PROCESSES, SECONDS) as kill_one:
                while time.monotonic() < until and figures["kills"] < kills:
                    time.sleep(chance.uniform(0.02, 0.2))
                    if kill_one():
                        figures["kills"] += 1
                    elif queue.budget(**AT).left == 0:
                        break
                    close(url)
            # Without a cap every item has an end to come to.
            queue.open_budget(**AT, cap=None)
            finish(queue, folder)
            for name, n in summed(judge(url, folder)).items():
                figures[name] += n
            figures["other faults"] += len(check(url))
        print(kind, figures, file=sys.stderr, flush=True)
    return figures


def count_caught(make, kind: str, queue: type[Queue], fault: str) -> int:
    """The fault's count in the first round that shows it; on a busy machine, a round may be too short."""
    return next((found for _ in range(8) if (found := wrong(make, kind, queue)[fault])), 0)


def wrong(make, kind: str, queue: type[Queue]) -> Counter[str]:
    """What the judge finds at a queue that is built wrong."""
    with make(kind) as (url, folder), playing(queue(url), folder, PROCESSES, 3) as kill_one:
        for _ in range(10):
            time.sleep(0.2)
            kill_one()
        return summed(judge(url, folder))


def summed(found: Counter[str]) -> Counter[str]:
    """The judge's counts under the names of the figures."""
    sums: Counter[str] = Counter()
    for name, n in found.items():
        plain = name.removeprefix("snapshot: ")
        known = plain in ("acts", "snapshots", *FAULTS)
        sums["budget or ledger" if plain in ("budget", "ledger") else plain if known else "other faults"] += n
    return sums


def report(figures: dict[str, int], kills: int) -> None:
    """Prints a line for each figure and the JSON."""
    goals = {}
    for name in figures:
        what = name.partition(": ")[2]
        least = {"kills": kills, "snapshots": kills, "acts": kills}.get(what, 1)
        goals[name] = NONE if what in FAULTS else (">=", least)
    met = {
        name: figures[name] >= goal if sign == ">=" else figures[name] <= goal for name, (sign, goal) in goals.items()
    }
    for name, (sign, goal) in goals.items():
        print(f"{name:<40}{figures[name]:>8}   {sign} {goal} {'met' if met[name] else 'MISSED'}")
    print(json.dumps({"benchmark": "crash", "figures": figures, "goals": goals, "met": all(met.values())}))


if __name__ == "__main__":
    main()
