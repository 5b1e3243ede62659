"""The trial engine, killed at random points: what ran without approval, ran twice, was lost, or never ended.

`python tests/benchmarks/crash_engine.py [--quick]`; the last line is the result as JSON. The figures are counts over
all kills; a killed engine is started again on the same database until its run has ended.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
POINTS, QUICK_POINTS = 200, 20
GOALS = {
    "without_approval": ["<=", 0],
    "twice": ["<=", 0],
    "lost_steps": ["<=", 0],
    "not_ended": ["<=", 0],
    "problems": ["<=", 0],
    "unknown_per_kill": ["<=", 1.0],
}


def main() -> None:
    """Prints the counts as a table and the result as one JSON line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    points = QUICK_POINTS if wanted.quick else POINTS
    found = kill(points, wanted.seed)
    figures = {name: found[name] for name in ("kills", "runs", "executions", *GOALS) if name in found}
    figures["unknown_per_kill"] = round(found["unknown"] / found["kills"], 3)
    for name, figure in figures.items():
        sys.stdout.write(f"{name:18} {figure}\n")
    met = figures["kills"] >= points and all(figures[name] <= bound for name, (_, bound) in GOALS.items())
    result = {"benchmark": "crash_engine", "figures": figures, "goals": GOALS, "met": met}
    sys.stdout.write(json.dumps(result) + "\n")


def kill(points: int, seed: int) -> dict[str, int]:
    """What was found at so many kills of a process that holds nothing but the engine."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["-m", "tests.console.trials.killing", folder, "--points", str(points), "--seed", str(seed)]
        ended = subprocess.run([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, int] = json.loads(ended.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
