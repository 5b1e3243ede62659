"""What a table about reviewers says, in one sentence worked out of its numbers; what it cannot say, and why."""

from __future__ import annotations

import pandas as pd

from console.results.analysis.cells import ALL


def of_pace(table: pd.DataFrame) -> str:
    """How long a decision takes, and whether that changes within a session."""
    rows = table[table["condition"] == ALL].set_index("figure") if len(table) else table
    if rows.empty:
        return "Nobody has decided anything yet, so there is no pace to tell."
    mean, change = rows.loc["seconds (geometric mean)"], rows.loc["change of seconds per ten items"]
    if pd.isna(mean["value"]):
        return f"How long a decision takes cannot be told: {mean['note']}"
    said = f"A decision takes {mean['value']:.0f} s{_span(mean, '.0f', ' s')}"
    if pd.isna(change["low"]):
        return f"{said}; whether that changes over a session cannot be told: {change['note']}"
    verdict = "no sign of tiring or of hurrying" if change["low"] <= 0 <= change["high"] else _pace(change["value"])
    return f"{said}; with every ten items it changes by {change['value']:+.0%}{_span(change, '+.0%')}: {verdict}."


def _pace(change: float) -> str:
    return "they slow down" if change > 0 else "they speed up"


def of_bias(table: pd.DataFrame) -> str:
    """Whether seeing a thing that is wrong makes reviewers err on items whose answer is known."""
    rows = table[(table["seeded"] == "advice wrong") & (table["figure"] == "difference")] if len(table) else table
    if rows.empty:
        return (
            "Automation bias cannot be told: it needs seeded items, and a factor such as the score that is shown in one "
            "condition and hidden in another."
        )
    row = rows.iloc[0]
    if pd.isna(row["value"]):
        return f"Automation bias cannot be told: {row['note']}"
    shown = f"{row['factor'].replace('_', ' ')} shown rather than hidden"
    said = (
        f"Where the detector is wrong about a seeded item, {shown} changes the share of right decisions "
        f"by {row['value']:+.3f}"
    )
    if pd.isna(row["low"]):
        return f"{said}; how sure that is cannot be told: {row['note']}"
    verdict = "automation bias" if row["high"] < 0 else "no automation bias to be seen"
    return f"{said}{_span(row, '+.3f')}: {verdict}."


def of_stamping(table: pd.DataFrame) -> str:
    """Whether quick decisions agree with the detector more than slow ones."""
    rows = table[table["condition"] == ALL].set_index("figure") if len(table) else table
    if rows.empty or pd.isna(rows.loc["index", "value"]):
        why = rows.loc["index", "note"] if len(rows) else "nobody has decided anything yet."
        return f"The rubber-stamping index cannot be told: {why}"
    index, apart = rows.loc["index"], rows.loc["difference"]
    said = f"Of each reviewer's quickest decisions {index['value']:.0%} say what the detector says{_span(index, '.0%')}"
    if pd.isna(apart["value"]):
        return f"{said}."
    return f"{said}, {abs(apart['value']):.0%} {'more' if apart['value'] > 0 else 'less'} than of the slower ones."


def of_words(table: pd.DataFrame) -> str:
    """Whether longer and more specific words go with success in the next trial."""
    if table.empty:
        return "No words were given to an agent that tried again."
    told = []
    for name in dict.fromkeys(table["property"]):
        rows = table[table["property"] == name].set_index("figure")
        found = rows.loc["correlation with success"]
        if pd.isna(found["value"]):
            return f"Whether words help cannot be told: {found['note']}"
        told.append(f"{name} {found['value']:+.2f}{_span(found, '+.2f')}")
    count = int(table["texts"].max())
    return f"Correlation with success in the next trial, over {count:,} texts: {'; '.join(told)}."


def of_people(table: pd.DataFrame) -> str:
    """How people differ from simulated reviewers."""
    rows = table[table["reviewers"] == "both"].set_index("figure") if len(table) else table
    if rows.empty:
        return "People and simulated reviewers can be compared once both have decided."
    right = rows.loc["right decisions, people less simulated"]
    if pd.isna(right["value"]):
        return f"They cannot be compared: {right['note']}"
    equal = rows.loc["share of equal labels of both", "value"]
    shared = "" if pd.isna(equal) else f"; on shared checkpoints {equal:.0%} of their labels are equal"
    return (
        f"People's share of right decisions less that of simulated reviewers is {right['value']:+.3f}"
        f"{_span(right, '+.3f')}{shared}."
    )


def _span(row: pd.Series[float], form: str, unit: str = "") -> str:
    return "" if pd.isna(row["low"]) else f" ({row['low']:{form}} to {row['high']:{form}}{unit})"
