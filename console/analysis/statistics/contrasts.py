"""Contrasts of conditions: stated sums of condition means, from a mixed model with participants and tasks as random.

A cell is a participant's mean under a condition. Tasks come in sets that are shared and rotated, and a cell's mean
holds the mean effect of its whole set: random tasks are a random effect of the set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from console.analysis.statistics.estimates import LEVEL, Estimate, Floats, need, of_t, undefined

Weights = Mapping[str, float]
"""By condition, what its mean counts in the contrast; the weights of a difference add up to 0."""

_LEAST_DF = 3
_MOST_CELLS = 800
_NONE = 1e-10
_RATIOS = (-12.0, 8.0)


@dataclass(frozen=True, eq=False)
class CellTable:
    """Cell means with their condition, participant and set of tasks as numbers; `df` of the stratum of conditions.

    `sets` is None where sets of tasks cannot be told from conditions or participants; then they are part of the error.
    """

    values: Floats
    condition: NDArray[np.intp]
    who: NDArray[np.intp]
    sets: NDArray[np.intp] | None
    names: tuple[str, ...]
    df: int

    @property
    def participants(self) -> int:
        """How many there are."""
        return int(self.who.max()) + 1 if self.who.size else 0

    @property
    def within(self) -> bool:
        """Whether any participant has more than one condition."""
        return self.values.size > self.participants


@dataclass(frozen=True, slots=True)
class ContrastFit:
    """Each contrast's estimate by its name, and the model that gave them, in words for a report."""

    estimates: dict[str, Estimate]
    method: str


def contrasts(frame: pd.DataFrame, value: str, wanted: Mapping[str, Weights], level: float = LEVEL) -> ContrastFit:
    """Each wanted sum of condition means with a t interval; the frame has columns participant, condition and task_id.

    Within participants: REML with participants and sets of tasks as random effects, and the degrees of freedom of the
    participant-by-condition stratum (Pinheiro and Bates 2000, section 2.4); in a balanced layout that is least squares,
    elsewhere a variance that is estimated as nothing makes its effects fixed, which keeps the error honest. Between:
    least squares of participants' means, which have the same tasks. A contrast over a condition without answers is
    undefined. Raises BadInput for a missing column.
    """
    return fit_contrasts(cell_table(frame, value), wanted, level)


def fit_contrasts(cells: CellTable, wanted: Mapping[str, Weights], level: float = LEVEL) -> ContrastFit:
    """The same of cells that are made already."""
    if cells.df < 1:
        few = "1 participant leaves" if cells.participants == 1 else f"{cells.participants} participants leave"
        note = f"Not estimable: {few} nothing to measure the spread by."
        return ContrastFit({name: _bare(cells, weights, note) for name, weights in wanted.items()}, "")
    fit = _fit(cells)
    return ContrastFit({name: _estimate(cells, fit, weights, level) for name, weights in wanted.items()}, fit.method)


def cell_table(frame: pd.DataFrame, value: str) -> CellTable:
    """The means of the frame's cells; raises BadInput for a missing column."""
    need(frame, "participant", "condition", "task_id", value)
    rows = frame.dropna(subset=["participant", "condition", value])
    keys = [rows["participant"].astype(str), rows["condition"].astype(str)]
    means = rows[value].astype(float).groupby(keys).mean()
    who, condition = (means.index.get_level_values(at) for at in (0, 1))
    person, names = pd.factorize(who)[0], sorted(set(condition))
    under = np.array([names.index(name) for name in condition], dtype=np.intp)
    met = rows["task_id"].astype(str).groupby(keys).agg(lambda tasks: "\n".join(sorted(set(tasks))))
    sets, df = contrasts_df(person, under, pd.factorize(met)[0])
    return CellTable(np.asarray(means, dtype=np.float64), under, person, sets, tuple(names), df)


def contrasts_df(
    who: NDArray[np.intp], under: NDArray[np.intp], met: NDArray[np.intp]
) -> tuple[NDArray[np.intp] | None, int]:
    """The sets of tasks that enter the model, None where none can, and its degrees of freedom.

    Each cell's participant, condition and set of tasks as numbers from 0. Between participants there are no sets.
    """
    people, count = len(np.unique(who)), len(np.unique(under))
    if len(who) == people:
        return None, len(who) - count
    df = len(who) - count - (people - 1)
    sets = int(met.max()) + 1
    if not 1 < sets <= len(met) // 2 or df - (sets - 1) < _LEAST_DF:
        return None, df
    both = np.hstack([_indicator(under), _indicator(met)[:, 1:]])
    return (met, df - (sets - 1)) if np.linalg.matrix_rank(both) == both.shape[1] else (None, df)


