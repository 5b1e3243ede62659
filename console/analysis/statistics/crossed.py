"""Contrasts over people and tasks: both are random samples, so a claim holds for similar people and similar tasks.

The estimate is least squares of single answers (Westfall, Kenny and Judd 2014 state the problem). Its variance is V_P +
V_T - V_E, never below V_P and V_T: the variances over participants and over tasks (CR2, Bell and McCaffrey 2002), minus
the variance of a single answer, which both contain. Degrees of freedom are Satterthwaite's (1946). If the mean of a
compared condition is within .1 of 0 or 1, the standard error is raised by 8%: intervals of so skewed answers were too
narrow in simulated studies (94% for 95%).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse, special

from console.analysis.statistics.estimates import Floats, require_columns

Indices = NDArray[np.intp]
_NONE, _RANK = 1e-12, 1e-9
_LEAST_LEVERAGE, _UNSEEN = 1e-8, 1e-4
_LEAST_ERROR_DF = 5
FEWEST_TASKS, FEWEST_BETWEEN, FEWEST_WITHIN = 8, 6, 5
"""The numbers of tasks, of people in each group, and of people in all conditions that a claim over tasks needs."""
RARE, RARE_FACTOR = 0.1, 1.08
"""The distance from 0 or 1 below which a mean counts as rare, and the factor of the standard error of rare means."""


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """The pattern of a study: participant, task and condition of each answer, as numbers from 0; one row each."""

    person: Indices
    task: Indices
    condition: Indices
    names: tuple[str, ...]

    @cached_property
    def within(self) -> bool:
        """Whether any participant has more than one condition."""
        return len(np.unique(self.person * len(self.names) + self.condition)) > len(np.unique(self.person))


def build_answer_table(frame: pd.DataFrame, value: str) -> tuple[AnswerTable, Floats]:
    """Return the pattern of a frame and the mean value of each row; raise BadInput if a column is missing."""
    require_columns(frame, "participant", "condition", "task_id", value)
    rows = frame.dropna(subset=["participant", "condition", "task_id", value])
    keys = [pd.factorize(rows[name].astype(str), sort=True) for name in ("participant", "task_id", "condition")]
    codes = np.array([code for code, _ in keys], dtype=np.intp).reshape(3, len(rows))
    unique, place = np.unique(codes, axis=1, return_inverse=True)
    person, task, condition = unique
    counts = np.bincount(place.ravel(), minlength=unique.shape[1])
    sums = np.bincount(place.ravel(), rows[value].to_numpy(dtype=np.float64), minlength=unique.shape[1])
    return AnswerTable(person, task, condition, tuple(map(str, keys[2][1]))), sums / np.maximum(counts, 1)


@dataclass(frozen=True, eq=False)
class CrossedFit:
    """Estimates of one contrast with variance and degrees of freedom, one per column of values.

    `of_people`, `of_tasks` and `of_error` are V_P, V_T and V_E; `df_people` is the smallest df of V_P. `rare` is
    True if the variance is raised. `refused` is the reason why a claim over tasks is not possible, or empty.
    """

    value: Floats
    variance: Floats
    df: Floats
    of_people: Floats
    of_tasks: Floats
    of_error: Floats
    df_people: float
    df_tasks: float
    df_error: float
    people: int
    tasks: int
    rare: NDArray[np.bool_]
    refused: str = ""

    @property
    def p_value(self) -> Floats:
        """The two-sided p-values; return NaN if nothing varies."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = 2 * special.stdtr(self.df, -np.abs(self.value) / np.sqrt(self.variance))
        return np.where(self.variance > _NONE**2, found, np.nan)


