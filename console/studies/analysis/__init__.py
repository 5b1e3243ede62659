"""Everything that is computed of a study's results, from the tidy tables alone.

A new analysis is one function from the tables to a table, and one line in ANALYSES.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from console.studies.analysis.budget import burn_down
from console.studies.analysis.frames import Frames
from console.studies.analysis.reliance import bias, checks, override, stamping
from console.studies.analysis.reviewers import agreement, by_length, over_session, pace, pairs, people, words
from console.studies.analysis.success import differences, mixed, success, tasks

ANALYSES: dict[str, Callable[[Frames], pd.DataFrame]] = {
    "success": success,
    "differences": differences,
    "tasks": tasks,
    "mixed": mixed,
    "agreement": agreement,
    "agreement-pairs": pairs,
    "pace": pace,
    "time-over-session": over_session,
    "override-by-score": override,
    "automation-bias": bias,
    "rubber-stamping": stamping,
    "checks": checks,
    "feedback": words,
    "feedback-length": by_length,
    "people": people,
    "burn-down": burn_down,
}


def analysis(frames: Frames) -> dict[str, pd.DataFrame]:
    """Every table of the analysis by its name."""
    return {name: compute(frames) for name, compute in ANALYSES.items()}
