"""Time and order: the duration of decisions, and the effects of a condition's position, practice and carry-over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from console.analysis.statistics.estimates import estimate_mean
from console.analysis.statistics.session_effects import (
    ITEMS,
    Pace,
    compare_halves,
    compute_pace_by_condition,
    estimate_carry_over,
    estimate_position_effect,
)
from console.analysis.statistics.session_effects import compute_pace as measured
from console.language import counted
from console.studies.analysis.contrasts import answers
from console.studies.analysis.format import by_figure, format_signed, number, over, span, why_open
from console.studies.analysis.frames import ALL, Frames, cells, groups, own_decisions, table
from console.studies.analysis.parts import read_analysis
from console.studies.design.contrasts import MEASURES


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
    placed = decisions[decisions["place_in_session"].notna() & (decisions["lead_time_ms"].astype(float) > 0)]
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
    untimed = f"; {mean['left_out']:,} without a measured time left out" if mean["left_out"] else ""
    said = (
        f"A decision takes {mean['value']:.0f} s{span(mean, '.0f', ' s')}, the geometric mean of "
        f"{counted(mean['decisions'], 'decision')} {over(mean, mean['n'])}{untimed}."
    )
    if pd.isna(change["low"]):
        return f"{said} The change over a session is inconclusive: {change['note']}"
    some = f" {over(change, mean['n'])}" if change["n"] < mean["n"] else ""
    verdict = "the direction is inconclusive"
    if change["low"] > 0 or change["high"] < 0:
        verdict = "participants slow down" if change["value"] > 0 else "participants speed up"
    drift = f"{number(change['value'], '+.0%')}{span(change, '+.0%')}{some}"
    return f"{said} With every ten items it changes by {drift}: {verdict}."


PACE = read_analysis("pace", {"pace": pace, "time-over-session": over_session}, sentences={"pace": describe_pace})


LATER, LEARNING, AFTER = "one position later", "later half less earlier half", "after"
_RIGHT = "right"


def order(frames: Frames) -> pd.DataFrame:
    """Estimate the effects of position and previous condition on each measure, and of practice on correct decisions."""
    places = frames["allocation"].drop_duplicates(["participant", "condition"])
    places = places[["participant", "condition", "position"]]
    rows = [
        {"reviewers": name, "measure": measure, **row}
        for measure in MEASURES
        for name, part in groups(answers(frames, measure))
        for row in _figures(part, places)
    ]
    rows += [
        {"reviewers": name, "measure": _RIGHT, "figure": LEARNING, **_learning(part)}
        for name, part in groups(own_decisions(frames))
    ]
    return table(rows, "reviewers$ measure$ figure$ value low high p n# note$")


def _figures(part: pd.DataFrame, places: pd.DataFrame) -> Iterator[dict[str, Any]]:
    means = part.groupby(["participant", "condition"])["value"].mean().reset_index().merge(places)
    yield {"figure": LATER, **cells(estimate_position_effect(means, "value"), "value")}
    for (name, first), found in estimate_carry_over(means, "value").items():
        yield {"figure": f"{AFTER} {name} rather than {AFTER} {first}", **cells(found, "value")}


def _learning(decided: pd.DataFrame) -> dict[str, Any]:
    judged = decided[decided["correct"].notna()]
    apart = compare_halves(judged.assign(value=judged["correct"].astype(float)), "value", ("decided_at", "decision_id"))
    return cells(estimate_mean(apart["difference"]), "value")


def describe_order(table: pd.DataFrame) -> str:
    """State whether order changed the share of correct decisions, based on the intervals of the three order effects."""
    rows = by_figure(table[table["measure"] == _RIGHT])
    if not rows:
        return "No condition has finished yet, so order has no estimate."
    told = [_told(what, rows[figure]) for figure, what in _WHAT.items() if figure in rows]
    before = [row for figure, row in rows.items() if figure.startswith(AFTER)]
    return " ".join([*told, _carried(before)] if before else told)


_WHAT = {
    LATER: "A condition one position later changes the share of correct decisions by",
    LEARNING: "From the earlier to the later half of a participant's decisions, the share of correct ones changes by",
}


_UNKNOWN = {LATER: "The effect of a condition's position", LEARNING: "The effect of practice"}


def _told(what: str, row: dict[str, Any]) -> str:
    if pd.isna(row["value"]):
        return f"{_UNKNOWN[row['figure']]} is inconclusive. {row['note']}"
    figure = f"{what} {format_signed(row['value'])}{span(row, '+.3f')}"
    if pd.isna(row["low"]):
        return f"{figure}{why_open(row)}"
    known = row["low"] > 0 or row["high"] < 0
    return f"{figure}: {'an effect of order' if known else 'the direction is inconclusive'}."


def _carried(rows: list[dict[str, Any]]) -> str:
    tested = [row for row in rows if pd.notna(row["low"])]
    if not tested:
        return f"Carry-over from the previous condition is inconclusive. {rows[0]['note']}"
    found = [str(row["figure"]) for row in tested if row["p"] < 0.05 / len(tested)]
    if not found:
        widest = max(max(abs(row["low"]), abs(row["high"])) for row in tested)
        return (
            "Carry-over from the previous condition is inconclusive: the data are compatible with effects up to "
            f"{widest:.3f}."
        )
    return f"Carry-over from the previous condition (Bonferroni over {len(tested)}): {'; '.join(found)}."


ORDER = read_analysis("order", {"order": order}, sentences={"order": describe_order})