def _indicator(numbers: NDArray[np.intp]) -> Floats:
    return np.eye(int(numbers.max()) + 1)[numbers]


@dataclass(frozen=True, eq=False)
class _Fit:
    levels: Floats
    covariance: Floats
    estimable: Floats
    method: str


def _fit(cells: CellTable) -> _Fit:
    """The model's levels of the conditions; what is estimable within participants alone counts as estimable."""
    fixed = _indicator(cells.condition)
    if not cells.within:
        return _least_squares(cells, fixed, [], "least squares of participants' means")
    effects = {"participants": _indicator(cells.who)}
    if cells.sets is not None:
        effects["sets of tasks"] = _indicator(cells.sets)
    if _orthogonal(fixed, list(effects.values())):
        method = f"linear mixed model, {' and '.join(effects)} random; balanced, so least squares gives the same"
        return _least_squares(cells, fixed, list(effects.values()), method)
    if cells.values.size > _MOST_CELLS:
        return _many(cells, fixed, list(effects.values())[1:])
    linked = _many(cells, fixed, list(effects.values())[1:]).estimable
    ratios = _reml(cells.values, fixed, list(effects.values()))
    random = {name: ratios[at] for at, name in enumerate(effects) if ratios.get(at, 0.0) > 0}
    others = [effects[name] for name in effects if name not in random]
    fit = _generalised(cells, fixed, others, {name: (effects[name], ratio) for name, ratio in random.items()})
    return replace(fit, estimable=linked)


def _orthogonal(fixed: Floats, effects: Sequence[Floats]) -> bool:
    """Whether each condition meets every participant and set of tasks equally often, so that nothing is confounded."""
    shares = [(fixed / fixed.sum(axis=0)).T @ effect for effect in effects]
    return all(float(np.ptp(share, axis=0).max()) < _NONE for share in shares)


def _reml(values: Floats, fixed: Floats, effects: Sequence[Floats]) -> dict[int, float]:
    """The variance of each effect over that of the residual; 0 where the likelihood is highest at its edge."""
    from scipy.optimize import minimize  # slow to load, and few need it

    products = [effect @ effect.T for effect in effects]

    def deviance(logs: Floats) -> float:
        return _deviance(values, fixed, products, np.exp(logs))

    found = minimize(deviance, np.zeros(len(effects)), method="L-BFGS-B", bounds=[_RATIOS] * len(effects))
    edge = _RATIOS[0] + 4
    return {at: float(np.exp(log)) if log > edge else 0.0 for at, log in enumerate(found.x)}


def _deviance(values: Floats, fixed: Floats, products: Sequence[Floats], ratios: Floats) -> float:
    spread = np.eye(values.size)
    for ratio, product in zip(ratios, products, strict=True):
        spread = spread + ratio * product
    root = np.linalg.cholesky(spread)
    columns, given = np.linalg.solve(root, fixed), np.linalg.solve(root, values)
    inner = columns.T @ columns
    rest = given - columns @ np.linalg.solve(inner, columns.T @ given)
    df = values.size - fixed.shape[1]
    logs = 2 * float(np.log(np.diag(root)).sum()) + float(np.linalg.slogdet(inner)[1])
    return float(df * np.log(max(rest @ rest, 1e-300)) + logs)


def _generalised(
    cells: CellTable, fixed: Floats, others: Sequence[Floats], random: Mapping[str, tuple[Floats, float]]
) -> _Fit:
    if not random:
        names = "participants" + (" and sets of tasks" if cells.sets is not None else "")
        return _least_squares(cells, fixed, others, f"linear model with {names} as fixed effects")
    spread = np.eye(cells.values.size)
    for effect, ratio in random.values():
        spread = spread + ratio * effect @ effect.T
    root = np.linalg.cholesky(spread)
    columns = np.linalg.solve(root, np.hstack([fixed, *map(_centred, others)]))
    method = f"linear mixed model (REML), {' and '.join(random)} random"
    if others:
        fixed_names = [name for name in ("participants", "sets of tasks") if name not in random]
        method += f", {' and '.join(fixed_names[: len(others)])} fixed"
    return _solved(cells, np.linalg.solve(root, cells.values), columns, method)


