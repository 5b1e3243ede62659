"""People beside simulated reviewers: how right, how fast, how much of one mind each kind is."""

from __future__ import annotations

import pandas as pd

from console.analysis.statistics.human_simulated import by_kind, humans_and_others
from console.studies.analysis.format import by_figure, signed, span
from console.studies.analysis.frames import REVIEWERS, Frames, cells, first_labels, own, table
from console.studies.analysis.parts import read_analysis

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
    decided = first_labels(own(frames))
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


def of_people(table: pd.DataFrame) -> str:
    """How people differ from simulated reviewers."""
    rows = by_figure(table[table["reviewers"] == "both"])
    if not rows:
        return "People and simulated reviewers can be compared once both have decided."
    right = rows["right decisions, people less simulated"]
    if pd.isna(right["value"]):
        return f"They cannot be compared: {right['note']}"
    equal = rows["share of equal labels of both"]["value"]
    shared = "" if pd.isna(equal) else f"; on shared checkpoints {equal:.0%} of their labels are equal"
    return (
        f"People's share of right decisions less that of simulated reviewers is {signed(right['value'])}"
        f"{span(right, '+.3f')}{shared}."
    )


ANALYSIS = read_analysis("people", {"people": people}, sentences={"people": of_people})
