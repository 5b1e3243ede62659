"""How long decisions take, and how that moves over a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from console.analysis.statistics.pace import ITEMS, Pace, by_condition
from console.analysis.statistics.pace import pace as measured
from console.results.analysis.cells import ALL, Frames, cells, groups, own, table


def pace(frames: Frames) -> pd.DataFrame:
    """Seconds per decision, and what ten more items change in seconds and in correctness, by condition."""
    rows = [
        {"reviewers": name, "condition": condition, **row}
        for name, part in groups(own(frames))
        for condition, found in ({ALL: measured(part)} | by_condition(part)).items()
        for row in _figures(found)
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


def _figures(found: Pace) -> Iterator[dict[str, Any]]:
    counts = {"decisions": found.decisions, "left_out": found.left_out, "median_seconds": found.median_s}
    yield {"figure": "seconds (geometric mean)", **cells(found.geometric_mean_s, "value", tested=False), **counts}
    yield {"figure": "change of seconds per ten items", **cells(found.seconds_per_ten, "value"), **counts}
    yield {"figure": "change of right decisions per ten items", **cells(found.correct_per_ten, "value"), **counts}
