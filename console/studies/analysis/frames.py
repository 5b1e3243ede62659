"""Helpers that the analyses share: groups of reviewers, and estimates as cells of tidy tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from console.analysis.statistics.estimates import Estimate
from console.studies.results.condition_runs import PEOPLE, RULES

Frames = Mapping[str, pd.DataFrame]
"""The tidy tables of a study's results, from the database or from the exported CSVs."""

ALL = "all"
"""The value in the column of conditions that stands for all conditions."""

REVIEWERS = {"people": PEOPLE, "simulated": RULES}
NAMES = {kind: name for name, kind in REVIEWERS.items()}
_TYPES = {"$": "str", "#": "Int64"}


def groups(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Iterate over the groups with their rows: people, and simulated reviewers; skip a group without rows."""
    for name, kind in REVIEWERS.items():
        rows = frame[frame["annotator_kind"] == kind]
        if len(rows):
            yield name, rows


def own_decisions(frames: Frames) -> pd.DataFrame:
    """Return the decisions on the study's own items, excluding practice items and items with a known answer."""
    decisions = frames["decisions"]
    return decisions[decisions["purpose"] == ""]


def get_judged(frames: Frames) -> pd.DataFrame:
    """Return the decisions, or only their columns JUDGED if the caller, such as a page, has read only these."""
    try:
        return frames["judged"]
    except KeyError:
        return frames["decisions"]


def first_labels(decisions: pd.DataFrame) -> pd.DataFrame:
    """Return the decisions, with `unit` only at a participant's first label of each checkpoint."""
    again = decisions[decisions["label"].notna()].duplicated(["participant", "unit"])
    met = again[again].index
    return decisions.assign(unit=decisions["unit"].mask(decisions.index.isin(met)))


def list_excluded(frames: Frames) -> frozenset[str]:
    """Return the participants whom a rule of the design excludes."""
    try:
        rules = frames["exclusions"]
    except KeyError:  # a caller with only a few tables has no rules
        return frozenset()
    return frozenset(rules[rules["excluded"].astype(bool)]["participant"].tolist())


def drop_excluded(frames: Frames) -> Frames:
    """Return the tables without excluded participants."""
    out = list_excluded(frames)
    return _Without(frames, out) if out else frames


class _Without(Mapping[str, pd.DataFrame]):
    """Tables that are read on demand, without the rows of some participants."""

    def __init__(self, frames: Frames, out: frozenset[str]) -> None:
        self._frames, self._out = frames, out

    def __getitem__(self, name: str) -> pd.DataFrame:
        frame = self._frames[name]
        return frame[~frame["participant"].isin(self._out)] if "participant" in frame else frame

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)


def cells(found: Estimate, name: str, *, tested: bool = True) -> dict[str, Any]:
    """Return an estimate as cells; set `tested` to False if a test against 0 has no meaning."""
    low, high = found.bounds
    p = found.p_value if tested else None
    return {name: found.value, "low": low, "high": high, "p": p, "n": found.n, "note": found.note}


def table(rows: Iterable[Mapping[str, Any]], columns: str) -> pd.DataFrame:
    """Return the rows as a table; a column name ends in `$` for strings ("" if missing), in `#` for whole numbers."""
    types = {name.rstrip("$#"): _TYPES.get(name[-1], "float64") for name in columns.split()}
    frame = pd.DataFrame(list(rows), columns=list(types)).astype(types)
    return frame.fillna({name: "" for name, kind in types.items() if kind == "str"})
