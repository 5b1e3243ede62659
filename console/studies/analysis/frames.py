"""What the analyses share: who is meant, and estimates as cells of tidy tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from console.analysis.statistics.estimates import Estimate
from console.studies.results.condition_runs import PEOPLE, RULES

Frames = Mapping[str, pd.DataFrame]
"""The tidy tables of a study's results, from the database or from the exported CSVs."""

ALL = "all"
"""In the place of a condition: all of them."""

REVIEWERS = {"people": PEOPLE, "simulated": RULES}
_TYPES = {"$": "str", "#": "Int64"}


def groups(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """People's rows, then simulated reviewers', each where there are any."""
    for name, kind in REVIEWERS.items():
        rows = frame[frame["annotator_kind"] == kind]
        if len(rows):
            yield name, rows


def own(frames: Frames) -> pd.DataFrame:
    """The decisions on the study's own items, practice and checks left out."""
    decisions = frames["decisions"]
    return decisions[decisions["purpose"] == ""]


def judged(frames: Frames) -> pd.DataFrame:
    """Decisions as far as they tell who was right, on what: a page reads the columns JUDGED alone."""
    try:
        return frames["judged"]
    except KeyError:
        return frames["decisions"]


def first_labels(decisions: pd.DataFrame) -> pd.DataFrame:
    """The decisions, a checkpoint of trial 0 named only where the participant meets it first, in whatever condition."""
    again = decisions[decisions["label"].notna()].duplicated(["participant", "unit"])
    met = again[again].index
    return decisions.assign(unit=decisions["unit"].mask(decisions.index.isin(met)))


def excluded(frames: Frames) -> frozenset[str]:
    """Whom a rule of the design leaves out of the analysis."""
    try:
        rules = frames["exclusions"]
    except KeyError:  # what reads its tables one by one knows them all, whoever gives a few of them has no rules
        return frozenset()
    return frozenset(rules[rules["excluded"].astype(bool)]["participant"].tolist())


def without_excluded(frames: Frames) -> Frames:
    """The tables without those people; the same tables where there are none."""
    out = excluded(frames)
    return _Without(frames, out) if out else frames


class _Without(Mapping[str, pd.DataFrame]):
    """Tables read as they are asked for, without the rows of some participants."""

    def __init__(self, frames: Frames, out: frozenset[str]) -> None:
        self._frames, self._out = frames, out

    def __getitem__(self, name: str) -> pd.DataFrame:
        frame = self._frames[name]
        return frame[~frame["participant"].isin(self._out)] if "participant" in frame else frame

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)


def within(frame: pd.DataFrame) -> bool:
    """Whether any participant has more than one condition."""
    return bool(frame.groupby("participant")["condition"].nunique().gt(1).any())


def cells(found: Estimate, name: str, *, tested: bool = True) -> dict[str, Any]:
    """The figure under that name, with its interval, p-value, n, and the note that says what is missing.

    A figure that is no difference and no change is not `tested`: that it is not 0 says nothing.
    """
    low, high = found.bounds
    p = found.p_value if tested else None
    return {name: found.value, "low": low, "high": high, "p": p, "n": found.n, "note": found.note}


def table(rows: Iterable[Mapping[str, Any]], columns: str) -> pd.DataFrame:
    """The rows with just these columns in their order; a name ends in `$` for texts and in `#` for whole numbers.

    A missing text is an empty one.
    """
    types = {name.rstrip("$#"): _TYPES.get(name[-1], "float64") for name in columns.split()}
    frame = pd.DataFrame(list(rows), columns=list(types)).astype(types)
    return frame.fillna({name: "" for name, kind in types.items() if kind == "str"})
