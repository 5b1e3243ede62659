"""Does AutoPlan's loop learn? Success on unseen tasks by iteration, by batch size, and without flaw or revision.

`python tests/benchmarks/planners.py [--quick]`; the last line is the result as JSON. The embedded household, tasks that
heat something; the Actor `autoplan`, the training and the live engine are the product's own, the model is
`planner_model.py` beside this file. Every arm updates its plan six times, draws its batches from the same 24 tasks of a
seed, and is tested after the last update on 20 others of it, "batch 4" after each; figures are means over the seeds,
with the standard deviation between them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

HEAT = "pick_heat_then_place_in_recep"
POOL, TESTED, UPDATES, SEEDS = 24, 20, 6, 10


@dataclass(frozen=True, slots=True)
class Arm:
    """One line of the table."""

    name: str
    batch: int
    flaw: bool = True
    revision: bool = True
    by_version: bool = False


ARMS = [
    Arm("batch 2", 2),
    Arm("batch 4", 4, by_version=True),
    Arm("batch 8", 8),
    Arm("batch 4, no flaw", 4, flaw=False),
    Arm("batch 4, no revision", 4, revision=False),
    Arm("batch 4, neither", 4, flaw=False, revision=False),
]


def measured(arm: Arm, seed: int) -> list[float]:
    """The success rate on the test tasks by the last version of the plan, or by each, the empty one first."""
    from planner_model import PlannerModel

    from console.actors import Actor, autoplan
    from console.database import now_ms, writing
    from console.environments import ENVIRONMENTS
    from console.trials.planning import training, versions
    from console.trials.start import ActorAndEnvironments
    from tests.oracles import tidying

    model, household = PlannerModel(seed), ENVIRONMENTS["alfworld"]

    def begun(task):
        world = household.start(task)
        model.ways[world.reset()[0].strip()] = tidying(task)
        return world

    actor = Actor("autoplan", "AutoPlan", partial(autoplan.act, model), None, step_caps=autoplan.STEP_CAPS)
    cast = ActorAndEnvironments(actor, {"alfworld": replace(household, start=begun, tasks=cache(household.tasks))})
    name = f"{arm.name} {seed}".replace(", ", ".").replace(" ", "-")
    asked = training.Training("alfworld", HEAT, arm.batch, UPDATES, POOL, seed, arm.flaw, arm.revision)
    last = training.train_plan(name, asked, actor_and_environments=cast, llm=model).version
    found = []
    for number in range(last + 1) if arm.by_version else (last,):
        with writing() as session:
            versions.pin_version(session, versions.get_version(session, name, HEAT, number), now_ms())
        found.append(tested(f"{name} test {number}", name, seed, cast))
    return found


def tested(run: str, plan: str, seed: int, cast) -> float:
    """The share of test tasks that are done by the plan's pinned version."""
    from console import runs
    from console.database import reading
    from console.runs.status import run_status
    from console.trials import engine, start

    start.start_run(run, {"alfworld": TESTED}, actor_and_environments=cast, seed=seed, plan=plan, feedback_mode="none")
    engine.resume(run, actor_and_environments=cast, concurrency=TESTED)
    with reading() as session:
        (trial,) = run_status(session, runs.get(session, run))["trials"]
    return trial["succeeded"] / trial["tasks"]


def prepared(folder: str) -> None:
    """Gives each process a database of its own."""
    os.environ["INFERACT_DATA_DIR"] = f"{folder}/{os.getpid()}"


def table(found: dict[str, list[list[float]]]) -> list[str]:
    """The lines of the table, one an arm."""
    lines = [f"{'arm':22} {'mean':>6} {'SD':>6}   by seed"]
    for name, by_seed in found.items():
        ends = [figures[-1] for figures in by_seed]
        each = " ".join(f"{end:.2f}" for end in ends)
        lines.append(f"{name:22} {statistics.mean(ends):6.3f} {statistics.stdev(ends):6.3f}   {each}")
    return lines


def main() -> None:
    """Prints the table, the curve by iteration, and the result as one JSON line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="two seeds")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    seeds, started = (2 if given.quick else SEEDS), time.perf_counter()
    print(f"seeds 0 to {seeds - 1}; {POOL} tasks to learn from, {TESTED} others to be tested on", flush=True)
    found: dict[str, list[list[float]]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(given.processes, initializer=prepared, initargs=(folder,)) as pool,
    ):
        for arm in ARMS:
            found[arm.name] = list(pool.map(measured, [arm] * seeds, range(seeds)))
    print("\n".join(table(found)))
    curve = [statistics.mean(figures) for figures in zip(*found["batch 4"], strict=True)]
    print(f"batch 4 by version, 0 to {UPDATES}: " + " ".join(f"{figure:.3f}" for figure in curve))
    ends = {name: [figures[-1] for figures in by_seed] for name, by_seed in found.items()}
    mean = {name: statistics.mean(figures) for name, figures in ends.items()}
    spread = {name: statistics.stdev(figures) for name, figures in ends.items()}
    met = {
        "success rises": curve[-1] > curve[0],
        "larger batches are steadier": spread["batch 2"] > spread["batch 4"] > spread["batch 8"],
        "larger batches are better": mean["batch 2"] < mean["batch 4"] < mean["batch 8"],
        "no flaw lowers it": mean["batch 4, no flaw"] < mean["batch 4"],
        "no revision lowers it": mean["batch 4, no revision"] < mean["batch 4"],
        "neither lowers it most": mean["batch 4, neither"]
        < min(mean["batch 4, no flaw"], mean["batch 4, no revision"]),
    }
    figures = {name: {"mean": round(mean[name], 3), "sd": round(spread[name], 3)} for name in ends}
    seconds = round(time.perf_counter() - started, 1)
    print(json.dumps({"benchmark": "planners", "seeds": seeds, "figures": figures, "met": met, "seconds": seconds}))


if __name__ == "__main__":
    main()
