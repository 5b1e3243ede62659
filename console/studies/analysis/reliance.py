"""Reliance of reviewers on the detector."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from console.analysis.statistics.reliance import (
    compute_overrides,
    estimate_automation_bias,
    estimate_rubber_stamping,
    estimate_seeded_advice,
)
from console.language import counted
from console.studies.analysis.format import by_figure, format_signed, lower_first, number, over, span, why_open
from console.studies.analysis.frames import ALL, Frames, cells, groups, own_decisions, table
from console.studies.analysis.parts import read_analysis
from console.studies.results.csv_files import FACTOR

_SEEN = {"shown", "hidden"}
_DIFFERENCE = "difference"
_UNTOLD = "inconclusive"
_SURE = 0.8
"""The score above which a score counts as high; a bin includes its upper border."""


def override(frames: Frames) -> pd.DataFrame:
    """Return the share of labels that contradict the detector's flag, by condition and bin of the detector's score."""
    rows = [
        {
            "reviewers": name,
            "condition": condition,
            "bin_low": found.low,
            "bin_high": found.high,
            "overridden": found.overridden,
            **cells(found.rate, "share"),
        }
        for name, of_kind in groups(own_decisions(frames))
        for condition, part in of_kind.groupby("condition", sort=True)
        for found in compute_overrides(part)
    ]
    return table(rows, "reviewers$ condition$ bin_low bin_high n# overridden# share low high note$")


def bias(frames: Frames) -> pd.DataFrame:
    """Compare accuracy on seeded items with a part of the page shown and hidden, for each factor with both levels."""
    decisions = frames["decisions"]
    told = [str(column) for column in decisions if str(column).startswith(FACTOR)]
    both = [column for column in told if set(decisions[column].dropna().unique()) >= _SEEN]
    rows = [
        {
            "reviewers": name,
            "factor": column.removeprefix(FACTOR),
            "seeded": which,
            "figure": figure,
            "items": found.items,
            "paired": "yes" if found.paired else "no",
            **cells(getattr(found, figure), "value", tested=figure == _DIFFERENCE),
        }
        for name, part in groups(decisions)
        for column in both
        for which, found in estimate_automation_bias(part, column).items()
        for figure in ("shown", "hidden", _DIFFERENCE)
    ]
    return table(rows, "reviewers$ factor$ seeded$ figure$ value low high p n# items# paired$ note$")


def advice(frames: Frames) -> pd.DataFrame:
    """Return the error rates on seeded items by the detector's flag, d' and criterion, overall and by condition."""
    rows = [
        {
            "reviewers": name,
            "condition": condition,
            "advice": found.advice or ALL,
            "figure": found.figure,
            "items": found.items,
            "errors": found.errors,
            **cells(found.value, "value", tested=False),
        }
        for name, part in groups(frames["decisions"])
        for condition, decisions in _conditions(part)
        for found in estimate_seeded_advice(decisions)
        if found.items
    ]
    return table(rows, "reviewers$ condition$ advice$ figure$ value low high n# items# errors# note$")


def stamping(frames: Frames) -> pd.DataFrame:
    """Return by condition the rubber-stamping index, the agreement in slower decisions, and the difference."""
    rows = [
        {
            "reviewers": name,
            "condition": condition,
            "figure": figure,
            "participants": rows["participant"].nunique(),
            **cells(getattr(found, figure), "value", tested=figure == _DIFFERENCE),
        }
        for name, part in groups(own_decisions(frames))
        for condition, rows in _conditions(part)
        for found in [estimate_rubber_stamping(rows)]
        for figure in ("index", "others", _DIFFERENCE)
    ]
    return table(rows, "reviewers$ condition$ figure$ value low high p n# note$ participants#")


def checks(frames: Frames) -> pd.DataFrame:
    """Count each participant's correct decisions on practice items, attention checks and seeded items."""
    decisions = frames["decisions"]
    asked = decisions[decisions["purpose"] != ""]
    found = asked.groupby(["participant", "purpose"])["correct"].agg(items="size", right="sum").reset_index()
    rows = [{str(name): cell for name, cell in row.items()} for row in found.to_dict("records")]
    return table(rows, "participant$ purpose$ items# right#")


