"""Does feedback reach the next trial? Success over trials 0..3 for no, binary and natural-language feedback.

Offline: the scripted Actor in the embedded environments, the detector `rules`, the oracle as reviewer, the live engine
from start to end. The reviewer's words come from `wordings/` beside this file, not from those the product ships. The
count is `success_paper`: undecided flagged actions are executed once a trial has closed. `none` tries every unsolved
task again with empty memory and no inspections; `full` inspects every critical action and every halted trial, no cap.
"""

from __future__ import annotations

import argparse
import atexit
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
import pandas as pd

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
TRIALS = 4
ENVIRONMENTS = ("webshop", "hotpotqa", "alfworld")


@dataclass(frozen=True, slots=True)
class Arm:
    """One line of the table; `cap` is a percentage of the non-halted, None without a cap."""

    name: str
    feedback: str
    cap: int | None
    detector: str = "rules"


def arms(caps: Sequence[int]) -> list[Arm]:
    """No feedback, binary and words at each cap, and full validation."""
    capped = [Arm(feedback, feedback, cap) for cap in caps for feedback in ("binary", "nl")]
    return [Arm("none", "none", None), *capped, Arm("full", "nl", None, "full-validation")]


def measured(arm: Arm, environment: str, seed: int, tasks: int) -> list[float]:
    """The share of tasks solved by trial 0, 1, 2 and 3."""
    from console import runs
    from console.database import reading
    from console.review.simulated import simulate
    from console.runs.status import run_status
    from console.trials import engine, start

    name = f"{environment} {arm.name} {arm.cap} {seed}"
    fields = {"feedback_mode": arm.feedback, "budget_percent": arm.cap, "trials": TRIALS, "undo_ms": 0}
    start.start_run(name, {environment: tasks}, seed=seed, detector_name=arm.detector, **fields)
    engine.resume(name)
    plan = simulate.SimulationPlan(seed=seed, wordings=HERE / "wordings")
    for _ in range(3 * TRIALS):
        inspected = 0 if arm.feedback == "none" else simulate.simulate(name, plan).inspected
        if not inspected + engine.advance(name).revealed:
            break
    engine.release_undecided(name)
    engine.advance(name)
    with reading() as session:
        trials = run_status(session, runs.get(session, name))["trials"]
    shares = [trial["success_paper"] / trial["run_tasks"] for trial in trials]
    return shares + shares[-1:] * (TRIALS - len(shares))


def rows(chosen: Sequence[Arm], seeds: Sequence[int], tasks: int) -> list[dict[str, object]]:
    """One row per environment, arm, seed and trial, measured side by side in processes with a database each."""
    jobs = [(arm, environment, seed) for environment in ENVIRONMENTS for arm in chosen for seed in seeds]
    found: list[dict[str, object]] = []
    with ProcessPoolExecutor(min(4, 2 * (os.cpu_count() or 1)), initializer=own_database) as pool:
        shares = pool.map(measured, *zip(*jobs, strict=True), [tasks] * len(jobs))
        for (arm, environment, seed), values in zip(jobs, shares, strict=True):
            key = {"environment": environment, "arm": arm.name, "cap": arm.cap, "seed": seed}
            found += [key | {"trial": trial, "success": value} for trial, value in enumerate(values)]
            print(f"\r{len(found) // TRIALS} of {len(jobs)} runs", end="", file=sys.stderr)
    print(file=sys.stderr)
    return found


def own_database() -> None:
    """Gives this process a folder of its own that goes with it."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    os.environ["INFERACT_DATA_DIR"] = folder.name


def summed(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean and 95% bootstrap interval over seeds of every environment, arm, cap and trial."""
    keys = ["environment", "arm", "cap", "trial"]
    found = []
    for key, group in frame.groupby(keys, dropna=False, sort=False):
        low, high = interval(group["success"].to_numpy())
        found.append(dict(zip(keys, key, strict=True)) | {"success": group["success"].mean(), "low": low, "high": high})
    return pd.DataFrame(found)


