"""Everything that is computed of a study's results, from the tidy tables alone, and what is said of it.

A new analysis is one file that states an Analysis, its words beside it as YAML, and one line in ANALYSES: the page of
results, the report and `inferact study results` show it from there on.
"""

from __future__ import annotations

from functools import partial

import pandas as pd

from console.studies.analysis import (
    agreement,
    contrasts,
    effects,
    exclusions,
    feedback,
    order,
    oversight,
    pace,
    people,
    questionnaires,
    reliance,
    success,
)
from console.studies.analysis.frames import Frames, without_excluded
from console.studies.analysis.parts import Analysis, Compute

ANALYSES: dict[str, Analysis] = {
    "contrasts": contrasts.ANALYSIS,
    "success": success.ANALYSIS,
    "effects": effects.ANALYSIS,
    "order": order.ANALYSIS,
    "agreement": agreement.ANALYSIS,
    "pace": pace.ANALYSIS,
    "reliance": reliance.ANALYSIS,
    "words": feedback.ANALYSIS,
    "people": people.ANALYSIS,
    "oversight": oversight.ANALYSIS,
    "questionnaires": questionnaires.ANALYSIS,
    "exclusions": exclusions.ANALYSIS,
}
"""By the name of its part of the page in the address, in the order of page and report."""


def computations() -> dict[str, Compute]:
    """What computes each table of results, by the table's name."""
    return {
        name: compute if each.of_everybody else partial(_of_the_kept, compute)
        for each in ANALYSES.values()
        for name, compute in each.tables.items()
    }


def _of_the_kept(compute: Compute, frames: Frames) -> pd.DataFrame:
    return compute(without_excluded(frames))


def result_tables(frames: Frames) -> dict[str, pd.DataFrame]:
    """Every table of results by its name."""
    return {name: compute(frames) for name, compute in computations().items()}
