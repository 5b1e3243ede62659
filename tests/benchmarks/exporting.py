"""Exporting decisions, against a plain csv.writer over the same cursor, in the same run.

`python tests/benchmarks/exporting.py [--quick]`; the last line is the result as JSON.
"""

from __future__ import annotations

import argparse
import csv
import random
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sqlalchemy import insert
from sqlalchemy.dialects import sqlite

from console.runs.export import KINDS, export
from console.runs.export.query import statement
from console.trajectory.checkpoints import digest
from storage.engine import engine
from storage.migrations import migrate
from storage.tables import Table
from tests.benchmarks.measure import Figure, compare, report

GOALS = {"rows_vs_raw_csv_writer": [">=", 0.9], "peak_mb_over_imports": ["<=", 10.0]}
RUN = "benchmark"
START_MS = 1_767_000_000_000
WORDS = "please choose the white one that measures sixty six inches and costs less than thirty dollars"


def main() -> None:
    """Prints the figures and whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows, under a minute")
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.memory_of:
        print(peak_mb(Path(chosen.memory_of)))
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), rows=20_000 if chosen.quick else 100_000, rounds=21)
    sys.exit(not report("exporting", figures, GOALS))


def measure(folder: Path, rows: int, rounds: int) -> dict[str, Figure | float]:
    """Return the median of the pairs' ratios, and the peak memory of a process that exports."""
    database = folder / "console.db"
    fill(f"sqlite:///{database}", rows)
    ours = partial(export, f"sqlite:///{database}", "decisions", RUN, folder / "ours.csv")
    floor = partial(raw, database, folder / "raw.csv")
    pairs = compare(ours, floor, rounds)
    print(pairs.describe("export"))
    child = [sys.executable, __file__, "--memory-of", str(database)]
    peak = subprocess.run(child, check=True, capture_output=True, text=True).stdout
    return {"rows": rows, "rows_vs_raw_csv_writer": pairs.computing().inverted(), "peak_mb_over_imports": float(peak)}


def raw(database: Path, path: Path) -> None:
    """What nobody can do with less: the cells of the same query straight from sqlite3 into csv.writer."""
    bare = replace(KINDS["decisions"], needs=())
    compiled = statement(bare).compile(dialect=sqlite.dialect(paramstyle="named"))
    values = {**compiled.params, "run": 1, "run_name": RUN, "low": 0, "high": 2**62}
    with sqlite3.connect(database) as connection, path.open("w", newline="") as stream:
        csv.writer(stream).writerows(connection.execute(str(compiled), values))


def peak_mb(database: Path) -> float:
    """How much the peak memory of this process grows from a small export, which loads every library, to the whole."""
    small = database.with_name("small.db")
    fill(f"sqlite:///{small}", 10)
    export(f"sqlite:///{small}", "decisions", RUN, database.with_name("small.csv"))
    before = highest_mb()
    export(f"sqlite:///{database}", "decisions", RUN, database.with_name("whole.csv"))
    return round(highest_mb() - before, 1)


def highest_mb() -> float:
    """The most memory this process ever held; getrusage would count what its parent held before it started."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def fill(url: str, rows: int) -> None:
    """A database with one run, and in it that many decided items."""
    made = engine(url)
    migrate(url)
    draw = random.Random(7)
    with made.begin() as connection:
        for name, records in tables(rows, draw).items():
            for start in range(0, len(records), 5_000):
                connection.execute(insert(Table.metadata.tables[name]), records[start : start + 5_000])


def tables(rows: int, draw: random.Random) -> dict[str, list[dict[str, object]]]:
    """The records of every table, two trials a task, one item and one decision a trajectory."""
    ids = range(1, rows + 1)
    tasks = range(1, rows // 2 + 1)
    now = {"created_ms": START_MS}
    place = {"run_id": 1, "step": 6, "kind": "action"}
    return {
        "run": [{"id": 1, "name": RUN, "kind": "archive", "environment": "webshop", **now}],
        "budget": [{"id": 1, "run_id": 1, "trial": 0, "used": rows}],
        "task": [task(id) for id in tasks],
        "trajectory": [trajectory(id, len(tasks)) for id in ids],
        "verdict": [
            {
                "id": id,
                "trajectory_id": id,
                "detector": "rules",
                "score": draw.random(),
                "threshold": 0.5,
                **place,
                **now,
            }
            | {"flagged": True}
            for id in ids
        ],
        "item": [
            {"id": id, "trajectory_id": id, "trial": 0, "status": "decided", "priority": 0.5, "open_slots": 0, **place}
            | {"verdict_id": id, **now}
            for id in ids
        ],
        "slot": [slot(id) for id in ids],
        "decision": [decision(id, draw) for id in ids],
    }


def task(id: int) -> dict[str, object]:
    """The task of that id."""
    words = {"instruction": WORDS, "instruction_digest": str(id)}
    return {"id": id, "run_id": 1, "task_key": f"webshop_{id}", "environment": "webshop", **words}


def trajectory(id: int, tasks: int) -> dict[str, object]:
    """The trajectory of that id; the tasks repeat in a second trial."""
    trial, task_id = divmod(id - 1, tasks)
    told = {"outcome": "failed", "recorded_outcome": "failed", "label": "misaligned", "digest": str(id)}
    steps = {"critical_action": "click[Buy Now]", "n_steps": 7, "n_critical": 1, "created_ms": START_MS}
    return {"id": id, "run_id": 1, "task_id": task_id + 1, "trial": trial, "environment": "webshop", **told, **steps}


def slot(id: int) -> dict[str, object]:
    """The place of the one reviewer of that item."""
    times = {"claimed_ms": START_MS, "lease_until_ms": START_MS}
    return {
        "id": id,
        "item_id": id,
        "budget_id": 1,
        "reviewer": f"r{id % 7}",
        "status": "decided",
        "token": "t",
        **times,
    }


def decision(id: int, draw: random.Random) -> dict[str, object]:
    """A rejection in about twenty words, half a second to ninety seconds after the claim."""
    words = " ".join(draw.choices(WORDS.split(), k=draw.randint(10, 30)))
    said = {"decision": "reject", "label": "misaligned", "feedback_type": "nl", "feedback_text": words}
    claimed = START_MS + id * 1_000
    times = {
        "claimed_ms": claimed,
        "decided_ms": claimed + draw.randint(500, 90_000),
        "deliverable_ms": claimed + 95_000,
    }
    bound = {"action_digest": digest("click[Buy Now]"), "submit_key": str(id), "budget_cap": 10_000, "budget_used": id}
    who = {"id": id, "item_id": id, "slot_id": id, "reviewer": f"r{id % 7}", "delivered_ms": claimed + 100_000}
    return who | said | times | bound


if __name__ == "__main__":
    main()