def interval(values: np.ndarray) -> tuple[float, float]:
    """The 95% percentile bootstrap interval of the mean."""
    drawn = np.random.default_rng(0).choice(values, (4_000, len(values))).mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def table(summary: pd.DataFrame) -> str:
    """The summary as Markdown, per cent with 95% intervals."""
    lines = [
        "| environment | feedback | cap | trial 0 | trial 1 | trial 2 | trial 3 |",
        "|---|---|---|---|---|---|---|",
    ]
    for (environment, arm, cap), group in summary.groupby(["environment", "arm", "cap"], dropna=False, sort=False):
        cells = [f"{100 * r.success:.1f} ({100 * r.low:.0f}-{100 * r.high:.0f})" for r in group.itertuples()]
        limit = "-" if pd.isna(cap) else f"{cap:.0f}%"
        lines.append(f"| {environment} | {arm} | {limit} | {' | '.join(cells)} |")
    return "\n".join(lines)


def differences(frame: pd.DataFrame, caps: Sequence[int]) -> dict[str, np.ndarray]:
    """Differences of success after the last trial, in points, seed by seed (the tasks are the same ones)."""
    last = frame[frame["trial"] == TRIALS - 1].sort_values("seed")
    found = {}
    for environment in ENVIRONMENTS:
        here = last[last["environment"] == environment]
        groups = here.groupby(["arm", here["cap"].fillna(0).astype(int)])["success"]
        shares = {key: 100 * group.to_numpy() for key, group in groups}
        for cap in caps:
            found[f"{environment}_nl_over_binary_{cap}"] = shares["nl", cap] - shares["binary", cap]
            found[f"{environment}_binary_over_none_{cap}"] = shares["binary", cap] - shares["none", 0]
        others = [values for (arm, _), values in shares.items() if arm != "full"]
        found[f"{environment}_full_over_best"] = shares["full", 0] - max(others, key=np.mean)
    return found


def difference_table(found: dict[str, np.ndarray]) -> str:
    """The differences as Markdown, points with 95% intervals."""
    lines = ["| difference after the last trial | points | 95% interval |", "|---|---|---|"]
    for name, values in found.items():
        low, high = interval(values)
        lines.append(f"| {name.replace('_', ' ')} | {values.mean():.1f} | {low:.1f} to {high:.1f} |")
    return "\n".join(lines)


def figures(found: dict[str, np.ndarray]) -> dict[str, float]:
    """The mean of each difference."""
    return {name: round(float(values.mean()), 3) for name, values in found.items()}


def verdict(found: dict[str, float]) -> dict[str, object]:
    """The line of JSON that outside checks read."""
    goals = {name: [">=", 0.001] for name in found}
    return {"benchmark": "loop", "figures": found, "goals": goals, "met": all(value > 0 for value in found.values())}


def main() -> None:
    """Runs the experiment and prints table and verdict."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two seeds, two caps, fewer tasks: under a minute")
    parser.add_argument("--plot", type=Path, help="write the plot to this HTML file")
    options = parser.parse_args()
    caps = (25, 100) if options.quick else (10, 25, 50, 100)
    seeds, tasks = (range(2), 24) if options.quick else (range(10), 40)
    started = time.perf_counter()
    frame = pd.DataFrame(rows(arms(caps), seeds, tasks))
    summary = summed(frame)
    found = differences(frame, caps)
    print(table(summary), difference_table(found), sep="\n\n")
    print(f"\n{len(seeds)} seeds, {tasks} tasks each, {time.perf_counter() - started:.0f} s")
    if options.plot:
        from console.analysis.charts.runs import success

        success(summary).write_html(options.plot, include_plotlyjs=True)
    print(orjson.dumps(verdict(figures(found))).decode())


if __name__ == "__main__":
    main()
