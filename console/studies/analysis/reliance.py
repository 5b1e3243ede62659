"""How far reviewers lean on the detector."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from console.analysis.statistics.reliance import automation_bias, overrides, rubber_stamping
from console.studies.analysis.frames import ALL, Frames, cells, groups, own, table
from console.studies.results.data_dictionary import FACTOR

_SEEN = {"shown", "hidden"}
_DIFFERENCE = "difference"


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
