"""Exclusions: the participants whom the design's rules exclude, and the primary results with and without them."""

from __future__ import annotations

from typing import Any

import pandas as pd

from console.analysis.statistics.estimates import contrast_title
from console.studies.analysis import contrasts
from console.studies.analysis.format import format_signed
from console.studies.analysis.frames import Frames, drop_excluded, list_excluded, table
from console.studies.analysis.parts import read_analysis
from console.studies.design.contrasts import PRIMARY
from console.studies.design.part import RULES

_SHOWN = ["measure", "contrast", "annotator_kind", "estimate", "low", "high", "p_adjusted", "n", "note"]
_COLUMNS = "people$ measure$ contrast$ annotator_kind$ estimate low high p_adjusted n# note$"
EVERYBODY, KEPT = "all people", "without excluded people"


def exclusion_rules(frames: Frames) -> pd.DataFrame:
    """Count the people checked and excluded by each rule; the last row counts exclusions by any rule."""
    rows = [
        {
            "rule": RULES[str(rule)],
            "limit": part["limit"].iloc[0],
            "people": len(part),
            "left_out": int(part["excluded"].sum()),
        }
        for rule, part in frames["exclusions"].groupby("rule", sort=False)
    ]
    if rows:
        people = frames["exclusions"]["participant"].nunique()
        rows.append({"rule": "any rule", "people": people, "left_out": len(list_excluded(frames))})
    return table(rows, "rule$ limit people# left_out#")


def with_and_without(frames: Frames) -> pd.DataFrame:
    """Test the primary contrasts with and without the excluded people; return no rows if no one is excluded."""
    if not list_excluded(frames):
        return table([], _COLUMNS)
    found: list[dict[str, Any]] = []
    for name, of in ((EVERYBODY, frames), (KEPT, drop_excluded(frames))):
        stated = contrasts.estimate_planned(of)
        rows = stated[stated["kind"] == PRIMARY][_SHOWN].to_dict("records")
        found += [{"people": name, **{str(key): cell for key, cell in row.items()}} for row in rows]
    return table(sorted(found, key=lambda row: str(row["contrast"])), _COLUMNS)


def describe_rules(shown: pd.DataFrame) -> str:
    """State how many people the rules exclude."""
    if shown.empty:
        return "The design has no exclusion rule."
    row = shown.iloc[-1]
    if not row["left_out"]:
        return f"The stated rules exclude none of {row['people']} people."
    return f"The stated rules exclude {row['left_out']} of {row['people']} people from the analysis."


def describe_both(shown: pd.DataFrame) -> str:
    """State how the exclusions change each primary estimate."""
    said = []
    for contrast, rows in shown.groupby("contrast", sort=False):
        kept, everybody = (format_signed(_estimate(rows, name)) for name in (KEPT, EVERYBODY))
        said.append(f"{contrast_title(str(contrast))}: {kept} without the excluded people, {everybody} with them.")
    return " ".join(said) or "No participant is excluded, so there is nothing to compare."


def _estimate(rows: pd.DataFrame, people: str) -> float:
    found = rows[rows["people"] == people]["estimate"].tolist()
    return float(found[0]) if found else float("nan")


ANALYSIS = read_analysis(
    "exclusions",
    {"exclusion-rules": exclusion_rules, "with-and-without": with_and_without},
    sentences={"exclusion-rules": describe_rules, "with-and-without": describe_both},
    of_everybody=True,
)
