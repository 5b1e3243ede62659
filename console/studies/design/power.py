"""Statistical power by simulation: how often a study with this design finds an effect of an assumed size.

Each simulated study is analysed like real results: the planned contrasts in one model, corrected as one family. The
logit of a correct answer is the sum of the condition's intercept, the participant's effect, plus or minus half the
participant's own response to the condition, and the task's effect. The intercepts are set so that the rates averaged
over participants and tasks are the assumed rates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from console.analysis.statistics.contrasts import CellTable, adjust_p_values, fit_contrasts
from console.analysis.statistics.estimates import Estimate, estimate_proportion
from console.errors import BadInput
from console.studies.design.allocation import PlannedCondition, allocate, task_count
from console.studies.design.contrasts import PRIMARY, Contrast, planned_contrasts
from console.studies.design.model import Design, Participants, conditions, varied

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Assumptions:
    """The assumed shares at the factor's first and last level, and the spread of participants and tasks.

    The shares are on the primary measure. Levels between the first and the last behave like the first; other factors
    have no effect. The spreads are standard deviations on the logit scale. If no factor is given, the first varied
    factor is compared.
    """

    start: float = 0.33
    effect: float = 0.10
    participant_sd: float = 0.5
    effect_sd: float = 0.25
    task_sd: float = 1.0
    factor: str | None = None
    alpha: float = 0.05


@dataclass(frozen=True, slots=True)
class Power:
    """The share of simulated studies that find the contrast (Wilson's interval), and the mean half-width, if any."""

    contrast: str
    participants: int
    simulations: int
    rejected: int
    power: float
    low: float
    high: float
    half_width: float | None


@dataclass(frozen=True, slots=True)
class _Layout:
    """The cells of a study without their values, the levels of the compared factor, and the contrasts to test.

    `level` of a cell is 1 at the factor's last level, else 0; `tasks` holds task numbers.
    """

    cells: CellTable
    level: Ints
    tasks: Ints
    task_total: int
    primary: tuple[Contrast, ...]
    target: str
    correction: str


def power(
    design: Design,
    assumptions: Assumptions | None = None,
    *,
    participants: Sequence[int] = (),
    simulations: int = 200,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Power, ...]:
    """Return the power for each number of participants, by default the number of people in the design.

    A study finds the effect if the corrected p-value of the contrast is below the significance level. Raise BadInput if
    an assumption is invalid or the effect cannot be tested.
    """
    assumed = assumptions or Assumptions(alpha=design.estimands.alpha)
    counts = tuple(participants) or (design.participants.human,)
    _check(assumed, counts, simulations)
    intercepts = _intercepts(assumed)
    found = []
    for place, count in enumerate(counts):
        layout = _layout(design, count, compared_levels(design, assumed.factor))
        rng = np.random.default_rng([seed, count])
        tests = []
        for done in range(simulations):
            tests.append(_study(layout, assumed, intercepts, rng))
            progress(place * simulations + done + 1, len(counts) * simulations)
        found.append(_power(layout.target, count, tests, assumed.alpha))
    return tuple(found)


def compared_levels(design: Design, factor: str | None = None) -> tuple[str, str, str]:
    """Return the compared factor with its first and last level; raise BadInput if the design does not vary it."""
    varying = varied(design)
    if not varying:
        raise BadInput("Power cannot be estimated: the design has only one condition. Give a factor two levels.")
    name = factor or next(iter(varying))
    if name not in varying:
        raise BadInput(f"The design does not vary {name!r}. Choose a factor that it varies: {', '.join(varying)}.")
    return name, varying[name][0], varying[name][-1]


def _check(assumed: Assumptions, counts: Sequence[int], simulations: int) -> None:
    ends = (assumed.start, assumed.start + assumed.effect)
    if not all(0 < rate < 1 for rate in ends):
        raise BadInput(
            f"The assumed rates {ends[0]:g} (start) and {ends[1]:g} (start plus effect) are not both between 0 and 1. "
            "Change start or effect."
        )
    if not 0 < assumed.alpha < 1:
        raise BadInput(f"The assumed alpha {assumed.alpha:g} is not between 0 and 1. Set alpha, for example to 0.05.")
    for name in ("participant_sd", "effect_sd", "task_sd"):
        if not 0 <= getattr(assumed, name) <= 10:
            raise BadInput(f"The assumed {name} {getattr(assumed, name):g} is not from 0 to 10. Change {name}.")
    if wrong := [count for count in counts if not 2 <= count <= 1_000]:
        raise BadInput(f"Power cannot be estimated for {wrong[0]} participants. Set --n to numbers from 2 to 1000.")
    if simulations < 1:
        raise BadInput(f"Power cannot be estimated from {simulations} simulations. Set at least 1 simulation.")


def _intercepts(assumed: Assumptions) -> Floats:
    from scipy.optimize import brentq  # slow to load, and few need it

    spread = float(np.hypot(np.hypot(assumed.participant_sd, assumed.effect_sd / 2), assumed.task_sd))
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    shares = weights / weights.sum()

    def at(rate: float) -> float:
        return float(brentq(lambda base: float(special.expit(base + spread * nodes) @ shares) - rate, -200, 200))

    return np.array([at(assumed.start), at(assumed.start + assumed.effect)])


def _layout(design: Design, count: int, comparison: tuple[str, str, str]) -> _Layout:
    factor, first, last = comparison
    sized = design.model_copy(update={"participants": Participants(human=count)})
    levels = {arm.name: arm.levels[factor] for arm in conditions(design)}
    total = task_count(design)
    places = allocate(sized, [str(key) for key in range(total)])
    primary = tuple(one for one in planned_contrasts(design) if one.kind == PRIMARY)
    target = f"{factor}: {last} - {first}"
    if not any(one.name == target for one in primary):
        raise BadInput(
            f"The power of {factor} cannot be estimated: no two conditions differ in {factor} alone. Cross the "
            "factors, or assume an effect of another factor."
        )
    return _Layout(
        cells=_cells(places, sorted(levels)),
        level=np.array([levels[place.condition] == last for place in places], dtype=np.int64),
        tasks=np.array([[int(key) for key in place.tasks] for place in places], dtype=np.int64),
        task_total=total,
        primary=primary,
        target=target,
        correction=design.estimands.correction,
    )


def _cells(places: Sequence[PlannedCondition], names: Sequence[str]) -> CellTable:
    there = [name for name in names if any(place.condition == name for place in places)]
    who = np.array([place.number - 1 for place in places], dtype=np.intp)
    under = np.array([there.index(place.condition) for place in places], dtype=np.intp)
    blocks = list(dict.fromkeys(place.tasks for place in places))
    met = np.array([blocks.index(place.tasks) for place in places], dtype=np.intp)
    return CellTable(np.zeros(len(places)), under, who, met, tuple(there))


def _study(layout: _Layout, assumed: Assumptions, intercepts: Floats, rng: np.random.Generator) -> Estimate:
    who, people = layout.cells.who, layout.cells.participants
    base = rng.normal(0, assumed.participant_sd, people)
    own = rng.normal(0, assumed.effect_sd, people)
    tasks = rng.normal(0, assumed.task_sd, layout.task_total)
    place = intercepts[layout.level] + base[who] + own[who] * (layout.level - 0.5)
    chance = special.expit(place[:, None] + tasks[layout.tasks])
    rates = (rng.random(chance.shape) < chance).mean(axis=1)
    fit = fit_contrasts(replace(layout.cells, values=rates), {one.name: one.weights for one in layout.primary})
    corrected = adjust_p_values({name: found.p_value for name, found in fit.estimates.items()}, layout.correction)
    return replace(fit.estimates[layout.target], p_value=corrected[layout.target])


def _power(contrast: str, count: int, tests: Sequence[Estimate], alpha: float) -> Power:
    rejected = sum(test.p_value is not None and test.p_value < alpha for test in tests)
    share = estimate_proportion(rejected, len(tests))
    widths = [(test.interval.high - test.interval.low) / 2 for test in tests if test.interval]
    low, high = (share.interval.low, share.interval.high) if share.interval else (0.0, 1.0)
    half = float(np.mean(widths)) if widths else None
    return Power(contrast, count, len(tests), rejected, rejected / len(tests), low, high, half)