class CrossedPlan:
    """The part of the analysis that depends on the pattern alone, for any number of value vectors and contrasts."""

    def __init__(self, table: AnswerTable) -> None:
        self.table = table
        tasks, conditions = int(table.task.max()) + 1, len(table.names)
        people = int(table.person.max()) + 1 if table.within else 0
        # Between participants, participant columns would absorb the condition.
        codes = [table.task + people, table.condition + people + tasks]
        self._codes = np.array([table.person, *codes] if table.within else codes).T
        self._conditions = slice(people + tasks, people + tasks + conditions)
        self._columns = _indicator(self._codes, people + tasks + conditions)
        self._root = _root((self._columns.T @ self._columns).toarray())
        self.by_person, self.by_task = _Clusters(self, table.person), _Clusters(self, table.task)
        self._errors = {at: _Additive(table, table.condition == at) for at in range(conditions)}

    def rows_of(self, chosen: Any) -> Floats:
        """Return the orthonormal basis of the columns at these rows."""
        found: Floats = self._root[self._codes[chosen]].sum(axis=1)
        return found

    def residuals(self, values: Floats) -> Floats:
        """Return the values minus their fit, column by column."""
        rest: Floats = values - self._columns @ (self._root @ (self._root.T @ (self._columns.T @ values)))
        return rest

    def fit(self, values: Floats, weights: Mapping[str, float]) -> CrossedFit | None:
        """Estimate a contrast from (rows, studies) values; return None if the pattern cannot estimate the contrast."""
        given = np.zeros(self._columns.shape[1])
        names = self.table.names
        if any(name not in names for name, weight in weights.items() if weight):
            return None
        given[self._conditions] = [weights.get(name, 0.0) for name in names]
        chosen = [at for at, name in enumerate(names) if weights.get(name)]
        solved = self._root @ (self._root.T @ given)
        if np.abs(self._columns.T @ (self._columns @ solved) - given).max() > 1e-6:
            return None
        loads = solved[self._codes].sum(axis=1)
        rest = self.residuals(values)
        people = self.by_person.spread(loads, rest)
        tasks = self.by_task.spread(loads, rest)
        error, df_error = self._error(values, rest, loads, chosen, given[self._conditions])
        over_people, df_people = self._people(people)
        over_tasks = (tasks.each**2).sum(axis=0)
        return _combine(
            loads @ values,
            (over_people, over_tasks, error),
            (df_people, tasks.df, df_error),
            self._counts(chosen),
            self._rare(values, chosen),
            self._refusal(given[self._conditions], df_people) or people.reason,
        )

    def _rare(self, values: Floats, chosen: list[int]) -> NDArray[np.bool_]:
        """Return whether the mean of any chosen condition is close to 0 or 1 in absolute value."""
        means = np.abs([values[self.table.condition == at].mean(axis=0) for at in chosen])
        return np.asarray(((means <= RARE) | (means >= 1 - RARE)).any(axis=0), dtype=np.bool_)

    def root_apply(self, sums: Floats) -> Floats:
        """Return sums over the columns in the coordinates of the orthonormal basis."""
        return sums @ self._root

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self._columns.shape[1])

    @property
    def codes(self) -> Indices:
        """The columns of each row."""
        return self._codes

    def _people(self, found: _Spread) -> tuple[Floats, Floats]:
        """Return V_P and its df: Welch's over the groups between participants, else Bell and McCaffrey's."""
        squares = found.each**2
        whole = squares.sum(axis=0)
        if self.table.within:
            return whole, np.full(whole.shape, found.df)
        group = np.zeros(len(squares), dtype=np.intp)
        group[self.table.person] = self.table.condition
        parts = np.array([squares[group == at].sum(axis=0) for at in range(len(self.table.names))])
        sizes = np.array([max(int((group == at).sum()) - 1, 1) for at in range(len(self.table.names))])
        with np.errstate(divide="ignore", invalid="ignore"):
            df = whole**2 / (parts**2 / sizes[:, None]).sum(axis=0)
        return whole, np.where(whole > _NONE**2, df, 1.0)

    def _error(
        self, values: Floats, rest: Floats, loads: Floats, chosen: list[int], weights: Floats
    ) -> tuple[Floats, float]:
        """Return V_E, the variance from single answers alone, and its df."""
        parts = [self._errors[at].residual(values) for at in chosen]
        df = sum(one.df for one in parts)
        if df < _LEAST_ERROR_DF:
            leverage = (self.rows_of(slice(None)) ** 2).sum(axis=1)
            shares = loads**2 / np.maximum(1 - leverage, 1e-3)
            return (shares[:, None] * rest**2).sum(axis=0), max(len(loads) - self._root.shape[1], 1)
        single = sum((one.squares for one in parts), np.zeros(values.shape[1])) / df
        pairs = self._pairs(values, loads, chosen, weights)
        if pairs is None:
            return single * (loads @ loads), df
        paired, others, df_pairs = pairs
        return paired + single * others, df_pairs

    def _pairs(
        self, values: Floats, loads: Floats, chosen: list[int], weights: Floats
    ) -> tuple[Floats, float, float] | None:
        """Return V_E of answers to one task by one person in all conditions, the squares of other loads, and the df.

        Such answers depend on each other, so their contrast counts as one answer. Return None if there are too few
        answers.
        """
        table = self.table
        if not table.within or len(chosen) < 2:
            return None
        key = table.person * (int(table.task.max()) + 1) + table.task
        place = np.full((int(key.max()) + 1, len(table.names)), -1, dtype=np.intp)
        place[key, table.condition] = np.arange(len(key))
        rows = place[:, chosen]
        rows = rows[(rows >= 0).all(axis=1)]
        if not len(rows):
            return None
        own = np.tensordot(weights[chosen], values[rows], axes=(0, 1))
        first = rows[:, 0]
        left = _additive(table.person[first], table.task[first]).residual(own)
        if left.df < _LEAST_ERROR_DF:
            return None
        load = (loads[rows] / weights[chosen]).mean(axis=1)
        others = np.ones(len(loads), dtype=bool)
        others[rows.ravel()] = False
        return left.squares / left.df * float(load @ load), float(loads[others] @ loads[others]), left.df

    def _counts(self, chosen: list[int]) -> tuple[int, int]:
        here = np.isin(self.table.condition, chosen)
        return len(np.unique(self.table.person[here])), len(np.unique(self.table.task[here]))

    def _refusal(self, weights: Floats, df_people: Floats) -> str:
        """Return the reason why the contrast supports no claim over tasks, or an empty string."""
        table, sign = self.table, np.sign(weights)[self.table.condition]
        tasks = [set(table.task[sign == side]) for side in (1, -1)]
        if not tasks[0] & tasks[1]:
            return "each task occurs in one condition only"
        if len(tasks[0] | tasks[1]) < FEWEST_TASKS:
            return f"{len(tasks[0] | tasks[1])} tasks are fewer than {FEWEST_TASKS}"
        people = [set(table.person[sign == side]) for side in (1, -1)]
        if not table.within:
            groups = [len(set(table.person[table.condition == at])) for at in np.flatnonzero(weights)]
            few = min(groups) < FEWEST_BETWEEN
            return f"a group of {min(groups)} participants is smaller than {FEWEST_BETWEEN}" if few else ""
        both = len(people[0] & people[1])
        whole = both == len(people[0] | people[1]) == FEWEST_WITHIN - 1 and self._is_complete()
        if both < FEWEST_WITHIN and not whole:
            return f"{both} participants with answers on both sides of the contrast are fewer than {FEWEST_WITHIN}"
        if float(df_people.min()) < 2:
            return "participants leave fewer than 2 degrees of freedom"
        return ""

    def _is_complete(self) -> bool:
        counts = np.bincount(self.table.person * len(self.table.names) + self.table.condition)
        return bool(
            (counts == counts[0]).all() and len(counts) == (self.table.person.max() + 1) * len(self.table.names)
        )