def _least_squares(cells: CellTable, fixed: Floats, others: Sequence[Floats], method: str) -> _Fit:
    return _solved(cells, cells.values, np.hstack([fixed, *map(_centred, others)]), method)


def _many(cells: CellTable, fixed: Floats, others: Sequence[Floats]) -> _Fit:
    """Participants and sets of tasks fixed, each participant's mean taken out of every column, which gives the same."""
    counts = np.bincount(cells.who).astype(np.float64)[:, None]
    columns = np.hstack([cells.values[:, None], fixed, *map(_centred, others)])
    sums = np.zeros((counts.size, columns.shape[1]))
    np.add.at(sums, cells.who, columns)
    apart = columns - (sums / counts)[cells.who]
    names = "participants" + (" and sets of tasks" if others else "")
    return _solved(cells, apart[:, 0], apart[:, 1:], f"linear model with {names} as fixed effects", counts.size - 1)


def _centred(effect: Floats) -> Floats:
    columns = effect[:, 1:]
    centred: Floats = columns - columns.mean(axis=0)
    return centred


def _solved(cells: CellTable, values: Floats, columns: Floats, method: str, taken: int = 0) -> _Fit:
    inverse = np.linalg.pinv(columns.T @ columns)
    levels = inverse @ columns.T @ values
    rest = values - columns @ levels
    df = max(values.size - int(np.linalg.matrix_rank(columns)) - taken, 1)
    kept = len(cells.names)
    variance = float(rest @ rest) / df
    estimable = (inverse @ columns.T @ columns)[:kept]
    covariance: Floats = np.asarray(variance * inverse[:kept, :kept], dtype=np.float64)
    return _Fit(levels[:kept], covariance, estimable, f"{method}, t with {cells.df} df")


def _estimate(cells: CellTable, fit: _Fit, weights: Weights, level: float) -> Estimate:
    missing = [name for name in weights if name not in cells.names]
    if missing:
        return undefined(f"Not estimable: nobody answered in {', '.join(missing)}.", cells.participants)
    sums = np.array([weights.get(name, 0.0) for name in cells.names])
    told = sums @ fit.estimable
    if np.abs(told[: sums.size] - sums).max() > 1e-6 or np.abs(told[sums.size :]).max(initial=0.0) > 1e-6:
        return undefined("Not estimable: no participants link these conditions.", cells.participants)
    value, error = float(sums @ fit.levels), float(sums @ fit.covariance @ sums) ** 0.5
    if error <= _NONE:
        exact = 0.0 if abs(value) <= _NONE else value
        note = "The model fits every mean exactly, so there is no interval and no test."
        return Estimate(exact, n=cells.participants, note=note)
    return of_t(value, error, cells.df, cells.participants, level)


def _bare(cells: CellTable, weights: Weights, note: str) -> Estimate:
    """The sum of the plain means without an interval, where every condition has one."""
    if any(name not in cells.names for name in weights):
        return undefined(note, cells.participants)
    means = {name: float(cells.values[cells.condition == at].mean()) for at, name in enumerate(cells.names)}
    return Estimate(sum(weight * means[name] for name, weight in weights.items()), n=cells.participants, note=note)


def adjusted(p_values: Mapping[str, float | None], correction: str) -> dict[str, float | None]:
    """The p-values corrected over all that are defined, by `holm` (1979), `bonferroni` or not at all (`none`).

    Of our own, since planning asks it thousands of times and statsmodels collects garbage at each call.
    """
    given = sorted((p, name) for name, p in p_values.items() if p is not None)
    if correction == "none":
        return dict(p_values)
    found, least = dict(p_values), 0.0
    for place, (p, name) in enumerate(given):
        times = len(given) - (place if correction == "holm" else 0)
        least = max(least, min(1.0, p * times)) if correction == "holm" else min(1.0, p * times)
        found[name] = least
    return found


def equivalence(found: Estimate, margin: float) -> float | None:
    """The p-value of two one-sided t-tests that the figure lies within the margin (TOST); None without an interval."""
    from scipy import special  # slow to load, and few need it

    if found.interval is None or found.value is None or found.df is None:
        return None
    half = (found.interval.high - found.interval.low) / 2
    error = half / float(special.stdtrit(found.df, (1 + found.interval.level) / 2))
    return float(special.stdtr(found.df, (abs(found.value) - margin) / error))
