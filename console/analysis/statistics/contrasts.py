"""Contrasts of conditions: weighted sums of condition means, tested against their variation between participants.

A cell is a participant's mean under a condition. In a within-participants design each contrast has its own error:
participants may differ in their response to one factor and not to another, so contrasts share no error term.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from console.analysis.metrics.bootstrap import LEVEL
from console.analysis.statistics.estimates import (
    Estimate,
    Floats,
    estimate_by_t,
    require_columns,
    undefined_estimate,
)

Weights = Mapping[str, float]
"""The weight of each condition's mean in the contrast; the weights of a difference add up to 0."""

Name = TypeVar("Name", str, tuple[int, str])

_LEAST_DF = 3
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
        """Count the participants."""
        return int(self.who.max()) + 1 if self.who.size else 0

    @property
    def within(self) -> bool:
        """Return whether any participant has more than one condition."""
        return self.values.size > self.participants


@dataclass(frozen=True, slots=True)
class ContrastFit:
    """The estimate of each contrast and the description of its method for a report, both by contrast name."""

    estimates: dict[str, Estimate]
    methods: dict[str, str]


def estimate_contrasts(frame: pd.DataFrame, value: str, wanted: Mapping[str, Weights]) -> ContrastFit:
    """Estimate each contrast with a t interval; the frame has columns participant, condition and task_id.

    Within participants: a t-test of each participant's own contrast value (contrast-specific error: Maxwell and Delaney
    2004, chapter 11), over participants with every condition of the contrast. Task sets that rotate over conditions are
    removed as fixed effects if at least 3 degrees of freedom remain; otherwise they are part of the error. Between
    participants: least squares of participants' means. A contrast without answers is undefined. Raise BadInput if a
    column is missing.
    """
    return fit_contrasts(build_cell_table(frame, value), wanted)


def fit_contrasts(cells: CellTable, wanted: Mapping[str, Weights]) -> ContrastFit:
    """Estimate each contrast from computed cell means; `estimate_contrasts` states the method."""
    found = {name: _tested(cells, weights) for name, weights in wanted.items()}
    return ContrastFit({name: one for name, (one, _) in found.items()}, {name: how for name, (_, how) in found.items()})


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


def _tested(cells: CellTable, weights: Weights) -> tuple[Estimate, str]:
    """Return the estimate of a contrast and its method; the method is empty if the contrast is undefined."""
    wanted = {name: weight for name, weight in weights.items() if weight}
    if missing := [name for name in wanted if name not in cells.names]:
        return undefined_estimate(
            f"Not estimable: no participant answered in {', '.join(missing)}.", cells.participants
        ), ""
    at = [cells.names.index(name) for name in wanted]
    counts = np.array(list(wanted.values()))
    return _own(cells, at, counts) if cells.within else _apart(cells, at, counts)


def _own(cells: CellTable, at: list[int], weights: Floats) -> tuple[Estimate, str]:
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
    method = "t-test of participants' own values" + ", sets of tasks removed" * bool(rotating.size)
    return _figure(float(inverse[0] @ values), error, df, count, method)


def _rotating(sets: NDArray[np.intp], weights: Floats) -> Floats:
    """Return one column per task set with its weight for each participant; no columns if not estimable."""
    known, count = np.unique(sets), len(sets)
    none: Floats = np.empty((count, 0))
    if not 1 < known.size < count:
        return none
    columns: Floats = np.column_stack([(sets == one) @ weights for one in known])
    rank = int(np.linalg.matrix_rank(columns))
    with_level = int(np.linalg.matrix_rank(np.column_stack([np.ones(count), columns])))
    return columns if 0 < rank < with_level <= count - _LEAST_DF else none


def _apart(cells: CellTable, at: list[int], weights: Floats) -> tuple[Estimate, str]:
    """Estimate a contrast between groups of participants, with the variance pooled over all groups."""
    counts = np.bincount(cells.condition)
    means = np.bincount(cells.condition, cells.values) / counts
    rest, df = cells.values - means[cells.condition], cells.participants - len(cells.names)
    error = float(weights**2 @ (1 / counts[at]) * (rest @ rest) / max(df, 1)) ** 0.5
    method = "least squares of participants' means"
    return _figure(float(weights @ means[at]), error, df, cells.participants, method)


def _figure(value: float, error: float, df: int, count: int, method: str) -> tuple[Estimate, str]:
    if df < 1:
        few = "1 participant leaves" if count == 1 else f"{count} participants leave"
        note = f"Not estimable: {few} no degrees of freedom for the spread."
        return Estimate(value, n=count, note=note), ""
    if error <= _NONE:
        exact = 0.0 if abs(value) <= _NONE else value
        note = "Participants do not vary, so interval and test are undefined."
        return Estimate(exact, n=count, note=note), method
    return estimate_by_t(value, error, df, count), f"{method}, t with {df} df"


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
    """Compute the p-value of two one-sided t-tests against the margin (TOST); None if the interval is missing."""
    from scipy import special  # slow to load, and few need it

    if found.interval is None or found.value is None or found.df is None:
        return None
    half = (found.interval.high - found.interval.low) / 2
    error = half / float(special.stdtrit(found.df, (1 + LEVEL) / 2))
    return float(special.stdtr(found.df, (abs(found.value) - margin) / error))
