"""Do reviewers agree on the checkpoints that they share?

How long decisions take, and how that moves over a session.
People beside simulated reviewers.
Words to the agent: how many, how specific, and what its next trial made of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from console.analysis.statistics.estimates import proportion
from console.analysis.statistics.feedback_words import Association, feedback_and_success
from console.analysis.statistics.human_simulated import by_kind, humans_and_others
from console.analysis.statistics.pace import ITEMS, Pace, by_condition
from console.analysis.statistics.pace import pace as measured
from console.analysis.statistics.reviewer_agreement import agreement as measures
from console.analysis.statistics.reviewer_agreement import cohen_of_pairs
from console.studies.analysis.frames import ALL, REVIEWERS, Frames, cells, groups, own, table
from console.trajectory import Label, Outcome

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


def pace(frames: Frames) -> pd.DataFrame:
    """Seconds per decision, and what ten more items change in seconds and in correctness, by condition."""
    rows = [
        {"reviewers": name, "condition": condition, **row}
        for name, part in groups(own(frames))
        for condition, found in ({ALL: measured(part)} | by_condition(part)).items()
        for row in _pace_figures(found)
    ]
    return table(rows, "reviewers$ condition$ figure$ value low high p n# decisions# left_out# median_seconds note$")


def over_session(frames: Frames) -> pd.DataFrame:
    """Median and quartiles of the seconds of each ten decisions of a session, practice left out."""
    decisions = frames["decisions"]
    placed = decisions[decisions["place_in_session"].notna()]
    seconds = placed["lead_time_ms"].astype(float) / 1_000
    tens = (placed["place_in_session"].astype("int64") - 1) // ITEMS
    rows = []
    for kind, of_kind in seconds.groupby(placed["annotator_kind"]):
        for ten in sorted(set(tens[of_kind.index])):
            times = of_kind[tens[of_kind.index] == ten]
            low, median, high = times.quantile([0.25, 0.5, 0.75])
            place = {"kind": kind, "first": ten * ITEMS + 1, "last": (ten + 1) * ITEMS}
            rows.append({**place, "n": len(times), "seconds": median, "low": low, "high": high})
    return table(rows, "kind$ first# last# n# seconds low high")


def _pace_figures(found: Pace) -> Iterator[dict[str, Any]]:
    counts = {"decisions": found.decisions, "left_out": found.left_out, "median_seconds": found.median_s}
    yield {"figure": "seconds (geometric mean)", **cells(found.geometric_mean_s, "value", tested=False), **counts}
    yield {"figure": "change of seconds per ten items", **cells(found.seconds_per_ten, "value"), **counts}
    yield {"figure": "change of right decisions per ten items", **cells(found.correct_per_ten, "value"), **counts}


_NAMES = {kind: name for name, kind in REVIEWERS.items()}
_FIGURES = {"accuracy": "right decisions", "seconds": "seconds (geometric mean)", "alpha": "Krippendorff's alpha"}
_APART = {
    "accuracy": "right decisions, people less simulated",
    "seconds": "seconds, people over simulated (factor)",
    "agreement": "share of equal labels of both",
}
_DIFFERENCES = ("accuracy", "seconds")


def people(frames: Frames) -> pd.DataFrame:
    """Accuracy, seconds and agreement of each kind of reviewer, and how the kinds differ where both are there."""
    decided = own(frames)
    rows = [
        {
            "reviewers": _NAMES.get(found.kind, found.kind),
            "figure": said,
            "participants": found.participants,
            "decisions": found.decisions,
            **cells(getattr(found, figure), "value", tested=False),
        }
        for found in by_kind(decided)
        for figure, said in _FIGURES.items()
    ]
    if decided["annotator_kind"].nunique() > 1:
        apart = humans_and_others(decided)
        everyone = {"participants": decided["participant"].nunique(), "decisions": len(decided)}
        rows += [
            {
                "reviewers": "both",
                "figure": said,
                **everyone,
                **cells(getattr(apart, figure), "value", tested=figure in _DIFFERENCES),
            }
            for figure, said in _APART.items()
        ]
    return table(rows, "reviewers$ figure$ value low high p n# participants# decisions# note$")


_BINS = ((0, 0), (1, 5), (6, 10), (11, 20), (21, 40), (41, 20_000))


def words(frames: Frames) -> pd.DataFrame:
    """Length (in doublings) and specificity of feedback against success in the next trial."""
    rows = [
        {"reviewers": name, "property": which, "texts": found.texts, "participants": found.participants, **row}
        for name, part in groups(own(frames))
        for which, found in feedback_and_success(part).items()
        for row in _word_figures(found)
    ]
    return table(rows, "reviewers$ property$ figure$ value low high p n# texts# participants# note$")


def by_length(frames: Frames) -> pd.DataFrame:
    """The share of next trials that succeeded after "misaligned", by the words the agent got (Wilson intervals)."""
    tried = own(frames)
    tried = tried[tried["next_trial_outcome"].notna() & (tried["label"] == Label.MISALIGNED)]
    rows = [
        {"reviewers": name, "condition": str(condition), "words_low": low, "words_high": high, **_share(part)}
        for name, of_kind in groups(tried)
        for condition, of_condition in of_kind.groupby("condition", sort=True)
        for low, high in _BINS
        if len(part := of_condition[of_condition["feedback_words"].between(low, high)])
    ]
    return table(rows, "reviewers$ condition$ words_low# words_high# n# share low high")


def _share(part: pd.DataFrame) -> dict[str, Any]:
    return cells(proportion(int((part["next_trial_outcome"] == Outcome.SUCCEEDED).sum()), len(part)), "share")


def _word_figures(found: Association) -> Iterator[dict[str, Any]]:
    yield {"figure": "mean", "value": found.mean, "n": found.texts}
    yield {"figure": "correlation with success", **cells(found.correlation, "value")}
    yield {"figure": "log odds of success per unit", **cells(found.log_odds, "value")}
