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
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from scipy import optimize, special, stats  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from console.analysis.statistics.contrasts import estimate_contrasts  # noqa: E402
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
STUDIES, QUICK, PATTERNS = 1_000, 120, 25
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


GRID = [
    Cell("sets", 24, 50), Cell("between", 60, 25), Cell("between", 24, 25), Cell("same", 12, 25),
    Cell("between", 18, 25, first=6),  # the five cells that failed
    Cell("sets", 8, 50), Cell("same", 24, 25), Cell("sets", 24, 50, dropout=0.3), Cell("sets", 8, 50, dropout=0.3),
    Cell("between", 60, 25, dropout=0.3), Cell("between", 60, 100), Cell("same", 24, 100),
    Cell("between", 24, 25, base=0.05), Cell("same", 12, 25, base=0.05), Cell("sets", 24, 50, base=0.05),
]  # fmt: skip


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
            figures |= rates(cell, n, at)
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
        tried = max(round(figures[name.rsplit("_", 1)[0] + "_claims"] * n), 1)
        most = float(stats.binom.isf(0.05 / (len(rejects) + len(covers)), tried, 0.05)) / tried
        goals[name] = ["<=", most] if name in rejects else [">=", 1 - most]
    return goals


def rates(cell: Cell, n: int, seed: int) -> dict[str, float]:
    """How often a true null is rejected, how often the interval holds the effect, and how many studies claim."""
    started, rng = time.perf_counter(), np.random.default_rng([7, seed])
    patterns = PATTERNS if cell.dropout else 1
    counts = {"claims": 0, "rejects": 0, "covers": 0, "finds": 0}
    for _ in range(patterns):
        kept = pattern(cell, rng)
        plan = CrossedPlan(kept)
        for effect in (0.0, EFFECT):
            values = draw(kept, cell, effect, rng, -(-n // patterns))
            fit = plan.fit(values, {"c1": 1.0, "c0": -1.0})
            if fit is None or fit.refused:
                continue
            p = np.nan_to_num(fit.p_value, nan=1.0)
            half = special.stdtrit(fit.df, 0.975) * np.sqrt(fit.variance)
            if effect:
                counts["covers"] += int((np.abs(fit.value - effect) <= half).sum())
                counts["finds"] += int((p < 0.05).sum())
            else:
                counts["rejects"] += int((p < 0.05).sum())
                counts["claims"] += len(p)
    total, claims = -(-n // patterns) * patterns, max(counts["claims"], 1)
    found = {"claims": counts["claims"] / total, "power": counts["finds"] / total}
    if counts["claims"]:
        found |= {"rejects": counts["rejects"] / claims, "covers": counts["covers"] / claims}
    label = "" if found.get("rejects", 0.05) >= 0.035 else " conservative"
    print(f"{cell.name}:{label} {time.perf_counter() - started:.0f} s", json.dumps(found), flush=True)
    return {f"{cell.name}_{what}": round(figure, 4) for what, figure in found.items()}


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
    started, design = time.perf_counter(), preset(name).design
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
    rng, rejected, claims = np.random.default_rng([9, len(name)]), 0, 0
    for _ in range(n):
        chance = special.logit(np.where(wrong, 0.7, 0.9)) if right else rng.normal(0, TASK, len(task[1]))[task[0]]
        chance = special.expit(chance + rng.normal(0, PERSON, len(person[1]))[person[0]])
        drawn = rows.assign(value=(rng.random(len(rows)) < chance).astype(float))
        fit = estimate_contrasts(drawn, "value", primary, 1.0)
        p_values = [one.p_value for one in fit.estimates.values() if one.p_value is not None]
        rejected += bool(p_values) and min(p_values) * len(p_values) < design.estimands.alpha
        claims += all(one.over_tasks for one in fit.claims.values())
    scope = "people and tasks" if claims == n else f"these tasks only in {1 - claims / n:.0%} of studies"
    print(f"preset {name}: {scope}, {time.perf_counter() - started:.0f} s, rejects {rejected / n:.3f}", flush=True)
    return {f"preset_{name}_rejects": rejected / n, f"preset_{name}_claims": 1.0}


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
