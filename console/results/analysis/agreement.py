"""Do reviewers agree on the checkpoints that they share?"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from console.analysis.statistics.agreement import agreement as measures
from console.analysis.statistics.agreement import cohen_of_pairs
from console.results.analysis.cells import Frames, cells, groups, own, table

EVERYBODY = "everybody"
MOST = 12
"""Reviewers; the pairs of more are too many to read."""

_RESAMPLES = 200


def agreement(frames: Frames) -> pd.DataFrame:
    """Every measure of agreement of people, of simulated reviewers, and of everybody, on trial 0."""
    rows = [
        {"reviewers": name, "measure": measure, **cells(found, "value")}
        for name, ratings in _ratings(frames)
        for measure, found in measures(ratings).items()
    ]
    return table(rows, "reviewers$ measure$ value low high n# note$")


def pairs(frames: Frames) -> pd.DataFrame:
    """Cohen's kappa of each two reviewers, where there are at most `MOST` of them."""
    ratings = _shared(frames)
    few = ratings["rater"].nunique() <= MOST
    found = cohen_of_pairs(ratings, resamples=_RESAMPLES) if few else {}
    rows = [{"first": first, "second": second, **cells(one, "kappa")} for (first, second), one in found.items()]
    return table(rows, "first$ second$ kappa low high n# note$")


def _ratings(frames: Frames) -> Iterator[tuple[str, pd.DataFrame]]:
    shared = _shared(frames)
    parts = list(groups(shared))
    yield from parts
    if len(parts) > 1:
        yield EVERYBODY, shared


def _shared(frames: Frames) -> pd.DataFrame:
    labels = own(frames).rename(columns={"participant": "rater"})
    return labels.loc[labels["unit"].notna() & labels["label"].notna(), ["unit", "rater", "label", "annotator_kind"]]
