"""Pace: seconds per item, and trends over a session as the mean of participants' least-squares slopes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from console.analysis.metrics.bootstrap import Interval
from console.analysis.statistics.estimates import (
    Estimate,
    clip_interval,
    estimate_mean,
    require_columns,
    to_floats,
    undefined_estimate,
)

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
