"""Do claims over people and tasks hold their level? A grid of designs, and every preset with a null of its own.

Answers are drawn here, not by the console's own simulation: logits of person, task, condition and the responses of
both to the condition, calibrated so that the null is a zero difference of average probabilities. The analysis is the
report's: `CrossedPlan`, and for refused studies the comparison on these tasks only, which is no claim over tasks.

`study_claims.py [--quick] [--studies N] [--only grid|presets]` prints its result as JSON in the last line.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from scipy import optimize, special, stats  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from console.analysis.statistics.contrasts import CellTable, estimate_contrasts, fit_simple  # noqa: E402
from console.analysis.statistics.crossed import AnswerTable, CrossedPlan  # noqa: E402
from console.detection.detectors import detector  # noqa: E402
from console.review.simulated.faults import find_true_label  # noqa: E402
from console.studies.design import allocate, conditions, task_count  # noqa: E402
from console.studies.design.contrasts import PRIMARY, planned_contrasts  # noqa: E402
from console.studies.design.presets import preset, presets  # noqa: E402
from console.studies.sessions.study_tasks import TaskToPlay, first_trial, load_tasks  # noqa: E402
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at  # noqa: E402

PERSON, TASK, RESPONSE, TASK_RESPONSE = 0.5, 1.0, 0.4, 0.8
"""Standard deviations in log odds; tasks react differently, which fails where tasks are not in the error."""
STUDIES, MANY, QUICK = 1_000, 10_000, 120
"""Studies of a cell; of a cell whose rates are on the wrong side of theirs; of a quick run."""
PATTERNS, AT_ONCE = 50, 500
"""Patterns of drop-out of a cell, and the most studies that are drawn together."""
EFFECT = 0.15


@dataclass(frozen=True)
class Cell:
    """A design of the grid: `kind` is sets (rotating), same (tasks in both conditions) or between."""

    kind: str
    people: int
    tasks: int
    first: int = 0
    base: float = 0.6
    dropout: float = 0.0

    @property
    def name(self) -> str:
        """A name for the figures."""
        groups = f"_{self.first}v{self.people - self.first}" if self.first else ""
        rare = f"_base{self.base:g}" * (self.base != 0.6)
        return f"{self.kind}_n{self.people}{groups}_t{self.tasks}{rare}" + f"_drop{self.dropout:g}" * bool(self.dropout)


FAILED = [
    Cell("sets", 24, 50), Cell("between", 60, 25), Cell("between", 24, 25), Cell("same", 12, 25),
    Cell("between", 18, 25, first=6),
]  # fmt: skip
"""The cells in which a test that knows no tasks rejected a true null in .09 to .12 of the studies."""
GRID = list(dict.fromkeys([*FAILED, *(
    Cell(kind, people, tasks * (2 if kind == "sets" else 1), base=base, dropout=dropout)
    for kind, people in (("sets", 8), ("sets", 24), ("same", 8), ("same", 24), ("between", 24), ("between", 60))
    for tasks, base, dropout in product((25, 100), (0.6, 0.05), (0.0, 0.3))
)]))  # fmt: skip
"""Tasks are counted per condition, so rotating sets have twice as many in all."""


def main() -> None:
    """Print the rates of each cell and preset, and whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} studies a cell")
    parser.add_argument("--studies", type=int, default=STUDIES)
    parser.add_argument("--only", choices=["grid", "presets"])
    given = parser.parse_args()
    n = QUICK if given.quick else given.studies
    figures: dict[str, float] = {"studies": n}
    if given.only != "presets":
        for at, cell in enumerate(GRID):
            found = rates(cell, n, at)
            if n == STUDIES and (found[f"{cell.name}_rejects"] > 0.05 or found[f"{cell.name}_covers"] < 0.95):
                found = rates(cell, MANY, at)
            figures |= found
    if given.only != "grid":
        for name in presets():
            figures |= null_of(name, n)
    goals = goals_of(figures, n)
    met = all(
        figures[name] <= limit if sign == "<=" else figures[name] >= limit for name, (sign, limit) in goals.items()
    )
    print(json.dumps({"benchmark": "study_claims", "figures": figures, "goals": goals, "met": met}))


def goals_of(figures: dict[str, float], n: int) -> dict[str, list]:
    """No rate of rejection significantly above .05 and no coverage significantly below .95 (Bonferroni)."""
    rejects = [name for name in figures if name.endswith("_rejects")]
    covers = [name for name in figures if name.endswith("_covers")]
    goals: dict[str, list] = {}
    for name in (*rejects, *covers):
        cell = name.rsplit("_", 1)[0]
        tried = max(round(figures[f"{cell}_claims"] * figures.get(f"{cell}_studies", n)), 1)
        most = float(stats.binom.isf(0.05 / (len(rejects) + len(covers)), tried, 0.05)) / tried
        goals[name] = ["<=", most] if name in rejects else [">=", 1 - most]
    return goals


