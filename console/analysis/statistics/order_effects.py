"""Order effects: the effect of a condition's position, and of the preceding condition, on participants' means.

Least squares over participant-by-condition means with participants and conditions as fixed effects, so that the order
effects are not confounded with participants or conditions (Jones and Kenward 2014, section 5.3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from console.analysis.statistics.estimates import (
    Estimate,
    Floats,
    estimate_by_t,
    require_columns,
    undefined_estimate,
)

_NEAR = 1e-8


def estimate_position_effect(cells: pd.DataFrame, value: str) -> Estimate:
    """Estimate the change of a value one position later; `cells` has a row per participant and condition."""
    require_columns(cells, "participant", "condition", "position", value)
    rows = cells.dropna(subset=[value])
    later = rows["position"].to_numpy(dtype=np.float64)[:, None]
    return _estimate(rows, value, later, np.array([1.0]))


def estimate_carry_over(cells: pd.DataFrame, value: str) -> dict[tuple[str, str], Estimate]:
    """Estimate the effect of each preceding condition relative to the alphabetically first one, at equal position."""
    require_columns(cells, "participant", "condition", "position", value)
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
        found[name, names[0]] = _estimate(rows, value, np.hstack([later, after]), weights)
    return found


def _estimate(rows: pd.DataFrame, value: str, asked: Floats, weights: Floats) -> Estimate:
    people = int(rows["participant"].nunique())
    if len(rows) == people:
        return undefined_estimate("Not estimable: every participant has a single condition.", people)
    held = [pd.get_dummies(rows[name], dtype=float).to_numpy() for name in ("participant", "condition")]
    columns = np.hstack([asked, *held])
    inverse = np.linalg.pinv(columns.T @ columns)
    whole = np.concatenate([weights, np.zeros(columns.shape[1] - weights.size)])
    if np.abs(whole @ inverse @ columns.T @ columns - whole).max() > _NEAR:
        return undefined_estimate(
            "Not estimable: in these orders, the effect is confounded with conditions or participants.", people
        )
    values = rows[value].to_numpy(dtype=np.float64)
    levels = inverse @ columns.T @ values
    rest, df = values - columns @ levels, len(rows) - int(np.linalg.matrix_rank(columns))
    figure = float(whole @ levels)
    if df < 1:
        return Estimate(figure, n=people, note="The model has as many effects as means, so the spread is undefined.")
    error = float(rest @ rest / df * (whole @ inverse @ whole)) ** 0.5
    if error <= _NEAR:
        return Estimate(figure, n=people, note="The model fits every mean exactly, so interval and test are undefined.")
    return estimate_by_t(figure, error, df, people)


def compare_halves(rows: pd.DataFrame, value: str, order: Sequence[str]) -> pd.DataFrame:
    """Return each participant's mean in the later half of the rows, sorted by `order`, minus the earlier half."""
    ranked = rows.sort_values([*order])
    place = ranked.groupby("participant").cumcount() / ranked.groupby("participant")["participant"].transform("size")
    means = ranked.assign(late=place >= 0.5).groupby(["participant", "late"])[value].mean().unstack()
    both = means.reindex(columns=[False, True]).dropna()
    return (both[True] - both[False]).rename("difference").reset_index()
