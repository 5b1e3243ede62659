"""The analyses of a study: tables and sentences that are computed from the tidy tables alone.

To add an analysis, add one file with an Analysis, a YAML file of the same name with its texts, and one line in
ANALYSES. The results page, the report and `inferact study results` then show the analysis.
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
    oversight,
    pace,
    people,
    questionnaires,
    reliance,
    success,
)
from console.studies.analysis.frames import Frames, drop_excluded
from console.studies.analysis.parts import Analysis, Compute

ANALYSES: dict[str, Analysis] = {
    "contrasts": contrasts.ANALYSIS,
    "success": success.ANALYSIS,
    "effects": effects.ANALYSIS,
    "order": pace.ORDER,
    "agreement": agreement.ANALYSIS,
    "pace": pace.PACE,
    "reliance": reliance.ANALYSIS,
    "words": feedback.ANALYSIS,
    "people": people.ANALYSIS,
    "oversight": oversight.ANALYSIS,
    "questionnaires": questionnaires.ANALYSIS,
    "exclusions": exclusions.ANALYSIS,
}
"""The analyses in the order of page and report, keyed by their name in the page's address."""


def computations() -> dict[str, Compute]:
    """Return the functions that compute the tables of results, keyed by table name."""
    return {
        name: compute if each.of_everybody else partial(_of_the_kept, compute)
        for each in ANALYSES.values()
        for name, compute in each.tables.items()
    }


def _of_the_kept(compute: Compute, frames: Frames) -> pd.DataFrame:
    return compute(drop_excluded(frames))


def result_tables(frames: Frames) -> dict[str, pd.DataFrame]:
    """Compute every table of results; return the tables by name."""
    return {name: compute(frames) for name, compute in computations().items()}
