"""Agreement between reviewers on the checkpoints that they have in common."""

from __future__ import annotations

import pandas as pd

from console.analysis.statistics.reviewer_agreement import cohen_of_pairs
from console.analysis.statistics.reviewer_agreement import estimate_agreement as measures
from console.language import counted
from console.studies.analysis.format import name_reviewers, number, span, why_open
from console.studies.analysis.frames import Frames, cells, first_labels, groups, own_decisions, table
from console.studies.analysis.parts import read_analysis

MOST = 12
"""The maximum number of reviewers of a kind for a table of pairs; more pairs are too many to read."""

TENTATIVE = 0.667
"""The alpha below which Krippendorff (2004) advises against even tentative conclusions."""

_RESAMPLES = 200


def agreement(frames: Frames) -> pd.DataFrame:
    """Compute every measure of agreement on trial 0, for people and for simulated reviewers."""
    rows = [
        {"reviewers": name, "measure": measure, **cells(found, "value")}
        for name, ratings in groups(_first_labels(frames))
        for measure, found in measures(ratings).items()
    ]
    return table(rows, "reviewers$ measure$ value low high n# note$")


def pairs(frames: Frames) -> pd.DataFrame:
    """Compute Cohen's kappa for every pair of reviewers of one kind, if there are at most `MOST` of that kind."""
    rows = [
        {"reviewers": name, "first": first, "second": second, **cells(found, "kappa")}
        for name, ratings in groups(_first_labels(frames))
        if ratings["rater"].nunique() <= MOST
        for (first, second), found in cohen_of_pairs(ratings, resamples=_RESAMPLES).items()
    ]
    return table(rows, "reviewers$ first$ second$ kappa low high n# note$")


def _first_labels(frames: Frames) -> pd.DataFrame:
    """Return each reviewer's first label of each checkpoint of trial 0."""
    labels = first_labels(own_decisions(frames)).rename(columns={"participant": "rater"})
    return labels.loc[labels["unit"].notna() & labels["label"].notna(), ["unit", "rater", "label", "annotator_kind"]]


def describe_agreement(table: pd.DataFrame) -> str:
    """State the agreement of people beyond chance, or the reason why the result is inconclusive."""
    if table.empty:
        return "No checkpoint has labels from two reviewers yet."
    who = table["reviewers"].iloc[0]
    rows = table[table["reviewers"] == who].set_index("measure")
    if "alpha" not in rows.index or pd.isna(rows.loc["alpha", "value"]):
        return f"The agreement of {name_reviewers(who)} beyond chance is inconclusive: {rows['note'].iloc[-1]}"
    alpha = rows.loc["alpha"]
    said, on = (
        f"Krippendorff's alpha of {name_reviewers(who)} is {number(alpha['value'], '.2f')}",
        counted(alpha["n"], "shared checkpoint"),
    )
    if pd.isna(alpha["low"]):
        return f"{said} on {on}{why_open(alpha)}"
    return f"{said}{span(alpha, '.2f')} on {on}: {_verdict(alpha['low'], alpha['high'])} (Krippendorff: {TENTATIVE})."


def _verdict(low: float, high: float) -> str:
    if low >= TENTATIVE:
        return "sufficient for tentative conclusions"
    if high < TENTATIVE:
        return "too low to rely on the labels"
    return "inconclusive, because the interval includes the threshold"


ANALYSIS = read_analysis(
    "agreement", {"agreement": agreement, "agreement-pairs": pairs}, sentences={"agreement": describe_agreement}
)
