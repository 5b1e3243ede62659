"""Agreement: how far reviewers agree on the checkpoints that they share."""

from __future__ import annotations

import pandas as pd

from console.analysis.statistics.reviewer_agreement import agreement as measures
from console.analysis.statistics.reviewer_agreement import cohen_of_pairs
from console.studies.analysis.frames import Frames, cells, first_labels, groups, own, table
from console.studies.analysis.parts import read_analysis

MOST = 12
"""Reviewers of a kind; the pairs of more are too many to read."""

TENTATIVE = 0.667
"""Alpha below which Krippendorff (2004) draws no conclusions, not even tentative ones."""

_RESAMPLES = 200


def agreement(frames: Frames) -> pd.DataFrame:
    """Every measure of agreement of people, and of simulated reviewers, on trial 0."""
    rows = [
        {"reviewers": name, "measure": measure, **cells(found, "value")}
        for name, ratings in groups(_shared(frames))
        for measure, found in measures(ratings).items()
    ]
    return table(rows, "reviewers$ measure$ value low high n# note$")


def pairs(frames: Frames) -> pd.DataFrame:
    """Cohen's kappa of each two people, and of each two simulated reviewers, where there are at most `MOST` of a kind.

    Nobody is paired with a reviewer of the other kind.
    """
    rows = [
        {"reviewers": name, "first": first, "second": second, **cells(found, "kappa")}
        for name, ratings in groups(_shared(frames))
        if ratings["rater"].nunique() <= MOST
        for (first, second), found in cohen_of_pairs(ratings, resamples=_RESAMPLES).items()
    ]
    return table(rows, "reviewers$ first$ second$ kappa low high n# note$")


def _shared(frames: Frames) -> pd.DataFrame:
    """Labels of checkpoints of trial 0; of one met under several conditions, each reviewer's first."""
    labels = first_labels(own(frames)).rename(columns={"participant": "rater"})
    return labels.loc[labels["unit"].notna() & labels["label"].notna(), ["unit", "rater", "label", "annotator_kind"]]


def of_agreement(table: pd.DataFrame) -> str:
    """How far people agree beyond chance, else why that cannot be told."""
    if table.empty:
        return "No checkpoint has labels of two reviewers yet."
    who = table["reviewers"].iloc[0]
    rows = table[table["reviewers"] == who].set_index("measure")
    if "alpha" not in rows.index or pd.isna(rows.loc["alpha", "value"]):
        return f"How far {who} agree beyond chance cannot be told: {rows['note'].iloc[-1]}"
    alpha = rows.loc["alpha"]
    span = f" ({alpha['low']:.2f} to {alpha['high']:.2f})" if pd.notna(alpha["low"]) else ""
    return (
        f"Krippendorff's alpha of {who} is {alpha['value']:.2f}{span} on {alpha['n']:,} shared checkpoints: "
        f"{_verdict(alpha['low'], alpha['high'])} "
        f"(Krippendorff asks for {TENTATIVE})."
    )


def _verdict(low: float, high: float) -> str:
    if low >= TENTATIVE:
        return "enough for tentative conclusions"
    if high < TENTATIVE:
        return "too little to rest a label on"
    return "too few to tell whether it is enough for tentative conclusions"


ANALYSIS = read_analysis(
    "agreement", {"agreement": agreement, "agreement-pairs": pairs}, sentences={"agreement": of_agreement}
)
