"""Does AutoPlan's loop learn from what it is shown? Success on unseen tasks, against three controls.

`python tests/benchmarks/planners.py [--quick]`; the last line is the result as JSON. The embedded household, tasks that
heat something, the appliance not named; the Actor `autoplan`, the training and the live engine are the product's own,
and `planner_model.py` beside this file takes the model's place. Every arm learns from the same tasks of a seed and is
tested after the last update on others. The controls hide the observations of ended trials, invert their outcomes, or
exchange flaws and revisions; p is two-sided, of an exact sign test over the seeds, ties left out. Two of them must be
worse. Hidden observations are reported alone: over 30 seeds they cost, but p was .24. So are fine errors, with which
the household says why an action had no effect: they helped, but p was .06.
"""

from __future__ import annotations

import argparse
import json
import math
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
BATCH, POOL, TESTED, UPDATES, SEEDS, ALPHA = 4, 24, 12, 5, 30, 0.01


@dataclass(frozen=True, slots=True)
class Arm:
    """One line of the table; `control` spoils what the learner is shown of ended trials; `fine` gives reasons."""

    name: str
    control: str = ""
    fine: bool = False


TRUE, FINE = Arm("as shown"), Arm("fine errors", fine=True)
CONTROLS = [Arm("hidden", "hidden"), Arm("inverted", "inverted"), Arm("swapped", "swapped")]
CLAIMED = CONTROLS[1:]
ARMS = [TRUE, FINE, *CONTROLS]


def measured(arm: Arm, seed: int) -> float:
    """The success rate on the test tasks by the last version of the plan."""
    from planner_model import Learner

    from console.actors import Actor, autoplan
    from console.environments import ENVIRONMENTS
    from console.trials.planning import training
    from console.trials.start import ActorAndEnvironments
    from tests.oracles import tidying

    model, household = Learner(seed, arm.control), ENVIRONMENTS["alfworld"]

    def begun(task):
        world = household.start(task)
        model.ways[world.reset()[0].strip()] = tidying(task)
        return world

    actor = Actor("autoplan", "AutoPlan", partial(autoplan.act, model), None, step_caps=autoplan.STEP_CAPS)
    cast = ActorAndEnvironments(actor, {"alfworld": replace(household, start=begun, tasks=cache(household.tasks))})
    name = f"{arm.name} {seed}".replace(" ", "-")
    asked = training.Training("alfworld", HEAT, BATCH, UPDATES, POOL, seed, fine_errors=arm.fine)
    training.train_plan(name, asked, actor_and_environments=cast, llm=model)
    return tested(f"{name} test", name, seed, cast, {"errors": "fine"} if arm.fine else {})


def tested(run: str, plan: str, seed: int, cast, options: dict[str, str]) -> float:
    """The share of test tasks that are done by the plan's last version."""
    from console import runs
    from console.database import reading
    from console.runs.status import run_status
    from console.trials import engine, start

    fields = {"seed": seed, "plan": plan, "feedback_mode": "none", "task_options": options}
    start.start_run(run, {"alfworld": TESTED}, actor_and_environments=cast, **fields)
    engine.resume(run, actor_and_environments=cast, concurrency=TESTED)
    with reading() as session:
        (trial,) = run_status(session, runs.get(session, run))["trials"]
    return trial["succeeded"] / trial["tasks"]


def prepared(folder: str) -> None:
    """Gives each process a database of its own."""
    os.environ["INFERACT_DATA_DIR"] = f"{folder}/{os.getpid()}"


def sign_test(first: list[float], second: list[float]) -> float:
    """The two-sided p of an exact sign test of paired figures; 1 if all are tied."""
    more = sum(one > other for one, other in zip(first, second, strict=True))
    less = sum(one < other for one, other in zip(first, second, strict=True))
    tail = sum(math.comb(more + less, count) for count in range(min(more, less) + 1)) / 2 ** (more + less)
    return min(1.0, 2 * tail)


def table(found: dict[str, list[float]]) -> list[str]:
    """The lines of the table, one an arm."""
    lines = [f"{'arm':14} {'mean':>6} {'SD':>6} {'p':>9}   by seed"]
    for name, figures in found.items():
        p = sign_test(found[TRUE.name], figures)
        spread = statistics.stdev(figures) if len(figures) > 1 else 0.0
        each = " ".join(f"{figure:.2f}" for figure in figures)
        lines.append(f"{name:14} {statistics.mean(figures):6.3f} {spread:6.3f} {p:9.2g}   {each}")
    return lines


def main() -> None:
    """Prints the table, and the result as one JSON line; ends with 1 if a control is not worse."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="eight seeds")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    seeds, started = (8 if given.quick else SEEDS), time.perf_counter()
    print(f"seeds 0 to {seeds - 1}; {UPDATES} updates of {BATCH} trials, {TESTED} other tasks tested", flush=True)
    found: dict[str, list[float]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(given.processes, initializer=prepared, initargs=(folder,)) as pool,
    ):
        for arm in ARMS:
            found[arm.name] = list(pool.map(measured, [arm] * seeds, range(seeds)))
    print("\n".join(table(found)))
    mean = {name: statistics.mean(figures) for name, figures in found.items()}
    p = {arm.name: sign_test(found[TRUE.name], found[arm.name]) for arm in ARMS[1:]}
    met = {
        f"{name} is worse": mean[name] < mean[TRUE.name] and p[name] < ALPHA for name in (arm.name for arm in CLAIMED)
    }
    figures = {name: round(value, 3) for name, value in mean.items()} | {
        f"p {name}": value for name, value in p.items()
    }
    seconds = round(time.perf_counter() - started, 1)
    print(json.dumps({"benchmark": "planners", "seeds": seeds, "figures": figures, "met": met, "seconds": seconds}))
    sys.exit(not all(met.values()))


if __name__ == "__main__":
    main()
