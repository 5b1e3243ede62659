"""Reliance: how far reviewers lean on the detector."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from console.analysis.statistics.reliance import automation_bias, overrides, rubber_stamping, seeded_advice
from console.studies.analysis.format import by_figure, signed, span
from console.studies.analysis.frames import ALL, Frames, cells, groups, own, table
from console.studies.analysis.parts import read_analysis
from console.studies.results.data_dictionary import FACTOR

_SEEN = {"shown", "hidden"}
_DIFFERENCE = "difference"
_UNTOLD = "whether that is automation bias cannot be told"
_SURE = 0.75
"""Between two bins: those above it begin at a score of 0.8."""


def override(frames: Frames) -> pd.DataFrame:
    """The share of labels against the detector's flag in each bin of its score, by condition."""
    rows = [
        {
            "reviewers": name,
            "condition": condition,
            "bin_low": found.low,
            "bin_high": found.high,
            "overridden": found.overridden,
            **cells(found.rate, "share"),
        }
        for name, condition, part in _parts(own(frames))
        for found in overrides(part)
    ]
    return table(rows, "reviewers$ condition$ bin_low bin_high n# overridden# share low high note$")


def bias(frames: Frames) -> pd.DataFrame:
    """Accuracy on seeded items with something shown and hidden, for each factor that has both levels."""
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
        for which, found in automation_bias(part, column).items()
        for figure in ("shown", "hidden", _DIFFERENCE)
    ]
    return table(rows, "reviewers$ factor$ seeded$ figure$ value low high p n# items# paired$ note$")


def advice(frames: Frames) -> pd.DataFrame:
    """Errors on seeded items by what the detector said of them, d' and criterion, in all conditions and in each."""
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
        for found in seeded_advice(decisions)
        if found.items
    ]
    return table(rows, "reviewers$ condition$ advice$ figure$ value low high n# items# errors# note$")


def stamping(frames: Frames) -> pd.DataFrame:
    """The rubber-stamping index, agreement among the slower decisions, and their difference, by condition."""
    rows = [
        {
            "reviewers": name,
            "condition": condition,
            "figure": figure,
            **cells(getattr(found, figure), "value", tested=figure == _DIFFERENCE),
        }
        for name, part in groups(own(frames))
        for condition, found in ((each, rubber_stamping(rows)) for each, rows in _conditions(part))
        for figure in ("index", "others", _DIFFERENCE)
    ]
    return table(rows, "reviewers$ condition$ figure$ value low high p n# note$")


def checks(frames: Frames) -> pd.DataFrame:
    """How many of each participant's practice, attention and seeded items were answered rightly."""
    decisions = frames["decisions"]
    asked = decisions[decisions["purpose"] != ""]
    found = asked.groupby(["participant", "purpose"])["correct"].agg(items="size", right="sum").reset_index()
    rows = [{str(name): cell for name, cell in row.items()} for row in found.to_dict("records")]
    return table(rows, "participant$ purpose$ items# right#")


def _parts(decisions: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    for name, part in groups(decisions):
        for condition, rows in part.groupby("condition", sort=True):
            yield name, str(condition), rows


def _conditions(part: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    yield ALL, part
    for condition, rows in part.groupby("condition", sort=True):
        yield str(condition), rows


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


def of_bias(table: pd.DataFrame) -> str:
    """Whether seeing a thing that is wrong makes reviewers err on items whose answer is known."""
    rows = by_figure(table[table["seeded"] == "advice wrong"])
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
    verdict = "automation bias" if row["high"] < 0 else "the opposite of automation bias" if row["low"] > 0 else _UNTOLD
    return f"{said}{span(row, '+.3f')}: {verdict}."


def of_advice(table: pd.DataFrame) -> str:
    """How often reviewers go along with a detector that is wrong about an item whose answer is known."""
    rows = by_figure(table[table["condition"] == ALL].drop_duplicates("figure"))
    parts = [
        f"{row['value']:.0%}{span(row, '.0%')} of {row['items']:,} {words}"
        for name, words in _WRONG_ADVICE.items()
        if (row := rows.get(name)) and not pd.isna(row["value"])
    ]
    if not parts:
        return "Omission and commission cannot be told: they need seeded items about which the detector is wrong."
    signals = [
        f"{words} is {row['value']:.2f}{span(row, '.2f')}"
        for name, words in {"d_prime": "d'", "criterion": "criterion"}.items()
        if (row := rows.get(name)) and not pd.isna(row["value"])
    ]
    told = f" Over all seeded items {' and '.join(signals)}." if signals else ""
    return f"Where the detector is wrong about a seeded item, reviewers went along with it: {'; '.join(parts)}.{told}"


_WRONG_ADVICE = {
    "omission": "wrong actions that it does not flag were approved (omission)",
    "commission": "right actions that it flags were turned down (commission)",
}


def of_stamping(table: pd.DataFrame) -> str:
    """Whether quick decisions agree with the detector more than slow ones."""
    rows = by_figure(table[table["condition"] == ALL])
    if not rows or pd.isna(rows["index"]["value"]):
        why = rows["index"]["note"] if rows else "nobody has decided anything yet."
        return f"The rubber-stamping index cannot be told: {why}"
    index, apart = rows["index"], rows["difference"]
    said = f"Of each reviewer's quickest decisions {index['value']:.0%} say what the detector says{span(index, '.0%')}"
    if pd.isna(apart["value"]):
        return f"{said}."
    more = f"{said}; less that of the slower ones {signed(apart['value'])}{span(apart, '+.3f')}"
    if pd.isna(apart["low"]) or apart["low"] <= 0 <= apart["high"]:
        return f"{more}: whether quick ones follow it more cannot be told."
    return f"{more}: quick ones follow it {'more' if apart['value'] > 0 else 'less'}."


def _with_decisions(bins: pd.DataFrame) -> pd.DataFrame:
    filled: pd.DataFrame = bins[bins["n"] > 0]
    return filled


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
        "override-by-score": of_overrides,
        "automation-bias": of_bias,
        "rubber-stamping": of_stamping,
        "seeded-advice": of_advice,
    },
    views={"override-by-score": _with_decisions},
)
