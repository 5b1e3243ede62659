"""Effects of a session: the order of conditions, practice, pace and fatigue.

Order effects are estimated by least squares over participant-by-condition means. Participants and conditions are fixed
effects, and therefore not confounded with order (Jones and Kenward 2014, section 5.3). A trend is the mean of the
participants' least-squares slopes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from console.analysis.metrics.bootstrap import Interval
from console.analysis.statistics.estimates import (
    Estimate,
    Floats,
    clip_interval,
    estimate_by_t,
    estimate_mean,
    require_columns,
    to_floats,
    undefined_estimate,
)

_NEAR = 1e-8
_ENOUGH = 2


def estimate_trend(frame: pd.DataFrame, along: str, value: str) -> Estimate:
    """Estimate participants' mean slope of the value per unit of `along`; raise BadInput if a column is missing."""
    return estimate_mean(compute_slopes(frame, along, value))


def compute_slopes(frame: pd.DataFrame, along: str, value: str) -> pd.Series[float]:
    """Compute the least-squares slope of each participant; omit participants with a constant `along`."""
    require_columns(frame, "participant", along, value)
    rows = frame.assign(x=to_floats(frame[along]), y=to_floats(frame[value])).dropna(subset=["participant", "x", "y"])
    rows = rows[rows.groupby("participant")["x"].transform("nunique") >= _ENOUGH]
    apart = rows["x"] - rows.groupby("participant")["x"].transform("mean")
    products, squares = ((apart * other).groupby(rows["participant"]).sum() for other in (rows["y"], apart))
    return products / squares


ITEMS = 10


@dataclass(frozen=True, slots=True)
class Pace:
    """Time per decision; intervals are over participants.

    `geometric_mean_s` is computed from the geometric mean of each participant. `seconds_per_ten` is the relative change
    in time after ten more items (-0.1 means 10% less). `correct_per_ten` is the change in the share of correct labels
    after ten more items. `left_out` counts decisions that are omitted because their time is missing or 0.
    """

    decisions: int
    left_out: int
    participants: int
    median_s: float | None
    geometric_mean_s: Estimate
    seconds_per_ten: Estimate
    correct_per_ten: Estimate


def compute_pace(frame: pd.DataFrame) -> Pace:
    """Compute the pace of decisions; the frame has participant, lead_time_ms, place_in_session and correct."""
    require_columns(frame, "participant", "lead_time_ms", "place_in_session", "correct")
    placed = frame.assign(s=to_floats(frame["lead_time_ms"]) / 1_000, tens=to_floats(frame["place_in_session"]) / ITEMS)
    timed = placed[placed["s"] > 0]
    timed = timed.assign(log_s=np.log(timed["s"]))
    return Pace(
        decisions=len(timed),
        left_out=len(frame) - len(timed),
        participants=int(timed["participant"].nunique()),
        median_s=float(timed["s"].median()) if len(timed) else None,
        geometric_mean_s=exponentiate(estimate_mean(timed.groupby("participant")["log_s"].mean())),
        seconds_per_ten=exponentiate(estimate_trend(timed, "tens", "log_s"), less=1.0),
        correct_per_ten=_limit_change(estimate_trend(placed, "tens", "correct")),
    )


def _limit_change(found: Estimate) -> Estimate:
    """Limit the interval of the change in a share to -1 to 1; the estimate is undefined if the change is larger."""
    if found.value is not None and abs(found.value) > 1:
        return undefined_estimate("Too few items for a trend: it would change a share by more than 1.", found.n)
    return clip_interval(found, -1)


def compute_pace_by_condition(frame: pd.DataFrame) -> dict[str, Pace]:
    """Compute the pace under each condition, in the order of their names."""
    require_columns(frame, "condition")
    return {str(name): compute_pace(rows) for name, rows in frame.groupby("condition", sort=True)}


def exponentiate(found: Estimate, less: float = 0.0) -> Estimate:
    """Convert an estimate on the log scale to a factor or, with `less=1`, to a relative change."""
    if found.value is None:
        return found
    low, high = found.bounds
    bounds = None if low is None or high is None else Interval(math.exp(low) - less, math.exp(high) - less)
    return replace(found, value=math.exp(found.value) - less, interval=bounds)


def estimate_position_effect(cells: pd.DataFrame, value: str) -> Estimate:
    """Estimate the change of a value one position later; `cells` has a row per participant and condition."""
    require_columns(cells, "participant", "condition", "position", value)
    rows = cells.dropna(subset=[value])
    later = rows["position"].to_numpy(dtype=np.float64)[:, None]
    return _estimate(rows, value, later, np.array([1.0]))


def estimate_carry_over(cells: pd.DataFrame, value: str) -> dict[tuple[str, str], Estimate]:
    """Estimate each previous condition's effect, relative to the alphabetically first condition at equal position."""
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
