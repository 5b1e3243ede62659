"""What a table of results says, in one sentence worked out of its numbers; what it cannot say, and why.

What a table about reviewers says, in one sentence worked out of its numbers; what it cannot say, and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from console.studies.analysis.frames import ALL
from console.studies.report.format import signed

ALPHA = 0.05
TENTATIVE = 0.667
"""Alpha below which Krippendorff (2004) draws no conclusions, not even tentative ones."""

_SAME = 1e-9


def of_success(table: pd.DataFrame) -> str:
    """Which condition solved most after the last trial, and how far that is from the first trial."""
    if table.empty:
        return "No trial is over yet, so nothing can be counted."
    last = table[table["trial"] == table["trial"].max()].sort_values("mean", ascending=False)
    best = last.iloc[0]
    first = table[(table["trial"] == table["trial"].min()) & (table["condition"] == best["condition"])].iloc[0]
    spread = f" ± {best['sd']:.1%}" if pd.notna(best["sd"]) else ""
    said = (
        f"After trial {best['trial']}, {best['condition']} has solved {best['mean']:.1%}{spread} of its tasks "
        f"(mean ± SD over {best['participants']}), from {first['mean']:.1%} in trial {first['trial']}"
    )
    others = last[last["condition"] != best["condition"]]
    if others.empty:
        return f"{said}."
    level = others[(others["mean"] - best["mean"]).abs() < _SAME]
    if len(level):
        return f"{said}; {' and '.join(level['condition'])} {'stands' if len(level) == 1 else 'stand'} level with it."
    return f"{said}; the least is {others.iloc[-1]['mean']:.1%}, of {others.iloc[-1]['condition']}."


def of_differences(table: pd.DataFrame) -> str:
    """How many pairs of conditions differ after Holm's correction, and the largest difference."""
    if table.empty:
        return "There are not two conditions to compare yet."
    tested = table[table["test"] == table["test"].iloc[0]]
    found = tested[tested["p_holm"] < ALPHA]
    named = f"{table['test'].iloc[0]}, Holm over {len(tested)} pair" + ("" if len(tested) == 1 else "s")
    if tested["difference"].isna().all():
        return f"Nothing can be compared: {tested['note'].iloc[0]}"
    most = tested.loc[tested["difference"].abs().idxmax()]
    about = (
        f"{most['first']} less {most['second']} is {signed(most['difference'])} "
        f"({signed(most['low'])} to {signed(most['high'])})"
    )
    if len(found):
        return f"{len(found)} of {len(tested)} pairs differ ({named}, p < {ALPHA}). The largest: {about}."
    return f"No pair differs at {ALPHA} ({named}). The largest difference: {about}."


def of_agreement(table: pd.DataFrame) -> str:
    """How far people agree beyond chance, else why that cannot be told."""
    if table.empty:
        return "No checkpoint has labels of two reviewers yet."
    who = table["reviewers"].iloc[0]
    rows = table[table["reviewers"] == who].set_index("measure")
    if "alpha" not in rows.index or pd.isna(rows.loc["alpha", "value"]):
        return f"How far {who} agree beyond chance cannot be told: {rows['note'].iloc[-1]}"
    alpha = rows.loc["alpha"]
    span = f" ({alpha['low']:.2f} to {alpha['high']:.2f})" if pd.notna(alpha["low"]) else ""
    verdict = "enough for tentative conclusions" if alpha["value"] >= TENTATIVE else "too little to rest a label on"
    return (
        f"Krippendorff's alpha of {who} is {alpha['value']:.2f}{span} on {alpha['n']:,} shared checkpoints: {verdict} "
        f"(Krippendorff asks for {TENTATIVE})."
    )


_SURE = 0.75
"""Between two bins: those above it begin at a score of 0.8."""


def of_pace(table: pd.DataFrame) -> str:
    """How long a decision takes, and whether that changes within a session."""
    rows = _figures(table[table["condition"] == ALL])
    if not rows:
        return "Nobody has decided anything yet, so there is no pace to tell."
    mean, change = rows["seconds (geometric mean)"], rows["change of seconds per ten items"]
    if pd.isna(mean["value"]):
        return f"How long a decision takes cannot be told: {mean['note']}"
    said = f"A decision takes {mean['value']:.0f} s{_span(mean, '.0f', ' s')}"
    if pd.isna(change["low"]):
        return f"{said}; whether that changes over a session cannot be told: {change['note']}"
    verdict = "no sign of tiring or of hurrying" if change["low"] <= 0 <= change["high"] else _pace(change["value"])
    drift = f"{_told(change['value'], '+.0%')}{_span(change, '+.0%')}"
    return f"{said}; with every ten items it changes by {drift}: {verdict}."


