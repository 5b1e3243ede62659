"""Pace: seconds per item, and whether people grow faster or worse over their session.

A trend is a least-squares slope for each participant, then the mean of these over participants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from console.analysis.metrics.bootstrap import Interval
from console.analysis.statistics.estimates import LEVEL, Estimate, mean, need, numbers, undefined

_ENOUGH = 2


def trend(frame: pd.DataFrame, along: str, value: str, level: float = LEVEL) -> Estimate:
    """The mean over participants of their slope of the value per unit of `along`; raises BadInput for no column."""
    return mean(slopes(frame, along, value, by=("participant",))["slope"], level)


def slopes(
    frame: pd.DataFrame, along: str, value: str, by: tuple[str, ...] = ("participant", "condition")
) -> pd.DataFrame:
    """One row per group with its least-squares slope; groups whose `along` does not vary are left out.

    With participant and condition it is a frame for `mixed_models.linear`, which compares the conditions' slopes.
    """
    need(frame, *by, along, value)
    rows = frame.assign(**{name: numbers(frame[name]) for name in (along, value)}).dropna(subset=[*by, along, value])
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
    """How long decisions take; intervals are over participants.

    `geometric_mean_s` takes each participant's own geometric mean. `seconds_per_ten` is the share by which an item
    takes longer ten items later (-0.1: a tenth less), `correct_per_ten` how the share of right labels moves.
    `left_out` counts decisions without a time above 0.
    """

    decisions: int
    left_out: int
    participants: int
    median_s: float | None
    geometric_mean_s: Estimate
    seconds_per_ten: Estimate
    correct_per_ten: Estimate


def pace(frame: pd.DataFrame, level: float = LEVEL) -> Pace:
    """The pace of the decisions in a frame with participant, lead_time_ms, place_in_session and correct."""
    need(frame, "participant", "lead_time_ms", "place_in_session", "correct")
    placed = frame.assign(s=numbers(frame["lead_time_ms"]) / 1_000, tens=numbers(frame["place_in_session"]) / ITEMS)
    timed = placed[placed["s"] > 0]
    timed = timed.assign(log_s=np.log(timed["s"]))
    return Pace(
        decisions=len(timed),
        left_out=len(frame) - len(timed),
        participants=int(timed["participant"].nunique()),
        median_s=float(timed["s"].median()) if len(timed) else None,
        geometric_mean_s=exponential(mean(timed.groupby("participant")["log_s"].mean(), level)),
        seconds_per_ten=exponential(trend(timed, "tens", "log_s", level), less=1.0),
        correct_per_ten=_of_shares(trend(placed, "tens", "correct", level)),
    )


def _of_shares(found: Estimate) -> Estimate:
    """A change of a share, which none exceeds 1 in size; its interval ends there too."""
    if found.value is None:
        return found
    if abs(found.value) > 1:
        return undefined("Too few items for a straight line: it would change a share by more than 1.", found.n)
    if found.interval is None:
        return found
    low, high = max(found.interval.low, -1.0), min(found.interval.high, 1.0)
    return replace(found, interval=Interval(low, high, found.interval.level))


def by_condition(frame: pd.DataFrame, level: float = LEVEL) -> dict[str, Pace]:
    """The pace under each condition, in the order of their names."""
    need(frame, "condition")
    return {str(name): pace(rows, level) for name, rows in frame.groupby("condition", sort=True)}


def exponential(found: Estimate, less: float = 0.0) -> Estimate:
    """An estimate on the log scale as a factor, or with `less=1` as the share that comes on top."""
    if found.value is None:
        return found
    value = math.exp(found.value) - less
    if found.interval is None:
        return replace(found, value=value)
    bounds = Interval(math.exp(found.interval.low) - less, math.exp(found.interval.high) - less, found.interval.level)
    return replace(found, value=value, interval=bounds)
