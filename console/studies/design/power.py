"""Statistical power by simulation: the share of studies with this design that find an effect of an assumed size.

Each simulated study loses parts at the assumed rate and is analysed like real results: the planned contrasts with
participants and tasks at random, corrected as one family. The logit of a correct answer is a sum: the condition's
intercept, the effects of participant and task, and plus or minus half their responses to the condition. The intercepts
are set so that the rates averaged over participants and tasks are the assumed rates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import special

from console.analysis.statistics.contrasts import CellTable, adjust_p_values, fit_simple
from console.analysis.statistics.crossed import AnswerTable, CrossedPlan
from console.analysis.statistics.estimates import estimate_proportion
from console.errors import BadInput
from console.studies.design.allocation import allocate, task_count
from console.studies.design.contrasts import PRIMARY, Contrast, planned_contrasts
from console.studies.design.model import Design, Participants, conditions, varied_factors

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Assumptions:
    """The assumed shares at the factor's first and last level, and the spread of participants and tasks.

    The shares are on the primary measure. Levels between the first and the last behave like the first; other factors
    have no effect. The spreads are standard deviations on the logit scale: `effect_sd` and `task_effect_sd` are the
    spreads of the response of participants and tasks to the condition. `dropout` is the share (0 to 1) of parts that
    are lost. If no factor is given, the first varied factor is compared.
    """

    start: float = 0.33
    effect: float = 0.10
    participant_sd: float = 0.5
    effect_sd: float = 0.25
    task_sd: float = 1.0
    factor: str | None = None
    alpha: float = 0.05
    task_effect_sd: float = 0.4
    dropout: float = 0.0


@dataclass(frozen=True, slots=True)
class Power:
    """The share of simulated studies that find the contrast (Wilson's interval), and the mean half-width, if any.

    `tasks` is the number of tasks per condition. A study is `refused` if its remaining data support no claim over
    tasks, and counts as not finding the effect. `over_tasks` is False if the design itself supports no such claim. The
    study then claims an effect on its own tasks only.
    """

    contrast: str
    participants: int
    simulations: int
    rejected: int
    power: float
    low: float
    high: float
    half_width: float | None
    tasks: int = 0
    refused: float = 0.0
    over_tasks: bool = True


@dataclass(frozen=True, slots=True)
class _Layout:
    """The answers of a study without their values; `level` is 1 at the factor's last level, else 0.

    `part` numbers the participant's parts, `rank` orders the tasks within a part.
    """

    person: Ints
    task: Ints
    condition: Ints
    level: Ints
    part: Ints
    rank: Ints
    names: tuple[str, ...]
    primary: tuple[Contrast, ...]
    target: str
    correction: str
    keeps_begun: bool


_MOST_PATTERNS = 200
"""The maximum number of patterns of drop-out; each pattern needs its own plan."""


def power(
    design: Design,
    assumptions: Assumptions | None = None,
    *,
    participants: Sequence[int] = (),
    tasks: Sequence[int] = (),
    simulations: int = 200,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Power, ...]:
    """Return the power for each number of recruited participants and of tasks per condition, by default the design's.

    A study finds the effect if the contrast's corrected p-value is below the significance level and the remaining data
    support a claim over tasks. Raise BadInput if an assumption is invalid or the effect cannot be tested.
    """
    assumed = assumptions or Assumptions(alpha=design.estimands.alpha)
    counts, sizes = tuple(participants) or (design.participants.human,), tuple(tasks) or (design.tasks,)
    _check(assumed, counts, simulations, sizes)
    intercepts = _intercepts(assumed)
    found = []
    cells = [(size, count) for size in sizes for count in counts]
    for place, (size, count) in enumerate(cells):
        sized = design.model_copy(update={"tasks": size, "participants": Participants(human=count)})
        layout = _layout(sized, get_compared_levels(design, assumed.factor))
        rng = np.random.default_rng([seed, count] if size == design.tasks else [seed, count, size])
        studies, done = _Studies(_supports_claim(layout)), 0
        for several in _batches(simulations, assumed.dropout):
            studies.add(layout, assumed, intercepts, rng, several)
            for _ in range(several):
                done += 1
                progress(place * simulations + done, len(cells) * simulations)
        found.append(studies.summarise(layout.target, count, size, assumed.alpha))
    return tuple(found)


_MOST_PEOPLE = 120


@dataclass(frozen=True, slots=True)
class Recruitment:
    """The smallest number of participants that reaches the power goal with `tasks` tasks; None if above 120."""

    tasks: int
    participants: int | None
    power: float


def recruit(
    design: Design, assumptions: Assumptions, tasks: Sequence[int], *, goal: float = 0.8, simulations: int = 200
) -> tuple[Recruitment, ...]:
    """Return the participants to recruit for each number of tasks per condition, by bisection.

    The numbers are multiples of the number of conditions, so that the allocation is balanced.
    """
    step = max(len(conditions(design)), 2)

    def at(size: int, count: int) -> Power:
        return power(design, assumptions, participants=[count * step], tasks=[size], simulations=simulations)[0]

    return tuple(_smallest(partial(at, size), _MOST_PEOPLE // step, size, goal) for size in tasks)


def _smallest(at: Callable[[int], Power], high: int, size: int, goal: float) -> Recruitment:
    reached, low = at(high), 1
    if reached.power < goal:
        return Recruitment(size, None, reached.power)
    while low < high:
        middle = (low + high) // 2
        tried = at(middle)
        if tried.power >= goal:
            high, reached = middle, tried
        else:
            low = middle + 1
    return Recruitment(size, reached.participants, reached.power)


def get_compared_levels(design: Design, factor: str | None = None) -> tuple[str, str, str]:
    """Return the compared factor with its first and last level; raise BadInput if the design does not vary it."""
    varying = varied_factors(design)
    if not varying:
        raise BadInput("Power cannot be estimated for a design with one condition. Give a factor two levels.")
    name = factor or next(iter(varying))
    if name not in varying:
        raise BadInput(f"The design does not vary {name!r}. Choose a factor that it varies: {', '.join(varying)}.")
    return name, varying[name][0], varying[name][-1]


def _check(assumed: Assumptions, counts: Sequence[int], simulations: int, sizes: Sequence[int]) -> None:
    ends = (assumed.start, assumed.start + assumed.effect)
    if not all(0 < rate < 1 for rate in ends):
        raise BadInput(
            f"The assumed rates {ends[0]:g} (start) and {ends[1]:g} (start plus effect) are not both between 0 and 1. "
            "Change start or effect."
        )
    if not 0 < assumed.alpha < 1:
        raise BadInput(f"The assumed alpha {assumed.alpha:g} is not between 0 and 1. Set alpha, for example to 0.05.")
    if not 0 <= assumed.dropout < 1:
        raise BadInput(f"The assumed dropout {assumed.dropout:g} is not from 0 to below 1. Set dropout, such as 0.15.")
    if wrong := [size for size in sizes if not 1 <= size <= 1_000]:
        raise BadInput(f"Power cannot be estimated for {wrong[0]} tasks. Set --tasks to numbers from 1 to 1000.")
    for name in ("participant_sd", "effect_sd", "task_sd", "task_effect_sd"):
        if not 0 <= getattr(assumed, name) <= 10:
            raise BadInput(f"The assumed {name} {getattr(assumed, name):g} is not from 0 to 10. Change {name}.")
    if wrong := [count for count in counts if not 2 <= count <= 1_000]:
        raise BadInput(f"Power cannot be estimated for {wrong[0]} participants. Set --n to numbers from 2 to 1000.")
    if simulations < 1:
        raise BadInput(f"Power cannot be estimated from {simulations} simulations. Set at least 1 simulation.")


def _intercepts(assumed: Assumptions) -> Floats:
    from scipy.optimize import brentq  # slow to load, and few need it

    responses = np.hypot(assumed.effect_sd / 2, assumed.task_effect_sd / 2)
    spread = float(np.hypot(np.hypot(assumed.participant_sd, responses), assumed.task_sd))
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    shares = weights / weights.sum()

    def at(rate: float) -> float:
        return float(brentq(lambda base: float(special.expit(base + spread * nodes) @ shares) - rate, -200, 200))

    return np.array([at(assumed.start), at(assumed.start + assumed.effect)])


def _layout(design: Design, comparison: tuple[str, str, str]) -> _Layout:
    factor, first, last = comparison
    levels = {arm.name: arm.levels[factor] for arm in conditions(design)}
    places = allocate(design, [str(key) for key in range(task_count(design))])
    primary = tuple(one for one in planned_contrasts(design) if one.kind == PRIMARY)
    target = f"{factor}: {last} - {first}"
    if not any(one.name == target for one in primary):
        raise BadInput(
            f"The power of {factor} cannot be estimated, because no two conditions differ in {factor} alone. Cross the "
            "factors, or assume an effect of another factor."
        )
    names = sorted({place.condition for place in places})
    columns = [(place.number - 1, names.index(place.condition), levels[place.condition] == last) for place in places]
    person, condition, level = (np.repeat(column, design.tasks) for column in np.array(columns, dtype=np.intp).T)
    return _Layout(
        person=person,
        task=np.array([int(key) for place in places for key in place.tasks], dtype=np.intp),
        condition=condition,
        level=level,
        part=np.repeat(np.arange(len(places)), design.tasks),
        rank=np.tile(np.arange(design.tasks), len(places)),
        names=tuple(names),
        primary=primary,
        target=target,
        correction=design.estimands.correction,
        # Decisions count from the first one on; tasks count once their condition has ended.
        keeps_begun=design.estimands.measure == "right",
    )


def _supports_claim(layout: _Layout) -> bool:
    fit = _plan(layout, np.ones(len(layout.task), dtype=np.bool_)).fit(
        np.zeros((len(layout.task), 1)), dict(next(one for one in layout.primary if one.name == layout.target).weights)
    )
    return fit is not None and not fit.refused


def _plan(layout: _Layout, kept: NDArray[np.bool_]) -> CrossedPlan:
    person, task, condition = (
        np.unique(codes[kept], return_inverse=True) for codes in (layout.person, layout.task, layout.condition)
    )
    names = tuple(layout.names[at] for at in condition[0])
    return CrossedPlan(AnswerTable(person[1], task[1], condition[1], names))


def _batches(simulations: int, dropout: float) -> Iterator[int]:
    """Yield the numbers of studies that share a pattern of drop-out."""
    patterns = min(simulations, _MOST_PATTERNS) if dropout else -(-simulations // 500)
    for place in range(patterns):
        yield simulations // patterns + (place < simulations % patterns)


def _left(layout: _Layout, dropout: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    parts = int(layout.part.max()) + 1
    lost = rng.random(parts) < dropout
    reached = np.where(lost, rng.integers(0, layout.rank.max() + 1, parts) * layout.keeps_begun, layout.rank.max() + 1)
    kept: NDArray[np.bool_] = layout.rank < reached[layout.part]
    return kept


def _draw(layout: _Layout, assumed: Assumptions, intercepts: Floats, rng: np.random.Generator, studies: int) -> Floats:
    people, tasks = int(layout.person.max()) + 1, int(layout.task.max()) + 1
    base, own = (rng.normal(0, sd, (people, studies)) for sd in (assumed.participant_sd, assumed.effect_sd))
    hard, other = (rng.normal(0, sd, (tasks, studies)) for sd in (assumed.task_sd, assumed.task_effect_sd))
    half = (layout.level - 0.5)[:, None]
    logit = intercepts[layout.level][:, None] + base[layout.person] + hard[layout.task]
    logit += half * (own[layout.person] + other[layout.task])
    values: Floats = (rng.random(logit.shape) < special.expit(logit)).astype(np.float64)
    return values


class _Studies:
    """The p-values and half-widths of simulated studies; a study without a test has the p-value NaN."""

    def __init__(self, over_tasks: bool) -> None:
        self._over_tasks = over_tasks
        self._p_values: list[float] = []
        self._halves: list[float] = []
        self._refused = 0

    def add(
        self, layout: _Layout, assumed: Assumptions, intercepts: Floats, rng: np.random.Generator, studies: int
    ) -> None:
        """Simulate and analyse studies with one pattern of drop-out."""
        kept = _left(layout, assumed.dropout, rng)
        values = _draw(layout, assumed, intercepts, rng, studies)[kept]
        found = _tests(layout, kept, values) if self._over_tasks else _simple_tests(layout, kept, values)
        if layout.target not in found:
            self._refused += studies
            self._p_values += [float("nan")] * studies
            return
        for at in range(studies):
            p_values = {name: None if np.isnan(p[at]) else float(p[at]) for name, (p, _) in found.items()}
            p = adjust_p_values(p_values, layout.correction)[layout.target]
            self._p_values.append(float("nan") if p is None else p)
        halves = found[layout.target][1]
        self._halves += halves[np.isfinite(halves)].tolist()

    def summarise(self, contrast: str, count: int, tasks: int, alpha: float) -> Power:
        """Return the power of these studies."""
        total, rejected = len(self._p_values), int((np.array(self._p_values) < alpha).sum())
        share = estimate_proportion(rejected, total)
        low, high = (share.interval.low, share.interval.high) if share.interval else (0.0, 1.0)
        half = float(np.mean(self._halves)) if self._halves else None
        refused = self._refused / total
        return Power(
            contrast, count, total, rejected, rejected / total, low, high, half, tasks, refused, self._over_tasks
        )


def _tests(layout: _Layout, kept: NDArray[np.bool_], values: Floats) -> dict[str, tuple[Floats, Floats]]:
    """Return (p-values, half-widths) of each primary contrast over tasks; omit refused contrasts."""
    found: dict[str, tuple[Floats, Floats]] = {}
    if not kept.any():
        return found
    plan = _plan(layout, kept)
    for one in layout.primary:
        fit = plan.fit(values, one.weights)
        if fit is not None and not fit.refused:
            found[one.name] = fit.p_value, special.stdtrit(fit.df, 0.975) * np.sqrt(fit.variance)
    return found


def _simple_tests(layout: _Layout, kept: NDArray[np.bool_], values: Floats) -> dict[str, tuple[Floats, Floats]]:
    """Return (p-values, half-widths) of each primary contrast on participants' means."""
    parts, first, place = np.unique(layout.part[kept], return_index=True, return_inverse=True)
    if not len(parts):
        return {}
    person = np.unique(layout.person[kept][first], return_inverse=True)[1]
    names, condition = np.unique(layout.condition[kept][first], return_inverse=True)
    whole = layout.task.reshape(-1, int(layout.rank.max()) + 1)[parts]
    sets = np.unique(whole, axis=0, return_inverse=True)[1].ravel()
    counts = np.bincount(place)
    found: dict[str, tuple[list[float], list[float]]] = {one.name: ([], []) for one in layout.primary}
    for column in values.T:
        means = np.bincount(place, column) / counts
        cells = CellTable(means, condition, person, sets, tuple(layout.names[at] for at in names))
        for one in layout.primary:
            tested = fit_simple(cells, one.weights)
            p, interval = tested.p_value, tested.interval
            found[one.name][0].append(float("nan") if p is None else p)
            found[one.name][1].append((interval.high - interval.low) / 2 if interval else float("nan"))
    return {name: (np.array(p), np.array(half)) for name, (p, half) in found.items()}