def _combine(
    value: Floats,
    parts: tuple[Floats, Floats, Floats],
    dfs: tuple[Floats, float, float],
    counts: tuple[int, int],
    rare: NDArray[np.bool_],
    refused: str,
) -> CrossedFit:
    people, tasks, error = parts
    df_people, df_tasks, df_error = dfs
    variance = people + tasks - error
    with np.errstate(divide="ignore", invalid="ignore"):
        df = variance**2 / (people**2 / df_people + tasks**2 / df_tasks + error**2 / df_error)
    floor = np.maximum(people, tasks)
    low = variance < floor
    variance = np.where(low, floor, variance)
    df = np.where(low, np.where(people >= tasks, df_people, df_tasks), df)
    variance = np.where(rare, variance * RARE_FACTOR**2, variance)
    return CrossedFit(
        value, variance, df, people, tasks, error, float(df_people.min()), df_tasks, df_error, *counts, rare, refused
    )


@dataclass(frozen=True, eq=False)
class _Spread:
    """The adjusted sum of residuals of each cluster, (clusters, studies), and Bell and McCaffrey's df.

    If one cluster alone decides part of the contrast, its variation leaves no residual; `unseen` is then True.
    """

    each: Floats
    df: float
    unseen: bool

    @property
    def reason(self) -> str:
        """The reason why the clusters of people do not support a claim, or an empty string."""
        return "part of the contrast rests on one participant alone" if self.unseen else ""


