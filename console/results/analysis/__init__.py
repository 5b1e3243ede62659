"""Everything that is computed of a study's results, from the tidy tables alone.

A new analysis is one function from the tables to a table, and one line in ANALYSES.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from console.results.analysis.agreement import agreement, pairs
from console.results.analysis.cells import Frames
from console.results.analysis.success import differences, mixed, success, tasks

ANALYSES: dict[str, Callable[[Frames], pd.DataFrame]] = {
    "success": success,
    "differences": differences,
    "tasks": tasks,
    "mixed": mixed,
    "agreement": agreement,
    "agreement-pairs": pairs,
}


def analysis(frames: Frames) -> dict[str, pd.DataFrame]:
    """Every table of the analysis by its name."""
    return {name: compute(frames) for name, compute in ANALYSES.items()}
