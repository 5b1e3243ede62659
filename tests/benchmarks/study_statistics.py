"""Do the estimates of a study hold their stated rates? A thousand simulated studies with an effect and without one.

And is the power that is printed beforehand the share of studies whose reports then find the effect? All are drawn here,
not by the console's own simulation: tasks and participants vary, tasks are dealt out to blocks by their trial 0 as the
console does it, and the answers go through the report's tables.

`study_statistics.py [--quick] [--studies N] [--only CELL | power]` prints its result as JSON in the last line.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from scipy import integrate, optimize, special, stats  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from console.analysis.statistics import mixed_models, paired  # noqa: E402
from console.analysis.statistics.contrasts import estimate_contrasts  # noqa: E402
from console.analysis.statistics.estimates import Estimate  # noqa: E402
from console.studies import design as study_design  # noqa: E402
from console.studies.analysis.contrasts import SUCH_TASKS, estimate_planned  # noqa: E402
from console.studies.design.allocation import KnownTask, stratify  # noqa: E402
from console.studies.design.contrasts import PRIMARY, plan_rows, planned_contrasts  # noqa: E402
from console.studies.design.power import Assumptions, get_compared_levels, power  # noqa: E402

EFFECT = 0.15
"""By how much the share of right answers goes up, from a half."""
STUDIES, QUICK = 1_000, 60
BESIDE_EVERY = 20
"""The estimators beside the planned contrast are no gate and take longer, so only every twentieth study has them."""


SOURCE = {"actor": "scripted", "environment": "webshop"}


def within(people: int) -> study_design.Design:
    """The reference study: two factors crossed, everybody under all four conditions, blocks of tasks in rotation."""
    return study_design.Design(
        name="within", source=SOURCE, tasks=25, participants={"human": people},
        factors={"detector": ["rules", "random"], "score": ["shown", "hidden"]},
    )  # fmt: skip


def between(people: int) -> study_design.Design:
    """Two conditions on the same tasks, of which everybody has one."""
    return study_design.Design(
        name="between", source=SOURCE, tasks=25, comparison="between", participants={"human": people},
        factors={"score": ["shown", "hidden"]},
    )  # fmt: skip


DESIGNS = {"within_4": within(4), "within_8": within(8), "within_12": within(12), "between_24": between(24)}
SMALL = "within_4"
"""The design whose rates may err on the careful side: four participants leave three degrees of freedom."""


def main() -> None:
    """Prints the rates of each estimator in each design, and whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} studies of each kind; rates are not gated")
    parser.add_argument("--studies", type=int, default=STUDIES)
    parser.add_argument("--only", choices=[*DESIGNS, "power"], help="the rates of one design, or the power alone")
    given = parser.parse_args()
    n = QUICK if given.quick else given.studies
    figures: dict[str, float] = {"studies": n}
    goals: dict[str, list] = {}
    for cell, design in DESIGNS.items():
        if given.only in (None, cell):
            figures |= rates(cell, design, n)
            goals |= loose(cell) if given.quick else strict(cell, figures)
    for name, (design, assumed) in POWERED.items():
        if given.only in (None, "power"):
            figures |= powers(name, design, assumed, n)
            goals[f"power_{name}_apart"] = ["<=", 1.0 if given.quick else 0.05]
    print(json.dumps({"benchmark": "study_statistics", "figures": figures, "goals": goals, "met": met(figures, goals)}))


def rates(cell: str, design: study_design.Design, n: int) -> dict[str, float]:
    """How often the 95% interval holds the effect, and how often p < 0.05 without one and (power) with it."""
    started = time.perf_counter()
    figures: dict[str, float] = {}
    for effect in (0.0, EFFECT):
        assumed = Assumptions(start=0.5, effect=effect, effect_sd=0.3)
        drawn = [estimates(design, assumed, seed) for seed in range(n)]
        for name, truth in true_values(assumed).items():
            tried = [one[name] for one in drawn if name in one]
            given = [one for one in tried if one.interval is not None]
            if tried:
                figures |= told(f"{cell}_{name}", given, truth, effect, len(given) / len(tried))
    print(f"{cell}: {2 * n} studies in {time.perf_counter() - started:.0f} s", json.dumps(figures), flush=True)
    return figures