def rates(cell: Cell, n: int, seed: int) -> dict[str, float]:
    """How often a true null is rejected, how often the interval holds the effect, and how many studies claim."""
    started, rng = time.process_time(), np.random.default_rng([7, seed, n])
    counts = dict.fromkeys(("claims", "rejects", "covers", "finds", "studies"), 0)
    patterns = PATTERNS if cell.dropout else 1
    for _ in range(patterns):
        kept = pattern(cell, rng)
        plan, left = CrossedPlan(kept), -(-n // patterns)
        counts["studies"] += left
        while left > 0:
            left -= add(counts, plan, cell, rng, min(left, AT_ONCE))
    claims = max(counts["claims"], 1)
    found = {"claims": counts["claims"] / counts["studies"], "power": counts["finds"] / counts["studies"]}
    found |= {"rejects": counts["rejects"] / claims, "covers": counts["covers"] / claims if counts["claims"] else 1.0}
    label = "" if found["rejects"] >= 0.035 else " conservative"
    print(f"{cell.name}:{label} {time.process_time() - started:.0f} s", json.dumps(counts), flush=True)
    return {f"{cell.name}_{what}": round(figure, 4) for what, figure in found.items()} | {
        f"{cell.name}_studies": counts["studies"]
    }


def add(counts: dict[str, int], plan: CrossedPlan, cell: Cell, rng: np.random.Generator, studies: int) -> int:
    """Count what so many studies without an effect claim, and so many with one; return their number."""
    for effect in (0.0, EFFECT):
        fit = plan.fit(draw(plan.table, cell, effect, rng, studies), {"c1": 1.0, "c0": -1.0})
        if fit is None or fit.refused:
            continue
        significant = int((np.nan_to_num(fit.p_value, nan=1.0) < 0.05).sum())
        if effect:
            half = special.stdtrit(fit.df, 0.975) * np.sqrt(fit.variance)
            counts["covers"] += int((np.abs(fit.value - effect) <= half).sum())
            counts["finds"] += significant
        else:
            counts["rejects"] += significant
            counts["claims"] += studies
    return studies


def pattern(cell: Cell, rng: np.random.Generator) -> AnswerTable:
    """Who did which task under which condition, less what drop-out removes."""
    if cell.kind == "same":
        person, task, condition = (axis.ravel() for axis in np.indices((cell.people, cell.tasks, 2)))
    else:
        person, task = (axis.ravel() for axis in np.indices((cell.people, cell.tasks)))
        groups = (person >= (cell.first or cell.people // 2)).astype(int)
        condition = groups if cell.kind == "between" else (task * 2 // cell.tasks + person) % 2
    lost = rng.random((cell.people, 2)) < cell.dropout
    if cell.kind == "between":  # a leaver keeps the tasks done before leaving
        reached = np.where(lost[:, 0], rng.integers(0, cell.tasks, cell.people), cell.tasks)
        rank = rng.random((cell.people, cell.tasks)).argsort(1).argsort(1)
        kept = rank[person, task] < reached[person]
    else:
        kept = ~lost[person, condition]
    codes = [np.unique(each[kept], return_inverse=True)[1] for each in (person, task)]
    return AnswerTable(*codes, condition[kept], ("c0", "c1"))


def draw(table: AnswerTable, cell: Cell, effect: float, rng: np.random.Generator, studies: int) -> np.ndarray:
    """Answers of so many studies, one column each."""
    base, more = intercepts(cell.base, cell.base + effect)
    people, tasks = (int(codes.max()) + 1 for codes in (table.person, table.task))
    person, own = rng.normal(0, PERSON, (people, studies)), rng.normal(0, RESPONSE, (people, studies))
    hard, other = rng.normal(0, TASK, (tasks, studies)), rng.normal(0, TASK_RESPONSE, (tasks, studies))
    raised = table.condition[:, None] == 1
    logit = person[table.person] + hard[table.task] + np.where(raised, more, base)
    logit += raised * (own[table.person] + other[table.task])
    return (rng.random(logit.shape) < special.expit(logit)).astype(float)


@cache
def intercepts(first: float, second: float) -> tuple[float, float]:
    """The intercepts that make the average probabilities these."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    spreads = (PERSON**2 + TASK**2) ** 0.5, (PERSON**2 + TASK**2 + RESPONSE**2 + TASK_RESPONSE**2) ** 0.5

    def at(rate: float, spread: float) -> float:
        return optimize.brentq(lambda base: special.expit(base + spread * nodes) @ weights - rate, -15, 15)

    return at(first, spreads[0]), at(second, spreads[1])


def null_of(name: str, n: int) -> dict[str, float]:
    """How often the primary contrasts of a preset are called an effect where reviewers and agents differ in none.

    Reviewers have constant error rates; feedback changes the success of no task. Each reviewer decides on the actions
    that the condition's detector flags; the family is corrected as the preset says.
    """
    started, design = time.process_time(), preset(name).design
    pool = known(name)
    places = allocate(design, list(pool)[: task_count(design)])
    primary = {one.name: dict(one.weights) for one in planned_contrasts(design) if one.kind == PRIMARY}
    levels = {arm.name: arm.levels["detector"] for arm in conditions(design)}
    right = design.estimands.measure == "right"
    rows = pd.DataFrame(
        [(place.code, place.condition, key) for place in places for key in place.tasks
         if not right or levels[place.condition] in pool[key][0]],
        columns=["participant", "condition", "task_id"],
    )  # fmt: skip
    person, task = (pd.factorize(rows[column]) for column in ("participant", "task_id"))
    wrong = np.array([pool[key][1] for key in task[1]])[task[0]]
    rng = np.random.default_rng([9, len(name)])
    shape = (len(rows), n)
    chance = np.broadcast_to(special.logit(np.where(wrong, 0.7, 0.9))[:, None], shape)
    if not right:
        chance = rng.normal(0, TASK, (len(task[1]), n))[task[0]]
    chance = special.expit(chance + rng.normal(0, PERSON, (len(person[1]), n))[person[0]])
    values = (rng.random(shape) < chance).astype(float)
    p_values, over_tasks = tests_of(rows, values, primary)
    for at in range(AS_REPORTED):
        fit = estimate_contrasts(rows.assign(value=values[:, at]), "value", primary, 1.0)
        told = [fit.estimates[one].p_value for one in primary]
        assert np.allclose([1.0 if p is None else p for p in told], p_values[:, at], atol=1e-9), "as the report says"
        assert all(fit.claims[one].over_tasks == over_tasks for one in primary)
    rejected = int((p_values.min(axis=0) * len(primary) < design.estimands.alpha).sum())
    scope = "people and tasks" if over_tasks else "these tasks only"
    print(f"preset {name}: {scope}, {time.process_time() - started:.0f} s, rejects {rejected / n:.3f}", flush=True)
    return {f"preset_{name}_rejects": rejected / n, f"preset_{name}_claims": 1.0}


AS_REPORTED = 3
"""How many analyses of a preset are compared with those of a report."""


def tests_of(rows: pd.DataFrame, values: np.ndarray, primary: dict[str, dict[str, float]]) -> tuple[np.ndarray, bool]:
    """The p-values, (contrasts, studies), and whether the claim is over tasks; an undefined p-value is 1."""
    keys = ("participant", "task_id", "condition")
    person, task, condition = (pd.factorize(rows[name].astype(str), sort=True) for name in keys)
    names = tuple(map(str, condition[1]))
    plan = CrossedPlan(AnswerTable(person[0], task[0], condition[0], names))
    fits = [plan.fit(values, weights) for weights in primary.values()]
    if all(fit is not None and not fit.refused for fit in fits):
        return np.nan_to_num(np.array([fit.p_value for fit in fits]), nan=1.0), True
    # All conditions of such a preset have the same tasks, so the report compares participants' means.
    cells, place = np.unique(np.column_stack([person[0], condition[0]]), axis=0, return_inverse=True)
    counts, found = np.bincount(place.ravel()), []
    for column in values.T:
        means = np.bincount(place.ravel(), column) / counts
        table = CellTable(means, cells[:, 1], cells[:, 0], np.zeros(len(cells), dtype=np.intp), names)
        found.append([fit_simple(table, weights).p_value for weights in primary.values()])
    return np.array([[1.0 if p is None else p for p in each] for each in found]).T, False


@cache
def known(name: str) -> dict[str, tuple[set[str], bool]]:
    """By task: the detectors that flag the Actor's first critical action, and whether the action is wrong."""
    design = preset(name).design
    judges = {level: detector(level) for level in {arm.levels["detector"] for arm in conditions(design)}}
    found = {}
    for key, task in load_tasks(design).items():
        held = first_trial(TaskToPlay(task.task_id, task.instruction, design.seed, task)).held
        if held is not None:
            seen = checkpoint_at(held, len(held.steps), CheckpointKind.ACTION)
            flags = {level for level, one in judges.items() if one.judge(seen, design.seed).score > one.threshold}
            found[key] = flags, str(find_true_label(task, seen)) == "misaligned"
    return found


if __name__ == "__main__":
    main()
