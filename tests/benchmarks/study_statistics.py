"""Do the estimates of a study hold their stated rates? A thousand simulated studies with an effect and without one.

`python tests/benchmarks/study_statistics.py [--quick] [--studies N]`; the last line is the result as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from console.analysis.statistics import mixed_models, paired  # noqa: E402
from console.analysis.statistics.contrasts import contrasts  # noqa: E402
from console.analysis.statistics.estimates import Estimate  # noqa: E402
from tests.answered import differences, study  # noqa: E402

EFFECT = 0.8
STUDIES, QUICK = 1_000, 60
LOGISTIC_EVERY = 5
"""The logistic estimate is no gate and takes ten times as long, so only every fifth study has it."""


@dataclass(frozen=True)
class Design:
    """The reference study, two and three times as large ones, and one between participants."""

    name: str
    people: int
    conditions: int
    between: bool = False


DESIGNS = (
    Design("within_4", 4, 4),
    Design("within_8", 8, 4),
    Design("within_12", 12, 4),
    Design("between_24", 24, 2, between=True),
)
GATED = ("primary", "linear")
SMALL = "within_4"
"""The design whose rates may err on the careful side: four participants leave six degrees of freedom."""


def main() -> None:
    """Prints the rates of each estimator in each design, and whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} studies of each kind; rates are not gated")
    parser.add_argument("--studies", type=int, default=STUDIES)
    given = parser.parse_args()
    n = QUICK if given.quick else given.studies
    figures: dict[str, float] = {"studies": n}
    for design in DESIGNS:
        figures |= rates(design, n)
    goals = loose() if given.quick else strict(figures)
    print(json.dumps({"benchmark": "study_statistics", "figures": figures, "goals": goals, "met": met(figures, goals)}))


def rates(design: Design, n: int) -> dict[str, float]:
    """How often the 95% interval holds the effect, and how often p < 0.05 without one and (power) with it."""
    started = time.perf_counter()
    found: dict[str, float] = {}
    for effect in (0.0, EFFECT):
        drawn = [estimates(design, effect, seed) for seed in range(n)]
        for name, truth in true_values(effect).items():
            tried = [one[name] for one in drawn if name in one]
            given = [one for one in tried if one.interval is not None]
            found |= told(f"{design.name}_{name}", given, truth, effect, len(given) / len(tried))
    print(f"{design.name}: {2 * n} studies in {time.perf_counter() - started:.0f} s", flush=True)
    return found


def estimates(design: Design, effect: float, seed: int) -> dict[str, Estimate]:
    """The difference of the second condition from the first, by each estimator."""
    draw = np.random.default_rng([seed, design.people, int(effect > 0)])
    frame = study(draw, design.people, design.conditions, effect=effect, between=design.between)
    fits = {"linear": mixed_models.linear(frame, "value")}
    if seed % LOGISTIC_EVERY == 0:
        fits["logistic"] = mixed_models.logistic(frame, "value")
    fits_of_contrasts = contrasts(frame, "value", {"primary": {"c1": 1.0, "c0": -1.0}}).estimates
    way = "between" if design.between else "within"
    return (
        {name: fit.differences["c1"] for name, fit in fits.items()}
        | fits_of_contrasts
        | {"t_test": paired.compare(frame, "value", "c1", "c0", way).difference}
    )


def true_values(effect: float) -> dict[str, float]:
    """What each estimator is after."""
    probability, odds = differences(effect)
    return {"primary": probability, "linear": probability, "logistic": odds, "t_test": probability}


def told(name: str, given: list[Estimate], truth: float, effect: float, share: float) -> dict[str, float]:
    """The rates of one estimator, under names of its own."""
    rejected = float(np.mean([one.p_value < 0.05 for one in given]))
    held = float(np.mean([one.interval.low <= truth <= one.interval.high for one in given]))
    if not effect:
        return {f"{name}_rejects": round(rejected, 4), f"{name}_given": round(share, 4)}
    return {f"{name}_holds": round(held, 4), f"{name}_power": round(rejected, 4)}


def strict(figures: dict[str, float]) -> dict[str, list]:
    """The stated rates, for the estimator that the report shows first."""
    goals: dict[str, list] = {}
    for design in DESIGNS:
        for name in (f"{design.name}_{estimator}" for estimator in GATED):
            goals[f"{name}_holds"] = [">=", 0.93]
            goals[f"{name}_rejects"] = ["<=", 0.07]
            if design.name != SMALL and name.endswith(GATED[0]):
                figures |= {f"{name}_holds_at_most": figures[f"{name}_holds"]}
                figures |= {f"{name}_rejects_at_least": figures[f"{name}_rejects"]}
                goals[f"{name}_holds_at_most"] = ["<=", 0.97]
                goals[f"{name}_rejects_at_least"] = [">=", 0.03]
            goals[f"{name}_given"] = [">=", 0.999]
    return goals


def loose() -> dict[str, list]:
    """What a few studies can tell: that an estimate comes out, and no rate is far away."""
    names = [f"{design.name}_{estimator}" for design in DESIGNS for estimator in GATED]
    return {f"{name}_given": [">=", 0.999] for name in names} | {f"{name}_holds": [">=", 0.85] for name in names}


def met(figures: dict[str, float], goals: dict[str, list]) -> bool:
    """Whether every goal is reached."""
    return all(figures[name] >= at if way == ">=" else figures[name] <= at for name, (way, at) in goals.items())


if __name__ == "__main__":
    main()
