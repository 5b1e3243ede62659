"""Contrasts of conditions: weighted sums of condition means, with participants and tasks as random samples.

If the design supports a claim over tasks, `crossed` computes the estimate. Otherwise, and for comparison, the simple
estimate uses participants' means: each participant's own contrast value within participants, Welch's test between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from console.analysis.metrics.bootstrap import Interval
from console.analysis.statistics.crossed import CrossedFit, CrossedPlan, build_answer_table
from console.analysis.statistics.estimates import (
    Estimate,
    Floats,
    clip_interval,
    estimate_by_t,
    require_columns,
    undefined_estimate,
)

Weights = Mapping[str, float]
"""The weight of each condition's mean in the contrast; the weights of a difference add up to 0."""

Name = TypeVar("Name", str, tuple[int, str])

OWN_VALUES = "t-test of participants' own values"
"""The method that uses only participants with answers in every compared condition."""

_LEAST_DF = 3
_LEAST_WELCH = 0.999
_NONE = 1e-10


@dataclass(frozen=True, eq=False)
class CellTable:
    """Cell means, with condition, participant and task set as numbers from 0, and the names of the conditions."""

    values: Floats
    condition: NDArray[np.intp]
    who: NDArray[np.intp]
    met: NDArray[np.intp]
    names: tuple[str, ...]

    @property
    def participants(self) -> int:
        """The number of participants."""
        return int(self.who.max()) + 1 if self.who.size else 0

    @property
    def within(self) -> bool:
        """Whether any participant has more than one condition."""
        return self.values.size > self.participants


@dataclass(frozen=True, slots=True)
class ContrastClaim:
    """The scope of an estimate: tasks like these if `over_tasks`, else only these tasks, for the reason in `why`.

    `caution` names a test that rejects too rarely; `tasks` counts the tasks of the contrast.
    """

    over_tasks: bool
    tasks: int
    why: str = ""
    caution: str = ""


@dataclass(frozen=True, slots=True)
class ContrastFit:
    """By contrast name: the estimate, the description of its method, its claim, and the simple estimate."""

    estimates: dict[str, Estimate]
    methods: dict[str, str]
    claims: dict[str, ContrastClaim]
    simple: dict[str, Estimate]


CAUTION = "The test is conservative: its true error rate is 0.01 to 0.04."
_CAUTIOUS_PEOPLE, _CAUTIOUS_TASKS = 12, 8


def estimate_contrasts(
    frame: pd.DataFrame, value: str, wanted: Mapping[str, Weights], scale: float | None = None
) -> ContrastFit:
    """Estimate each contrast with a t interval; the frame has columns participant, condition and task_id.

    The estimate comes from `crossed.CrossedPlan`, or is the simple estimate if no claim over tasks is possible. `scale`
    is the range of a value (1 for shares), to which intervals are limited. A contrast without answers is undefined.
    Raise BadInput if a column is missing.
    """
    cells = build_cell_table(frame, value)
    pattern, values = build_answer_table(frame, value)
    plan = CrossedPlan(pattern) if len(values) else None
    fit = ContrastFit({}, {}, {}, {})
    for name, weights in wanted.items():
        simple, how = _on_shared_tasks(frame, value, cells, weights)
        crossed = plan.fit(values[:, None], weights) if plan else None
        found = _over_tasks(crossed) if crossed and not crossed.refused else simple
        if crossed and not crossed.refused and found.df:
            how = "least squares of answers, participants and tasks random, t test"
        reach = None if scale is None else scale * sum(map(abs, weights.values())) / 2
        if reach is not None:
            found, simple = (clip_interval(one, -reach, reach) for one in (found, simple))
        fit.estimates[name], fit.simple[name] = found, simple
        fit.methods[name], fit.claims[name] = how, _claim(crossed, within=cells.within)
    return fit


def _on_shared_tasks(frame: pd.DataFrame, value: str, cells: CellTable, weights: Weights) -> tuple[Estimate, str]:
    """Test participants' means on the tasks that all compared conditions share, or on all tasks if that is impossible.

    If conditions decide which actions a participant sees, means over all actions compare different actions.
    """
    rows = frame.dropna(subset=["participant", "condition", "task_id", value])
    compared = rows[rows["condition"].astype(str).isin([name for name, weight in weights.items() if weight])]
    tasks = [set(part["task_id"]) for _, part in compared.groupby("condition")]
    shared = set.intersection(*tasks) if tasks else set()
    if shared and shared != set.union(*tasks):
        found = _estimate_contrast(build_cell_table(compared[compared["task_id"].isin(shared)], value), weights)
        if found[0].interval is not None:
            return found
    return _estimate_contrast(cells, weights)


