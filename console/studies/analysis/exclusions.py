"""Who is left out by the design's rules, and the primary answers with and without them."""

from __future__ import annotations

from typing import Any

import pandas as pd

from console.studies.analysis import contrasts
from console.studies.analysis.format import signed
from console.studies.analysis.frames import Frames, excluded, table, without_excluded
from console.studies.analysis.parts import read_analysis
from console.studies.design.asking import RULES
from console.studies.design.contrasts import PRIMARY

_SHOWN = ["measure", "contrast", "annotator_kind", "estimate", "low", "high", "p_adjusted", "n", "note"]
_COLUMNS = "people$ measure$ contrast$ annotator_kind$ estimate low high p_adjusted n# note$"
EVERYBODY, KEPT = "everybody", "without those left out"


def exclusion_rules(frames: Frames) -> pd.DataFrame:
    """Each rule with how many people it judges and how many it leaves out; the last row is any of them."""
    rows = [
        {"rule": RULES[str(rule)], "limit": part["limit"].iloc[0], "people": len(part), "left_out": _count(part)}
        for rule, part in frames["exclusions"].groupby("rule", sort=False)
    ]
    if rows:
        people = frames["exclusions"]["participant"].nunique()
        rows.append({"rule": "any of them", "people": people, "left_out": len(excluded(frames))})
    return table(rows, "rule$ limit people# left_out#")


def with_and_without(frames: Frames) -> pd.DataFrame:
    """The primary contrasts of everybody, and of those whom no rule leaves out; none where nobody is left out."""
    if not excluded(frames):
        return table([], _COLUMNS)
    found: list[dict[str, Any]] = []
    for name, of in ((EVERYBODY, frames), (KEPT, without_excluded(frames))):
        stated = contrasts.planned(of)
        rows = stated[stated["kind"] == PRIMARY][_SHOWN].to_dict("records")
        found += [{"people": name, **{str(key): cell for key, cell in row.items()}} for row in rows]
    return table(sorted(found, key=lambda row: str(row["contrast"])), _COLUMNS)


def of_rules(shown: pd.DataFrame) -> str:
    """How many people the rules leave out."""
    if shown.empty:
        return "The design states no rule that leaves anybody out."
    row = shown.iloc[-1]
    if not row["left_out"]:
        return f"By the rules that were stated nobody of {row['people']} people is left out."
    return f"{row['left_out']} of {row['people']} people are left out of the analysis by the rules that were stated."


def of_both(shown: pd.DataFrame) -> str:
    """What leaving them out changes in each primary estimate."""
    said = []
    for contrast, rows in shown.groupby("contrast", sort=False):
        kept, everybody = (signed(_estimate(rows, name)) for name in (KEPT, EVERYBODY))
        said.append(f"{contrast}: {kept} without those left out, {everybody} with them.")
    return " ".join(said) or "Nobody is left out, so there is nothing to compare."


def _estimate(rows: pd.DataFrame, people: str) -> float:
    found = rows[rows["people"] == people]["estimate"].tolist()
    return float(found[0]) if found else float("nan")


def _count(part: pd.DataFrame) -> int:
    return int(part["excluded"].astype(bool).sum())


ANALYSIS = read_analysis(
    "exclusions",
    {"exclusion-rules": exclusion_rules, "with-and-without": with_and_without},
    sentences={"exclusion-rules": of_rules, "with-and-without": of_both},
    of_everybody=True,
)
