"""Two conditions against each other over tasks that both met: McNemar's test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from console.metrics.bootstrap import Interval
from console.metrics.comparison import McNemar, mcnemar
from console.statistics.estimates import LEVEL, Estimate, need, undefined


@dataclass(frozen=True, slots=True)
class TaskPairs:
    """The tasks that only one of two conditions solved, the exact test, and the difference of the two shares.

    `tied` tasks are left out: under one condition as many participants solved them as did not.
    """

    first: str
    second: str
    pairs: int
    tied: int
    test: McNemar
    difference: Estimate


def compare_tasks(
    frame: pd.DataFrame, solved: str, first: str, second: str, by: Sequence[str] = ("task_id",), level: float = LEVEL
) -> TaskPairs:
    """The tasks (rows alike in the columns `by`) of two conditions in pairs; raises BadInput for a missing column.

    A task that several participants did under a condition counts as solved there if more than half of them solved it.
    Tasks are taken as independent, so a participant who is good at all of them makes the p-value too small.
    """
    need(frame, "condition", solved, *by)
    shares = frame.astype({solved: float}).groupby([*by, "condition"])[solved].mean().unstack()
    both = shares.reindex(columns=[first, second]).dropna()
    clear = both[(both != 0.5).all(axis=1)] > 0.5
    ours, theirs = clear[first].to_numpy(dtype=bool), clear[second].to_numpy(dtype=bool)
    test = mcnemar(np.ones(len(clear), dtype=bool), ours, theirs)
    return TaskPairs(first, second, len(clear), len(both) - len(clear), test, _difference(test, len(clear), level))


def _difference(test: McNemar, n: int, level: float) -> Estimate:
    """The difference of two paired shares with the adjusted interval of Bonett and Price (2012)."""
    if not n:
        return undefined("No task was done under both conditions.")
    ours, theirs = (test.only_first + 1) / (n + 2), (test.only_second + 1) / (n + 2)
    error = float(((ours + theirs - (ours - theirs) ** 2) / (n + 2)) ** 0.5)
    half = float(special.ndtri((1 + level) / 2)) * error
    bounds = Interval(max(-1.0, ours - theirs - half), min(1.0, ours - theirs + half), level)
    return Estimate((test.only_first - test.only_second) / n, bounds, test.p_value, n)