def fit_simple(cells: CellTable, weights: Weights) -> Estimate:
    """Estimate a contrast from participants' means alone."""
    return _estimate_contrast(cells, weights)[0]


def _over_tasks(fit: CrossedFit) -> Estimate:
    value, error = float(fit.value[0]), float(fit.variance[0]) ** 0.5
    if error <= _NONE:
        exact = 0.0 if abs(value) <= _NONE else value
        note = "Participants and tasks do not vary, so interval and test are undefined."
        return Estimate(exact, n=fit.people, note=note)
    return estimate_by_t(value, error, float(fit.df[0]), fit.people)


def _claim(fit: CrossedFit | None, *, within: bool) -> ContrastClaim:
    if fit is None:
        return ContrastClaim(False, 0, "no task links the compared conditions")
    if fit.refused:
        return ContrastClaim(False, fit.tasks, fit.refused)
    few = fit.tasks <= _CAUTIOUS_TASKS or (within and fit.people <= _CAUTIOUS_PEOPLE)
    return ContrastClaim(True, fit.tasks, caution=CAUTION if few or fit.rare[0] else "")


def build_cell_table(frame: pd.DataFrame, value: str) -> CellTable:
    """Compute the cell means of a frame; raise BadInput if a column is missing."""
    require_columns(frame, "participant", "condition", "task_id", value)
    rows = frame.dropna(subset=["participant", "condition", value])
    keys = [rows["participant"].astype(str), rows["condition"].astype(str)]
    means = rows[value].astype(float).groupby(keys).mean()
    who, condition = (means.index.get_level_values(at) for at in (0, 1))
    person, names = pd.factorize(who)[0], sorted(set(condition))
    under = np.array([names.index(name) for name in condition], dtype=np.intp)
    values = np.asarray(means, dtype=np.float64)
    return CellTable(values, under, person, _sets(rows, keys), tuple(names))


def _sets(rows: pd.DataFrame, keys: list[pd.Series[Any]]) -> NDArray[np.intp]:
    """Return the number of each cell's task set, in the order of the means; equal sets have the same number."""
    cell, (task, names) = rows.groupby(keys).ngroup().to_numpy(), pd.factorize(rows["task_id"], use_na_sentinel=False)
    within, held = np.divmod(np.unique(cell * len(names) + task), max(len(names), 1))
    named: dict[bytes, int] = {}
    parts = np.split(held, np.flatnonzero(np.diff(within)) + 1) if held.size else []
    return np.array([named.setdefault(part.tobytes(), len(named)) for part in parts], dtype=np.intp)


def _estimate_contrast(cells: CellTable, weights: Weights) -> tuple[Estimate, str]:
    """Return the estimate of a contrast and its method; the method is empty if the contrast is undefined."""
    wanted = {name: weight for name, weight in weights.items() if weight}
    if missing := [name for name in wanted if name not in cells.names]:
        return undefined_estimate(
            f"Not estimable: no participant answered in {', '.join(missing)}.", cells.participants
        ), ""
    at = [cells.names.index(name) for name in wanted]
    counts = np.array(list(wanted.values()))
    return _estimate_within(cells, at, counts) if cells.within else _estimate_between(cells, at, counts)


def _estimate_within(cells: CellTable, at: list[int], weights: Floats) -> tuple[Estimate, str]:
    """Estimate a contrast from each participant's own contrast value, with the effect of task sets removed."""
    table = np.full((cells.participants, len(cells.names)), np.nan)
    sets = np.zeros(table.shape, dtype=np.intp)
    table[cells.who, cells.condition], sets[cells.who, cells.condition] = cells.values, cells.met
    whole = ~np.isnan(table[:, at]).any(axis=1)
    values, count = table[whole][:, at] @ weights, int(whole.sum())
    if not count:
        return undefined_estimate("Not estimable: no participant answered in every compared condition.", 0), ""
    rotating = _rotating(sets[whole][:, at], weights)
    columns = np.column_stack([np.ones(count), rotating])
    df = count - int(np.linalg.matrix_rank(columns))
    inverse = np.linalg.pinv(columns)
    rest = values - columns @ (inverse @ values)
    error = float(inverse[0] @ inverse[0] * (rest @ rest) / max(df, 1)) ** 0.5
    method = OWN_VALUES + ", sets of tasks removed" * bool(rotating.size)
    return _figure(float(inverse[0] @ values), error, df, count, method)


