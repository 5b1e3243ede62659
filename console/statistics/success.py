"""The success rate over trials: mean and spread over participants, as Table 9 and Figure 25 of InferAct show it.

The frame has one row per participant, condition and trial, with tasks and the number solved.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from console.errors import BadInput
from console.statistics.estimates import LEVEL, Estimate, bounded, mean, need, proportion

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
    """One row per condition and trial, in that order; raises BadInput for a missing column or a second row of one."""
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