def estimates(design: study_design.Design, assumed: Assumptions, seed: int) -> dict[str, Estimate]:
    """The primary contrast, and now and then that of two conditions by the other estimators.

    Then it is looked up whether the report's table has the same figures.
    """
    one = answered(design, assumed, np.random.default_rng([seed, design.participants.human, int(assumed.effect > 0)]))
    target = "{0}: {2} - {1}".format(*get_compared_levels(design))
    weights = {found.name: found.weights for found in planned_contrasts(design) if found.kind == PRIMARY}
    fit = estimate_contrasts(one.answers(), "value", weights).estimates[target]
    if seed % BESIDE_EVERY:
        return {"planned": fit}
    drawn = frames(design, one)
    row = primary_row(drawn, design)
    told = [row[name] for name in ("estimate", "low", "high", "p")]
    assert np.allclose(told, [fit.value, fit.interval.low, fit.interval.high, fit.p_value], rtol=1e-9, atol=1e-9)
    return {"planned": fit} | beside(drawn["outcomes"], design)


def beside(outcomes: pd.DataFrame, design: study_design.Design) -> dict[str, Estimate]:
    """The last condition less the first that it differs from in the compared factor alone, by models of a report."""
    factor, first, last = get_compared_levels(design)
    arms = study_design.conditions(design)
    base = next(arm for arm in arms if arm.levels[factor] == first)
    other = next(arm for arm in arms if arm.levels == base.levels | {factor: last})
    answers = outcomes[outcomes["trial"] > 0].assign(value=lambda rows: rows["solved_paper"] * 1.0)
    fits = {
        way.__name__: way(answers, "value", base.name) for way in (mixed_models.fit_linear, mixed_models.fit_logistic)
    }
    paired_test = paired.compare(answers, "value", other.name, base.name, design.comparison)
    found = {name: fit.differences[other.name] for name, fit in fits.items()}
    return found | {"t_test": paired_test.difference}


def true_values(assumed: Assumptions) -> dict[str, float]:
    """What each estimator is after."""
    odds = special.logit(assumed.start + assumed.effect) - special.logit(assumed.start)
    return {"planned": assumed.effect, "linear": assumed.effect, "logistic": float(odds), "t_test": assumed.effect}


def told(name: str, given: list[Estimate], truth: float, effect: float, share: float) -> dict[str, float]:
    """The rates of one estimator, under names of its own."""
    rejected = float(np.mean([one.p_value < 0.05 for one in given]))
    held = float(np.mean([one.interval.low <= truth <= one.interval.high for one in given]))
    if not effect:
        return {f"{name}_rejects": round(rejected, 4), f"{name}_given": round(share, 4)}
    return {f"{name}_holds": round(held, 4), f"{name}_power": round(rejected, 4)}


POWERED = {
    "within_8": (within(8), Assumptions(start=0.4, effect=0.1)),
    "between_24": (between(24), Assumptions(start=0.4, effect=0.15)),
    "within_8_drop15": (within(8), Assumptions(start=0.4, effect=0.1, dropout=0.15)),
    "between_24_drop30": (between(24), Assumptions(start=0.4, effect=0.15, dropout=0.3)),
}
"""Designs whose power is printed and then looked for, with effects that about half of the studies find."""


def powers(name: str, design: study_design.Design, assumed: Assumptions, n: int) -> dict[str, float]:
    """The power that is printed, and the share of studies whose reports find the effect."""
    started = time.perf_counter()
    (printed,) = power(design, assumed, simulations=n, seed=1)
    found = np.mean([found_in_report(design, assumed, seed) for seed in range(n)])
    print(f"power {name}: {n} studies in {time.perf_counter() - started:.0f} s", flush=True)
    told = {"printed": printed.power, "found": float(found), "apart": abs(printed.power - float(found))}
    return {f"power_{name}_{what}": round(figure, 4) for what, figure in told.items()}


def found_in_report(design: study_design.Design, assumed: Assumptions, seed: int) -> bool:
    """Whether the report of a study that is drawn anew calls the effect one."""
    row = primary_row(frames(design, answered(design, assumed, np.random.default_rng([seed, 77]))), design)
    return row["claim"] == SUCH_TASKS and bool(row["p_adjusted"] < row["alpha"])


def primary_row(drawn: dict[str, pd.DataFrame], design: study_design.Design) -> pd.Series:
    """The report's row of the primary contrast."""
    factor, first, last = get_compared_levels(design)
    shown = estimate_planned(drawn)
    return shown[(shown["kind"] == PRIMARY) & (shown["contrast"] == f"{factor}: {last} - {first}")].iloc[0]


@dataclass(frozen=True)
class Answered:
    """A study: who had which condition on which tasks, what was solved by the last trial, and at trial 0 by task.

    A part that was lost to drop-out is not closed.
    """

    places: list[study_design.PlannedCondition]
    solved: list[np.ndarray]
    first: dict[str, bool]
    closed: np.ndarray

    def answers(self) -> pd.DataFrame:
        """A row for each answer."""
        rows = [
            (place.code, place.condition, key, float(right))
            for place, solved in zip(self.places, self.solved, strict=True)
            for key, right in zip(place.tasks, solved, strict=True)
        ]
        return pd.DataFrame(rows, columns=["participant", "condition", "task_id", "value"])