def _rotating(sets: NDArray[np.intp], weights: Floats) -> Floats:
    """Return one column per task set with its weight for each participant, or no columns if not estimable."""
    known, count = np.unique(sets), len(sets)
    none: Floats = np.empty((count, 0))
    if not 1 < known.size < count:
        return none
    columns: Floats = np.column_stack([(sets == one) @ weights for one in known])
    rank = int(np.linalg.matrix_rank(columns))
    with_level = int(np.linalg.matrix_rank(np.column_stack([np.ones(count), columns])))
    return columns if 0 < rank < with_level <= count - _LEAST_DF else none


def _estimate_between(cells: CellTable, at: list[int], weights: Floats) -> tuple[Estimate, str]:
    """Estimate a contrast between groups of participants, each group with its own variance (Welch 1947)."""
    groups = [cells.values[cells.condition == place] for place in at]
    value, count = float(weights @ [group.mean() for group in groups]), sum(map(len, groups))
    if min(map(len, groups)) < 2:
        return _figure(value, 0.0, 0, count, "")
    parts = weights**2 * np.array([group.var(ddof=1) / len(group) for group in groups])
    error = float(parts.sum()) ** 0.5
    if error <= _NONE:
        return _figure(value, 0.0, 1, count, "Welch's test of participants' means")
    df = float(parts.sum() ** 2 / (parts**2 / [len(group) - 1 for group in groups]).sum())
    return _figure(value, error, df, count, "Welch's test of participants' means")


def _figure(value: float, error: float, df: float, count: int, method: str) -> tuple[Estimate, str]:
    if df < _LEAST_WELCH:
        few = "1 participant leaves" if count == 1 else f"{count} participants leave"
        note = f"Not estimable: {few} no degrees of freedom for the spread."
        return Estimate(value, n=count, note=note), ""
    if error <= _NONE:
        exact = 0.0 if abs(value) <= _NONE else value
        note = "Participants do not vary, so interval and test are undefined."
        return Estimate(exact, n=count, note=note), method
    return estimate_by_t(value, error, df, count), f"{method}, t with {df:.4g} df"


def adjust_p_values(p_values: Mapping[Name, float | None], correction: str) -> dict[Name, float | None]:
    """Correct all defined p-values for multiple tests by `holm` (1979), by `bonferroni`, or not at all (`none`).

    Implemented here because study planning calls this function thousands of times, and statsmodels collects garbage at
    each call.
    """
    found, least = dict(p_values), 0.0
    if correction == "none":
        return found
    given = sorted((p, name) for name, p in p_values.items() if p is not None)
    for place, (p, name) in enumerate(given):
        times = len(given) - (place if correction == "holm" else 0)
        found[name] = least = max(least, min(1.0, p * times))
    return found


def equivalence_p_value(found: Estimate, margin: float) -> float | None:
    """Compute the p-value of two one-sided t-tests against the margin (TOST), or None if the interval is missing."""
    if found.error is None or found.value is None or found.df is None:
        return None
    return float(special.stdtr(found.df, (abs(found.value) - margin) / found.error))


def joint_levels(p_values: Mapping[Name, float | None], correction: str, alpha: float) -> dict[Name, float]:
    """Return the confidence level (0 to 1) of each contrast whose interval excludes 0 exactly if it is rejected.

    With `holm` a contrast has the level of its step; after the first contrast that is not rejected, the level stays.
    All intervals of contrasts without an effect contain 0 with probability 1 - alpha, as in Holm's test.
    """
    given = sorted((p, name) for name, p in p_values.items() if p is not None)
    if correction != "holm":
        share = alpha / len(given) if given and correction == "bonferroni" else alpha
        return {name: 1 - share for _, name in given}
    found: dict[Name, float] = {}
    left, rejects = len(given), True
    for p, name in given:
        found[name] = 1 - alpha / left
        rejects = rejects and p < alpha / left
        left -= rejects
    return found


def joint_interval(found: Estimate, level: float, reach: float) -> Interval:
    """Return the t interval at this level, limited to [-reach, reach]; raise ValueError if no standard error exists."""
    if found.error is None or found.value is None or found.df is None:
        raise ValueError("The estimate has no standard error, so an interval cannot be computed. Collect more answers.")
    half = float(special.stdtrit(found.df, (1 + level) / 2)) * found.error
    return Interval(max(found.value - half, -reach), min(found.value + half, reach))
