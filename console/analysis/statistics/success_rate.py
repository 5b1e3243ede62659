"""Success rate: its mean and spread over participants by trial, and two conditions against each other over tasks.

The first is what Table 9 and Figure 25 of InferAct show, the second McNemar's test of the tasks that both met.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from console.analysis.metrics.bootstrap import Interval
from console.analysis.metrics.comparison import McNemar, mcnemar
from console.analysis.statistics.estimates import LEVEL, Estimate, bounded, mean, need, proportion, undefined
from console.errors import BadInput

PAPER = "solved_paper"
HELD = "solved_held"


@dataclass(frozen=True, slots=True)
class Success:
    """The success rate of a condition at a trial; shares lie in [0, 1].

    `sd` is over participants with n - 1; `sd_paper` divides by n, the only one that gives Table 9's 46.0 +- 0.8 for
    three people and a hundred tasks. `mean` has the t interval over participants. `pooled` takes all tasks as one
    sample (Wilson), so it is narrower than it should be where participants differ.
    """

    condition: str
    trial: int
    participants: int
    tasks: int
    mean: Estimate
    sd: float | None
    sd_paper: float | None
    pooled: Estimate


def by_trial(frame: pd.DataFrame, solved: str = PAPER, level: float = LEVEL) -> tuple[Success, ...]:
    """One row per condition and trial, in that order; raises BadInput for a missing column or a second row of one.

    The frame has one row per participant, condition and trial, with tasks and the number solved.
    """
    need(frame, "participant", "condition", "trial", "tasks", solved)
    twice = frame[frame.duplicated(["participant", "condition", "trial"])]
    if len(twice):
        row = twice.iloc[0]
        raise BadInput(
            f"{row['participant']} has two rows for condition {row['condition']}, trial {row['trial']}; "
            "add their tasks up and compute again."
        )
    held = frame[frame["tasks"] > 0]
    return tuple(_row(key, rows, solved, level) for key, rows in held.groupby(["condition", "trial"], sort=True))


def _row(key: Hashable, rows: pd.DataFrame, solved: str, level: float) -> Success:
    condition, trial = key if isinstance(key, tuple) else (key, 0)
    done, tasks = (rows[name].to_numpy(dtype=np.int64) for name in (solved, "tasks"))
    rates = done / tasks
    several = len(rates) > 1
    return Success(
        condition=str(condition),
        trial=int(trial),
        participants=len(rates),
        tasks=int(tasks.sum()),
        mean=bounded(mean(rates, level)),
        sd=float(rates.std(ddof=1)) if several else None,
        sd_paper=float(rates.std()) if several else None,
        pooled=proportion(int(done.sum()), int(tasks.sum()), level),
    )


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
    test, tied = mcnemar(np.ones(len(clear), dtype=bool), ours, theirs), len(both) - len(clear)
    return TaskPairs(first, second, len(clear), tied, test, _difference(test, len(clear), tied, level))


def _difference(test: McNemar, n: int, tied: int, level: float) -> Estimate:
    """The difference of two paired shares with the adjusted interval of Bonett and Price (2012)."""
    if not n:
        every = "Every task that was done under both conditions is tied."
        return undefined(every if tied else "No task was done under both conditions.")
    ours, theirs = (test.only_first + 1) / (n + 2), (test.only_second + 1) / (n + 2)
    error = float(((ours + theirs - (ours - theirs) ** 2) / (n + 2)) ** 0.5)
    half = float(special.ndtri((1 + level) / 2)) * error
    bounds = Interval(max(-1.0, ours - theirs - half), min(1.0, ours - theirs + half), level)
    return Estimate((test.only_first - test.only_second) / n, bounds, test.p_value, n)
