"""Everything that is computed of a study's results, from the tidy tables alone.

A new analysis is one function from the tables to a table, and one line in ANALYSES.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from console.results.analysis.agreement import agreement, pairs
from console.results.analysis.burning import burn_down
from console.results.analysis.cells import Frames
from console.results.analysis.pace import over_session, pace
from console.results.analysis.people import people
from console.results.analysis.reliance import bias, checks, override, stamping
from console.results.analysis.success import differences, mixed, success, tasks
from console.results.analysis.words import by_length, words

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
