"""Time and fatigue: the duration of decisions, and its change over a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from console.analysis.statistics.session_effects import ITEMS, Pace, compute_pace_by_condition
from console.analysis.statistics.session_effects import compute_pace as measured
from console.studies.analysis.format import by_figure, number, span
from console.studies.analysis.frames import ALL, Frames, cells, groups, own_decisions, table
from console.studies.analysis.parts import read_analysis


def pace(frames: Frames) -> pd.DataFrame:
    """Estimate the seconds per decision, and the change in seconds and correctness per ten more items, by condition."""
    rows = [
        {"reviewers": name, "condition": condition, **row}
        for name, part in groups(own_decisions(frames))
        for condition, found in ({ALL: measured(part)} | compute_pace_by_condition(part)).items()
        for row in _pace_figures(found)
    ]
    return table(rows, "reviewers$ condition$ figure$ value low high p n# decisions# left_out# median_seconds note$")


def over_session(frames: Frames) -> pd.DataFrame:
    """Return the median and quartiles of seconds per decision for each ten decisions of a session, without practice."""
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


def describe_pace(table: pd.DataFrame) -> str:
    """State how long a decision takes, and whether that duration changes within a session."""
    rows = by_figure(table[table["condition"] == ALL])
    if not rows:
        return "No decision has been made yet, so the pace is unknown."
    mean, change = rows["seconds (geometric mean)"], rows["change of seconds per ten items"]
    if pd.isna(mean["value"]):
        return f"The time per decision is inconclusive: {mean['note']}"
    said = f"A decision takes {mean['value']:.0f} s{span(mean, '.0f', ' s')}"
    if pd.isna(change["low"]):
        return f"{said}; the change over a session is inconclusive: {change['note']}"
    verdict = "the direction is inconclusive"
    if change["low"] > 0 or change["high"] < 0:
        verdict = "participants slow down" if change["value"] > 0 else "participants speed up"
    drift = f"{number(change['value'], '+.0%')}{span(change, '+.0%')}"
    return f"{said}; with every ten items it changes by {drift}: {verdict}."


ANALYSIS = read_analysis("pace", {"pace": pace, "time-over-session": over_session}, sentences={"pace": describe_pace})
