"""Blindness of 300 first renders under each of 20 fixed seeds, with the same planted leaks found in each.

Each seed has studies of its own, whose participants are websocket clients of a served console. `first_renders.py
[--quick] [--seeds N] [--items N]` prints a row for each seed, then its result as JSON in the last line.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from console.studies.sessions import joining  # noqa: E402
from tests.benchmarks.blindness import KINDS, make, walk  # noqa: E402
from tests.benchmarks.leaks import is_seeded, judge_seeded, own_items, rounds  # noqa: E402
from tests.blindness import p_of_flags  # noqa: E402
from tests.serving import serving  # noqa: E402

SEEDS, ITEMS, FOUND, PROCESSES = 20, 300, 18, 2
DRAWS = 3_999
"""So many that a p below .05 after Holm over two tests of 20 seeds exists: twice the least p is .0005."""
KIND, APART = "score-shown, meter", 1_000
KINDS[KIND] = {"tasks": 6, "trials": 1, "budget": "4"}
COLUMNS = ("seed", "items", "seeded", "p_told", "p_flags", "meter", "flags", "seconds")


def main() -> None:
    """Walk all seeds, print their table, and judge it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 seeds of 100 items; nothing is judged")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--items", type=int, default=ITEMS)
    given = parser.parse_args()
    seeds, items = (2, 100) if given.quick else (given.seeds, given.items)
    rows = []
    print(*(f"{name:>8}" for name in COLUMNS), flush=True)
    with ProcessPoolExecutor(PROCESSES, get_context("spawn"), max_tasks_per_child=1) as pool:
        for row in pool.map(walk_seed, range(seeds), [items] * seeds):
            rows.append(row)
            print(*(f"{row[name]:>8g}" for name in COLUMNS), flush=True)
    tests = sorted(row[name] for row in rows for name in ("p_told", "p_flags"))
    figures = {
        "items": min(row["items"] for row in rows),
        "least_after_holm": min(1.0, tests[0] * len(tests)),
        **{f"{leak}_found": sum(row[leak] < 0.05 for row in rows) for leak in ("meter", "flags")},
    }
    goals = {"items": [">=", items]}
    if not given.quick:
        enough = [">=", FOUND * seeds // SEEDS]
        goals |= {"least_after_holm": [">=", 0.05], "meter_found": enough, "flags_found": enough}
    met = all(figures[name] >= at for name, (_, at) in goals.items())
    print(json.dumps({"benchmark": "first_renders", "figures": figures, "goals": goals, "met": met}))


def walk_seed(seed: int, items: int) -> dict[str, float]:
    """The figures of one seed: p of what must not be told, and of the two planted leaks."""
    started = time.perf_counter()
    own = list(shown(seed, items))
    return {
        "seed": seed,
        "items": len(own),
        "seeded": sum(map(is_seeded, own)),
        "p_told": judge_seeded(own, draws=DRAWS),
        "p_flags": p_of_flags(rounds(own), draws=DRAWS),
        "meter": judge_seeded(meter_off_by_one(own), draws=DRAWS),
        "flags": p_of_flags(flags_with_seeding(own, seed), draws=DRAWS),
        "seconds": round(time.perf_counter() - started),
    }


def shown(seed: int, items: int) -> Iterator[dict]:
    """The first renders of that many items, from participants of one study after the other."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INFERACT_DATA_DIR"] = folder
        with serving(Path(folder)) as server:
            at = seed * APART
            while items > 0:
                at, study = make(KIND, at, 1)
                rows = own_items(walk(server, KIND, at, joining.join(study.join_code), presses=False))
                yield from rows
                items, at = items - len(rows), at + 1


def meter_off_by_one(own: list[dict]) -> list[dict]:
    """The rows with one review less left on each seeded item, as if an earlier snapshot were shown."""
    changed, last = [], {}
    for row in own:
        numbers, key = list(row["numbers"]), (row["study"], row["person"], row["round"])
        off = int(is_seeded(row))
        numbers[4] -= off
        numbers[7] += off - last.get(key, 0)
        last[key] = off
        changed.append(row | {"numbers": numbers})
    return changed


def flags_with_seeding(own: list[dict], seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The rounds with other flags, whose correlation with seeding is .2: half of the items are flagged."""
    rng = np.random.default_rng(seed)
    found = rounds(own)
    seeded = np.concatenate([each for _, each in found])
    share = seeded.mean()
    # The difference of two shares that gives a correlation of .2 with half of the items flagged.
    apart = 0.2 * 0.5 / np.sqrt(share * (1 - share))
    flags = np.zeros(len(seeded))
    for kind, wanted in ((1, 0.5 + (1 - share) * apart), (0, 0.5 - share * apart)):
        here = rng.permutation(np.flatnonzero(seeded == kind))
        flags[here[: round(wanted * len(here))]] = 1
    ends = np.cumsum([len(each) for _, each in found])[:-1]
    return list(zip(np.split(flags, ends), [each for _, each in found], strict=True))


if __name__ == "__main__":
    main()