def _pace(change: float) -> str:
    return "they slow down" if change > 0 else "they speed up"


def of_overrides(table: pd.DataFrame) -> str:
    """How often reviewers decide against the detector, and where its score lies then."""
    if not table["n"].sum():
        return "Nobody has decided on a flagged item yet."
    against, count = int(table["overridden"].sum()), int(table["n"].sum())
    said = f"{against:,} of {count:,} decisions ({against / count:.0%}) are against the detector"
    above, below = table[table["bin_low"] > _SURE], table[table["bin_low"] <= _SURE]
    if not above["n"].sum() or not below["n"].sum():
        return f"{said}."
    sure, unsure = (part["overridden"].sum() / part["n"].sum() for part in (above, below))
    return f"{said}: {sure:.0%} where its score is 0.8 or more, {unsure:.0%} where it is less."


def of_burn_down(table: pd.DataFrame) -> str:
    """How much of a condition's budget was used, and what that caught."""
    if table.empty:
        return "Nobody has claimed an item of this condition yet."
    ends = table.groupby("trial")[["used", "caught", "cap"]].max()
    cap = "" if ends["cap"].isna().any() else f" of {ends['cap'].sum():,.0f} allowed"
    return (
        f"{ends['used'].sum():,} inspections{cap} caught {ends['caught'].sum():,.0f} misalignments "
        f"over {len(ends)} trial{'' if len(ends) == 1 else 's'}."
    )


def of_bias(table: pd.DataFrame) -> str:
    """Whether seeing a thing that is wrong makes reviewers err on items whose answer is known."""
    rows = _figures(table[table["seeded"] == "advice wrong"])
    if not rows:
        return (
            "Automation bias cannot be told: it needs seeded items, and a factor such as the score that one condition "
            "shows and another hides."
        )
    row = rows["difference"]
    if pd.isna(row["value"]):
        return f"Automation bias cannot be told: {row['note']}"
    shown = f"{row['factor'].replace('_', ' ')} shown rather than hidden"
    said = (
        f"Where the detector is wrong about a seeded item, {shown} changes the share of right decisions "
        f"by {signed(row['value'])}"
    )
    if pd.isna(row["low"]):
        return f"{said}; how sure that is cannot be told: {row['note']}"
    verdict = "automation bias" if row["high"] < 0 else "no automation bias to be seen"
    return f"{said}{_span(row, '+.3f')}: {verdict}."


def of_stamping(table: pd.DataFrame) -> str:
    """Whether quick decisions agree with the detector more than slow ones."""
    rows = _figures(table[table["condition"] == ALL])
    if not rows or pd.isna(rows["index"]["value"]):
        why = rows["index"]["note"] if rows else "nobody has decided anything yet."
        return f"The rubber-stamping index cannot be told: {why}"
    index, apart = rows["index"], rows["difference"]
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
        found = _figures(table[table["property"] == name])["correlation with success"]
        if pd.isna(found["value"]):
            return f"Whether words help cannot be told: {found['note']}"
        told.append(f"{name} {_told(found['value'], '+.2f')}{_span(found, '+.2f')}")
    count = int(table["texts"].max())
    return f"Correlation with success in the next trial, over {count:,} texts: {'; '.join(told)}."


def of_people(table: pd.DataFrame) -> str:
    """How people differ from simulated reviewers."""
    rows = _figures(table[table["reviewers"] == "both"])
    if not rows:
        return "People and simulated reviewers can be compared once both have decided."
    right = rows["right decisions, people less simulated"]
    if pd.isna(right["value"]):
        return f"They cannot be compared: {right['note']}"
    equal = rows["share of equal labels of both"]["value"]
    shared = "" if pd.isna(equal) else f"; on shared checkpoints {equal:.0%} of their labels are equal"
    return (
        f"People's share of right decisions less that of simulated reviewers is {signed(right['value'])}"
        f"{_span(right, '+.3f')}{shared}."
    )


def _figures(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """The rows by the name of their figure."""
    return {str(row["figure"]): {str(name): cell for name, cell in row.items()} for row in table.to_dict("records")}


def _span(row: Mapping[str, Any], form: str, unit: str = "") -> str:
    return "" if pd.isna(row["low"]) else f" ({_told(row['low'], form)} to {_told(row['high'], form)}{unit})"


def _told(value: float, form: str) -> str:
    said = f"{value:{form}}"
    return said if any(digit in said for digit in "123456789") else said.lstrip("+-")
