"""How a figure moves with time or trials: a slope for each participant, then one value per participant.

Summary measures in the sense of Matthews, Altman, Campbell and Royston (1990): they hold their level with few
participants, and equal the random-slope model where all have the same number of answers.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from console.statistics.estimates import LEVEL, Estimate, mean, need, numbers

_ENOUGH = 2


def trend(frame: pd.DataFrame, along: str, value: str, level: float = LEVEL) -> Estimate:
    """The mean over participants of their slope of the value per unit of `along`; raises BadInput for no column."""
    return mean(slopes(frame, along, value, by=("participant",))["slope"], level)


def slopes(
    frame: pd.DataFrame, along: str, value: str, by: tuple[str, ...] = ("participant", "condition")
) -> pd.DataFrame:
    """One row per group with its least-squares slope; groups whose `along` does not vary are left out.

    With participant and condition it is a frame for `mixed.linear`, which then compares the slopes of conditions.
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