def answered(design: study_design.Design, assumed: Assumptions, draw: np.random.Generator) -> Answered:
    """Answers by logits of person, task and effect; tasks are dealt out by what is known of them at trial 0."""
    keys = [f"t{number}" for number in range(study_design.task_count(design))]
    hard = dict(zip(keys, draw.normal(0, assumed.task_sd, len(keys)), strict=True))
    start, more = (intercept(assumed, rate) for rate in (assumed.start, assumed.start + assumed.effect))
    first = {key: bool(draw.random() < special.expit(start + hard[key])) for key in keys}
    scores = special.expit(draw.normal(list(hard.values()), 1.0))
    known = {
        key: KnownTask("succeeded" if first[key] else "failed", float(score), int(draw.integers(3, 12)))
        for key, score in zip(keys, scores, strict=True)
    }
    factor, _, last = get_compared_levels(design)
    arms = {arm.name: arm.levels[factor] == last for arm in study_design.conditions(design)}
    reacts = dict(zip(keys, draw.normal(0, assumed.task_effect_sd, len(keys)), strict=True))
    own = draw.normal(0, assumed.participant_sd, design.participants.human + 1)
    dealing = draw.normal(0, assumed.effect_sd, design.participants.human + 1)
    places = list(study_design.allocate(design, stratify(design, keys, known)))
    solved = []
    for place in places:
        raised = arms[place.condition]
        logit = (more if raised else start) + own[place.number] + dealing[place.number] * (raised - 0.5)
        chance = special.expit(logit + np.array([hard[key] + reacts[key] * (raised - 0.5) for key in place.tasks]))
        solved.append(draw.random(chance.size) < chance)
    return Answered(places, solved, first, draw.random(len(places)) >= assumed.dropout)


def frames(design: study_design.Design, one: Answered) -> dict[str, pd.DataFrame]:
    """The tidy tables of a study."""
    rows = []
    for place, solved, closed in zip(one.places, one.solved, one.closed.tolist(), strict=True):
        for key, right in zip(place.tasks, solved, strict=True):
            about = ("human", place.code, place.condition, key)
            rows += [(*about, 0, one.first[key], closed), (*about, design.trials - 1, bool(right), closed)]
    outcomes = pd.DataFrame(rows, columns=OUTCOMES)
    plan = pd.DataFrame([row for row in plan_rows(design) if row["kind"] == PRIMARY])
    return {"outcomes": outcomes, "success": outcomes, "participants": outcomes, "plan": plan}


OUTCOMES = ["annotator_kind", "participant", "condition", "task_id", "trial", "solved_paper", "closed"]


@lru_cache(maxsize=8)
def intercept(assumed: Assumptions, rate: float) -> float:
    """The logit at which that share is right over all people and tasks."""
    responses = (assumed.effect_sd**2 + assumed.task_effect_sd**2) / 4
    spread = (assumed.participant_sd**2 + responses + assumed.task_sd**2) ** 0.5

    def share(base: float) -> float:
        return integrate.quad(lambda z: special.expit(base + spread * z) * stats.norm.pdf(z), -8, 8)[0]

    return float(optimize.brentq(lambda base: share(base) - rate, -10, 10))


def strict(cell: str, figures: dict[str, float]) -> dict[str, list]:
    """The stated rates, for the contrast that the report shows first."""
    name = f"{cell}_planned"
    goals: dict[str, list] = {f"{name}_holds": [">=", 0.93], f"{name}_rejects": ["<=", 0.07]}
    if cell != SMALL:
        figures |= {f"{name}_holds_at_most": figures[f"{name}_holds"]}
        figures |= {f"{name}_rejects_at_least": figures[f"{name}_rejects"]}
        goals |= {f"{name}_holds_at_most": ["<=", 0.97], f"{name}_rejects_at_least": [">=", 0.03]}
    return goals | {f"{name}_given": [">=", 0.999]}


def loose(cell: str) -> dict[str, list]:
    """What a few studies can tell: that an estimate comes out, and no rate is far away."""
    return {f"{cell}_planned_given": [">=", 0.999], f"{cell}_planned_holds": [">=", 0.85]}


def met(figures: dict[str, float], goals: dict[str, list]) -> bool:
    """Whether every goal is reached."""
    return all(figures[name] >= at if way == ">=" else figures[name] <= at for name, (way, at) in goals.items())


if __name__ == "__main__":
    main()
