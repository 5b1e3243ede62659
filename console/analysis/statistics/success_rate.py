"""Success rates by trial over participants, and a comparison of two conditions over tasks.

The rates are shown in Table 9 and Figure 25 of InferAct. The comparison is McNemar's test of the tasks that were done
in both conditions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from console.analysis.metrics.bootstrap import LEVEL, Interval
from console.analysis.metrics.classification import McNemar, mcnemar
from console.analysis.statistics.estimates import (
    Estimate,
    clip_interval,
    estimate_mean,
    estimate_proportion,
    require_columns,
    undefined_estimate,
)
from console.errors import BadInput

PAPER = "solved_paper"
HELD = "solved_held"


@dataclass(frozen=True, slots=True)
class Success:
    """The success rate of a condition at a trial; shares are 0 to 1.

    `sd` is the standard deviation over participants, divided by n - 1. `sd_paper` is divided by n: only this version
    gives the 46.0 +- 0.8 of Table 9 for three people and a hundred tasks. `mean` has the t interval over participants.
    `pooled` treats all tasks as one sample (Wilson), so its interval is too narrow if participants differ.
    """

    condition: str
    trial: int
    participants: int
    tasks: int
    mean: Estimate
    sd: float | None
    sd_paper: float | None
    pooled: Estimate


def compute_success_by_trial(frame: pd.DataFrame, solved: str = PAPER) -> tuple[Success, ...]:
    """Return one row per condition and trial, with tasks and solved tasks; raise BadInput on a duplicate row."""
    require_columns(frame, "participant", "condition", "trial", "tasks", solved)
    twice = frame[frame.duplicated(["participant", "condition", "trial"])]
    if len(twice):
        row = twice.iloc[0]
        raise BadInput(
            f"{row['participant']} has two rows for condition {row['condition']}, trial {row['trial']}. Add up "
            "the tasks of both rows and compute again."
        )
    held = frame[frame["tasks"] > 0]
    groups = held.groupby(["condition", "trial"], sort=True)
    return tuple(_row(condition, trial, rows, solved) for (condition, trial), rows in groups)


def _row(condition: Any, trial: Any, rows: pd.DataFrame, solved: str) -> Success:
    done, tasks = (rows[name].to_numpy(dtype=np.int64) for name in (solved, "tasks"))
    rates = done / tasks
    several = len(rates) > 1
    return Success(
        condition=str(condition),
        trial=int(trial),
        participants=len(rates),
        tasks=int(tasks.sum()),
        mean=clip_interval(estimate_mean(rates)),
        sd=float(rates.std(ddof=1)) if several else None,
        sd_paper=float(rates.std()) if several else None,
        pooled=estimate_proportion(int(done.sum()), int(tasks.sum())),
    )


@dataclass(frozen=True, slots=True)
class TaskPairs:
    """A comparison of two conditions by task: McNemar's test, and the difference between the shares of solved tasks.

    `pairs` counts the compared tasks; `tied` counts the tasks left out because exactly half of a condition's
    participants solved them.
    """

    pairs: int
    tied: int
    test: McNemar
    difference: Estimate


def compare_tasks(frame: pd.DataFrame, solved: str, first: str, second: str) -> TaskPairs:
    """Compare two conditions by task; raise BadInput if a column is missing.

    A task that several participants did in one condition counts as solved if more than half of them solved it. Tasks
    are treated as independent, so the p-value is too small if one participant solved all of them.
    """
    require_columns(frame, "condition", "task_id", solved)
    shares = frame.astype({solved: float}).groupby(["task_id", "condition"])[solved].mean().unstack()
    both = shares.reindex(columns=[first, second]).dropna()
    clear = both[(both != 0.5).all(axis=1)] > 0.5
    ours, theirs = clear[first].to_numpy(dtype=bool), clear[second].to_numpy(dtype=bool)
    test, tied = mcnemar(np.ones(len(clear), dtype=bool), ours, theirs), len(both) - len(clear)
    return TaskPairs(len(clear), tied, test, _difference(test, len(clear), tied))


def _difference(test: McNemar, n: int, tied: int) -> Estimate:
    """Compute the difference of two paired shares with the adjusted interval of Bonett and Price (2012)."""
    if not n:
        every = "Every task with both conditions is tied."
        return undefined_estimate(every if tied else "No task has both conditions.")
    ours, theirs = (test.only_first + 1) / (n + 2), (test.only_second + 1) / (n + 2)
    error = float(((ours + theirs - (ours - theirs) ** 2) / (n + 2)) ** 0.5)
    half = float(special.ndtri((1 + LEVEL) / 2)) * error
    bounds = Interval(max(-1.0, ours - theirs - half), min(1.0, ours - theirs + half))
    return Estimate((test.only_first - test.only_second) / n, bounds, test.p_value, n)
