"""People compared with simulated reviewers: the accuracy, speed and agreement of each kind."""

from __future__ import annotations

import pandas as pd

from console.analysis.statistics.reviewer_agreement import compare_humans_and_others, compare_kinds
from console.studies.analysis.format import by_figure, format_signed, lower_first, span
from console.studies.analysis.frames import NAMES, Frames, cells, first_labels, own_decisions, table
from console.studies.analysis.parts import read_analysis

_FIGURES = {"accuracy": "right decisions", "seconds": "seconds (geometric mean)", "alpha": "Krippendorff's alpha"}
_APART = {
    "accuracy": "right decisions, people less simulated",
    "seconds": "seconds, people over simulated (factor)",
    "agreement": "share of equal labels of both",
}
_DIFFERENCES = ("accuracy", "seconds")


def people(frames: Frames) -> pd.DataFrame:
    """Compare accuracy, seconds and agreement of people and simulated reviewers; add differences if both took part."""
    decided = first_labels(own_decisions(frames))
    rows = [
        {
            "reviewers": NAMES.get(found.kind, found.kind),
            "figure": said,
            "participants": found.participants,
            "decisions": found.decisions,
            **cells(getattr(found, figure), "value", tested=False),
        }
        for found in compare_kinds(decided)
        for figure, said in _FIGURES.items()
    ]
    if decided["annotator_kind"].nunique() > 1:
        apart = compare_humans_and_others(decided)
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


def describe_people(table: pd.DataFrame) -> str:
    """State how people differ from simulated reviewers."""
    rows = by_figure(table[table["reviewers"] == "both"])
    if not rows:
        return "A comparison needs decisions by people and by simulated reviewers."
    right = rows["right decisions, people less simulated"]
    if pd.isna(right["value"]):
        return f"No comparison is possible: {right['note']}"
    equal = rows["share of equal labels of both"]["value"]
    shared = "" if pd.isna(equal) else f"; on shared checkpoints, {equal:.0%} of their labels agree"
    without = f" The difference has no interval: {lower_first(right['note'])}" if pd.isna(right["low"]) else ""
    return (
        f"People's share of correct decisions minus that of simulated reviewers is {format_signed(right['value'])}"
        f"{span(right, '+.3f')}{shared}.{without}"
    )


ANALYSIS = read_analysis("people", {"people": people}, sentences={"people": describe_people})
