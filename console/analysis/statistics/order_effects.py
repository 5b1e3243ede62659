"""Order effects: what the position of a condition, and the condition before it, change in a participant's means.

Least squares over participant-by-condition means with conditions and participants as fixed effects, so that neither who
took part nor what was compared stands in for the order (Jones and Kenward 2014, section 5.3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from console.analysis.statistics.estimates import LEVEL, Estimate, Floats, need, of_t, undefined

_NEAR = 1e-8


def position(cells: pd.DataFrame, value: str, level: float = LEVEL) -> Estimate:
    """How the value moves when its condition comes one place later; raises BadInput for a missing column.

    The frame has one row per participant and condition with its position, from 1.
    """
    need(cells, "participant", "condition", "position", value)
    rows = cells.dropna(subset=[value])
    later = rows["position"].to_numpy(dtype=np.float64)[:, None]
    return _estimate(rows, value, later, np.array([1.0]), level)


def carry_over(cells: pd.DataFrame, value: str, level: float = LEVEL) -> dict[tuple[str, str], Estimate]:
    """What it changes to come after one condition rather than after the first one by name; position is held equal."""
    need(cells, "participant", "condition", "position", value)
    ordered = cells.sort_values(["participant", "position"])
    before = ordered.groupby("participant")["condition"].shift()
    rows = ordered.assign(before=before.astype(object)).dropna(subset=[value])
    names = sorted(set(rows["before"].dropna()))
    if len(names) < 2:
        return {}
    later = rows["position"].to_numpy(dtype=np.float64)[:, None]
    after = np.stack([(rows["before"] == name).to_numpy(dtype=np.float64) for name in names], axis=1)
    found = {}
    for at, name in enumerate(names[1:], 1):
        weights = np.zeros(1 + len(names))
        weights[1], weights[1 + at] = -1.0, 1.0
        found[name, names[0]] = _estimate(rows, value, np.hstack([later, after]), weights, level)
    return found


def _estimate(rows: pd.DataFrame, value: str, asked: Floats, weights: Floats, level: float) -> Estimate:
    people = int(rows["participant"].nunique())
    if len(rows) == people:
        return undefined("Not estimable: everybody has one condition, so nothing comes before or after.", people)
    held = [_indicator(rows[name]) for name in ("participant", "condition")]
    columns = np.hstack([asked, *held])
    inverse = np.linalg.pinv(columns.T @ columns)
    whole = np.concatenate([weights, np.zeros(columns.shape[1] - weights.size)])
    if np.abs(whole @ inverse @ columns.T @ columns - whole).max() > _NEAR:
        return undefined(
            "Not estimable: the orders that came up do not tell it from conditions and participants.", people
        )
    values = rows[value].to_numpy(dtype=np.float64)
    levels = inverse @ columns.T @ values
    rest, df = values - columns @ levels, len(rows) - int(np.linalg.matrix_rank(columns))
    figure = float(whole @ levels)
    if df < 1:
        return Estimate(figure, n=people, note="As many effects as means: nothing is left to measure the spread by.")
    error = float(rest @ rest / df * (whole @ inverse @ whole)) ** 0.5
    if error <= _NEAR:
        return Estimate(
            figure, n=people, note="The model fits every mean exactly, so there is no interval and no test."
        )
    return of_t(figure, error, df, people, level)


def _indicator(names: pd.Series[str]) -> NDArray[np.float64]:
    codes, known = pd.factorize(names)
    return np.eye(len(known))[codes]


def halves(rows: pd.DataFrame, value: str, order: Sequence[str]) -> pd.DataFrame:
    """Each participant's later half of the rows, sorted by `order`, less their earlier half, as `difference`."""
    ranked = rows.sort_values([*order])
    place = ranked.groupby("participant").cumcount() / ranked.groupby("participant")["participant"].transform("size")
    means = ranked.assign(late=place >= 0.5).groupby(["participant", "late"])[value].mean().unstack()
    both = means.reindex(columns=[False, True]).dropna()
    return (both[True] - both[False]).rename("difference").reset_index()
