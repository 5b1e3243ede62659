"""Time and fatigue: how long decisions take, and how that moves over a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from console.analysis.statistics.pace import ITEMS, Pace, by_condition
from console.analysis.statistics.pace import pace as measured
from console.studies.analysis.format import by_figure, number, span
from console.studies.analysis.frames import ALL, Frames, cells, groups, own, table
from console.studies.analysis.parts import read_analysis


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


def of_pace(table: pd.DataFrame) -> str:
    """How long a decision takes, and whether that changes within a session."""
    rows = by_figure(table[table["condition"] == ALL])
    if not rows:
        return "Nobody has decided anything yet, so there is no pace to tell."
    mean, change = rows["seconds (geometric mean)"], rows["change of seconds per ten items"]
    if pd.isna(mean["value"]):
        return f"How long a decision takes cannot be told: {mean['note']}"
    said = f"A decision takes {mean['value']:.0f} s{span(mean, '.0f', ' s')}"
    if pd.isna(change["low"]):
        return f"{said}; whether that changes over a session cannot be told: {change['note']}"
    told = change["low"] > 0 or change["high"] < 0
    verdict = _pace(change["value"]) if told else "whether they slow down or speed up cannot be told"
    drift = f"{number(change['value'], '+.0%')}{span(change, '+.0%')}"
    return f"{said}; with every ten items it changes by {drift}: {verdict}."


def _pace(change: float) -> str:
    return "they slow down" if change > 0 else "they speed up"


ANALYSIS = read_analysis("pace", {"pace": pace, "time-over-session": over_session}, sentences={"pace": of_pace})