def _conditions(part: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    yield ALL, part
    for condition, rows in part.groupby("condition", sort=True):
        yield str(condition), rows


def describe_overrides(table: pd.DataFrame) -> str:
    """State how often reviewers contradict the detector, and at which scores."""
    if not table["n"].sum():
        return "No decision on an item with a score of the detector has been made yet."
    against, count = int(table["overridden"].sum()), int(table["n"].sum())
    said = (
        f"{against:,} of {counted(count, 'decision')} ({against / count:.0%}) on scored items are against the detector"
    )
    above, below = table[table["bin_low"] >= _SURE], table[table["bin_low"] < _SURE]
    if not above["n"].sum() or not below["n"].sum():
        return f"{said}."
    sure, unsure = (part["overridden"].sum() / part["n"].sum() for part in (above, below))
    return f"{said}: {sure:.0%} at scores above {_SURE}, {unsure:.0%} at lower scores."


def describe_bias(table: pd.DataFrame) -> str:
    """State whether showing a part of the page leads reviewers to follow a detector that is wrong."""
    rows = by_figure(table[table["seeded"] == "advice wrong"])
    if not rows:
        return (
            "Automation bias cannot be estimated: it needs seeded items, and a factor such as score that one condition "
            "shows and another hides."
        )
    row = rows["difference"]
    if pd.isna(row["value"]):
        return f"Automation bias is inconclusive: {row['note']}"
    shown = f"{row['factor'].replace('_', ' ')} shown rather than hidden"
    said = (
        f"When the detector is wrong about a seeded item, {shown} changes the share of correct decisions "
        f"by {format_signed(row['value'])}{span(row, '+.3f')} over {counted(row['n'], 'participant')}"
    )
    if pd.isna(row["low"]):
        return f"{said}{why_open(row)}"
    verdict = "automation bias" if row["high"] < 0 else "the opposite of automation bias" if row["low"] > 0 else _UNTOLD
    return f"{said}: {verdict}."


def describe_advice(table: pd.DataFrame) -> str:
    """State how often reviewers follow a detector that is wrong about an item with a known answer."""
    rows = by_figure(table[table["condition"] == ALL].drop_duplicates("figure"))
    parts = [
        f"{row['errors']:,.0f} of {row['items']:,} {words}, {row['value']:.0%} on average over participants"
        f"{span(row, '.0%')}"
        for name, words in _WRONG_ADVICE.items()
        if (row := rows.get(name)) and not pd.isna(row["value"])
    ]
    if not parts:
        return "Omission and commission cannot be estimated: they need seeded items that the detector gets wrong."
    told = "".join(f" {_signals(condition, part)}" for condition, part in _by_condition(table))
    return f"How often reviewers follow a detector that is wrong about a seeded item: {'; '.join(parts)}.{told}"


def _comparable(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table; with several conditions, leave out the rows of d' and criterion over all conditions."""
    several = table["condition"].nunique() > 2
    return table[~(several & table["figure"].isin(_SIGNALS) & (table["condition"] == ALL))]


def _by_condition(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each condition's answers for d' or the criterion.

    The correction for extreme rates weakens as answers increase, so values over all conditions are not comparable to
    values of one condition.
    """
    known = table[table["figure"].isin(_SIGNALS) & (table["advice"] == ALL) & table["value"].notna()]
    for condition, part in known.groupby("condition", sort=False):
        if condition != ALL:
            yield str(condition), part


def _signals(condition: str, part: pd.DataFrame) -> str:
    rows = by_figure(part)
    said = [
        f"{words} is {number(rows[name]['value'], '.2f')}{span(rows[name], '.2f')}"
        for name, words in _SIGNALS.items()
        if name in rows
    ]
    return f"Under {condition}, {' and '.join(said)}."


_SIGNALS = {"d_prime": "d'", "criterion": "criterion"}


_WRONG_ADVICE = {
    "omission": "wrong, unflagged actions were approved (omission)",
    "commission": "correct, flagged actions were rejected (commission)",
}


def describe_stamping(table: pd.DataFrame) -> str:
    """State whether quick decisions agree with the detector more often than slow decisions."""
    rows = by_figure(table[table["condition"] == ALL])
    if not rows or pd.isna(rows["index"]["value"]):
        why = rows["index"]["note"] if rows else "no decision has been made yet."
        return f"The rubber-stamping index cannot be estimated: {why}"
    index, apart = rows["index"], rows["difference"]
    left = int(index["participants"] - index["n"])
    others = "the others" if left > 1 else "the other one"
    few = f"; {others} made too few with a measured time" if left > 0 else ""
    said = (
        f"Of the fastest quarter of each reviewer's decisions, {index['value']:.0%} agree with the "
        f"detector{span(index, '.0%')}, on average {over(index, index['participants'])}{few}"
    )
    if pd.isna(apart["value"]):
        return f"{said}. The difference from slower decisions cannot be estimated: {lower_first(apart['note'])}"
    more = f"{said}. The difference from slower decisions is {format_signed(apart['value'])}{span(apart, '+.3f')}"
    more += f" {over(apart, apart['participants'])}"
    if pd.isna(apart["low"]):
        return f"{more}{why_open(apart)}"
    if apart["low"] <= 0 <= apart["high"]:
        return f"{more}: inconclusive."
    return f"{more}: fast decisions agree {'more' if apart['value'] > 0 else 'less'} often."


ANALYSIS = read_analysis(
    "reliance",
    {
        "override-by-score": override,
        "automation-bias": bias,
        "rubber-stamping": stamping,
        "checks": checks,
        "seeded-advice": advice,
    },
    sentences={
        "override-by-score": describe_overrides,
        "automation-bias": describe_bias,
        "rubber-stamping": describe_stamping,
        "seeded-advice": describe_advice,
    },
    views={"override-by-score": lambda bins: bins[bins["n"] > 0], "seeded-advice": _comparable},
)
