"""Pace: seconds per item, and whether participants become faster or less accurate during their session.

A trend is the mean of the participants' least-squares slopes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from console.analysis.metrics.bootstrap import Interval
from console.analysis.statistics.estimates import (
    LEVEL,
    Estimate,
    estimate_mean,
    require_columns,
    to_floats,
    undefined_estimate,
)

_ENOUGH = 2


def estimate_trend(frame: pd.DataFrame, along: str, value: str, level: float = LEVEL) -> Estimate:
    """Estimate participants' mean slope of the value per unit of `along`; raise BadInput if a column is missing."""
    return estimate_mean(compute_slopes(frame, along, value, by=("participant",))["slope"], level)


def compute_slopes(
    frame: pd.DataFrame, along: str, value: str, by: tuple[str, ...] = ("participant", "condition")
) -> pd.DataFrame:
    """Compute the least-squares slope of each group; groups with a constant `along` are omitted.

    If the groups are participant and condition, `mixed_models.fit_linear` can compare the slopes of the conditions.
    """
    require_columns(frame, *by, along, value)
    rows = frame.assign(**{name: to_floats(frame[name]) for name in (along, value)}).dropna(subset=[*by, along, value])
    found = [
        (*(key if isinstance(key, tuple) else (key,)), _slope(group[along].to_numpy(), group[value].to_numpy()))
        for key, group in rows.groupby(list(by), sort=True)
        if group[along].nunique() >= _ENOUGH
    ]
    return pd.DataFrame(found, columns=[*by, "slope"])


def _slope(along: np.ndarray, values: np.ndarray) -> float:
    apart = along - along.mean()
    return float((apart * values).sum() / (apart**2).sum())


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


def compute_pace(frame: pd.DataFrame, level: float = LEVEL) -> Pace:
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
        geometric_mean_s=exponentiate(estimate_mean(timed.groupby("participant")["log_s"].mean(), level)),
        seconds_per_ten=exponentiate(estimate_trend(timed, "tens", "log_s", level), less=1.0),
        correct_per_ten=_of_shares(estimate_trend(placed, "tens", "correct", level)),
    )


def _of_shares(found: Estimate) -> Estimate:
    """Limit the change in a share and the interval of the change to the range -1 to 1."""
    if found.value is None:
        return found
    if abs(found.value) > 1:
        return undefined_estimate("Too few items for a trend: it would change a share by more than 1.", found.n)
    if found.interval is None:
        return found
    low, high = max(found.interval.low, -1.0), min(found.interval.high, 1.0)
    return replace(found, interval=Interval(low, high, found.interval.level))


def compute_pace_by_condition(frame: pd.DataFrame, level: float = LEVEL) -> dict[str, Pace]:
    """Compute the pace under each condition, in the order of their names."""
    require_columns(frame, "condition")
    return {str(name): compute_pace(rows, level) for name, rows in frame.groupby("condition", sort=True)}


def exponentiate(found: Estimate, less: float = 0.0) -> Estimate:
    """Convert an estimate on the log scale to a factor or, with `less=1`, to a relative change."""
    if found.value is None:
        return found
    value = math.exp(found.value) - less
    if found.interval is None:
        return replace(found, value=value)
    bounds = Interval(math.exp(found.interval.low) - less, math.exp(found.interval.high) - less, found.interval.level)
    return replace(found, value=value, interval=bounds)
