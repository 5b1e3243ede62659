"""People beside simulated reviewers."""

from __future__ import annotations

import pandas as pd

from console.analysis.statistics.human_simulated import by_kind, humans_and_others
from console.results.analysis.cells import REVIEWERS, Frames, cells, own, table

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