class _Clusters:
    """The rows of each person or task, and the square root that corrects their residuals (CR2)."""

    def __init__(self, plan: CrossedPlan, cluster: Indices) -> None:
        self._plan, self._cluster = plan, cluster
        order = np.argsort(cluster, kind="stable")
        self._parts = np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1)
        self._sum = _indicator(cluster[:, None], int(cluster.max()) + 1).T
        self._roots = [_leverage_root(plan.rows_of(rows)) for rows in self._parts]

    def spread(self, loads: Floats, rest: Floats) -> _Spread:
        """Return the clusters' adjusted sums of residuals for a contrast with these loads."""
        adjusted, unseen = np.zeros(len(loads)), 0.0
        for rows, root in zip(self._parts, self._roots, strict=True):
            adjusted[rows] = loads[rows] + root[0] @ (root[1] @ loads[rows])
            unseen = max(unseen, float(np.abs(root[2] @ loads[rows]).max(initial=0.0)))
        sums = np.zeros((len(self._parts), self._plan.width))
        np.add.at(sums, (self._cluster[:, None], self._plan.codes), adjusted[:, None])
        shared = self._plan.root_apply(sums)
        products = np.diag(self._sum @ adjusted**2) - shared @ shared.T
        squares = float((products**2).sum())
        df = float(np.trace(products)) ** 2 / squares if squares > _NONE**2 else 1.0
        return _Spread(self._sum @ (adjusted[:, None] * rest), df, unseen > _UNSEEN * float(np.abs(loads).max()))


def _leverage_root(basis: Floats) -> tuple[Floats, Floats, Floats]:
    """Return (A, B, C): I + AB is the pseudo-inverse square root of I - H, where H = basis basis'; (I - H)C' is 0."""
    values, vectors = np.linalg.eigh(basis.T @ basis if len(basis) > basis.shape[1] else basis @ basis.T)
    kept = values > _RANK
    values, vectors = np.minimum(values[kept], 1.0), vectors[:, kept]
    if len(basis) > basis.shape[1]:
        vectors = basis @ vectors / np.sqrt(values)
    left = 1 - values
    scale = np.where(left > _LEAST_LEVERAGE, 1 / np.sqrt(np.maximum(left, _LEAST_LEVERAGE)), 0.0)
    return vectors * (scale - 1), vectors.T, vectors.T[left <= _LEAST_LEVERAGE]


@dataclass(frozen=True, eq=False)
class _Left:
    """The residual sums of squares, one per study, and their df."""

    squares: Floats
    df: float


class _Additive:
    """The additive model of some rows: person plus task; the residual is the error of a single answer."""

    def __init__(self, table: AnswerTable, chosen: NDArray[np.bool_]) -> None:
        self._rows = np.flatnonzero(chosen)
        self._basis = _additive_basis(table.person[self._rows], table.task[self._rows])

    def residual(self, values: Floats) -> _Left:
        """Return the residuals of the values of all rows after the effects of person and task."""
        mine = values[self._rows]
        fitted = self._basis.T @ mine
        left = np.maximum((mine**2).sum(axis=0) - (fitted**2).sum(axis=0), 0.0)
        return _Left(left, len(self._rows) - self._basis.shape[1])


def _additive(person: Indices, task: Indices) -> _Additive:
    table = AnswerTable(person, task, np.zeros(len(person), dtype=np.intp), ("",))
    return _Additive(table, np.ones(len(person), dtype=bool))


def _additive_basis(person: Indices, task: Indices) -> Floats:
    if not len(person):
        return np.empty((0, 0))
    people, first = np.unique(person, return_inverse=True)
    tasks, second = np.unique(task, return_inverse=True)
    codes = np.array([first, second + len(people)]).T
    columns = _indicator(codes, len(people) + len(tasks))
    basis: Floats = _root((columns.T @ columns).toarray())[codes].sum(axis=1)
    return basis


def _indicator(codes: Indices, width: int) -> Any:
    rows = np.repeat(np.arange(len(codes)), codes.shape[1])
    return sparse.csr_array((np.ones(codes.size), (rows, codes.ravel())), shape=(len(codes), width))


def _root(square: Floats) -> Floats:
    """Return R with RR' the pseudo-inverse of a symmetric matrix."""
    values, vectors = np.linalg.eigh(square)
    kept = values > values[-1] * _RANK
    found: Floats = vectors[:, kept] / np.sqrt(values[kept])
    return found
