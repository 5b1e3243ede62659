"""Oversight under the budget: misalignments caught by inspections, and use of the budget, by condition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from console.detection.oversight import AS_REVIEWED, CHANCE, IDEAL, Curves, Pool, compute_curves
from console.errors import Refused
from console.language import counted
from console.studies.analysis.format import name_reviewers
from console.studies.analysis.frames import NAMES, Frames, table
from console.studies.analysis.parts import read_analysis
from console.trajectory import Label

ORDERS = (AS_REVIEWED, "priority", "fp-first", CHANCE, IDEAL)

_POINTS = 200
_BURNT = ["condition", "trial", "annotator_kind"]


def points(frames: Frames) -> pd.DataFrame:
    """Compute the points of every condition's oversight curve in trial 0, for people and simulated reviewers."""
    return _joined(
        [found.points.assign(condition=name, spent=found.spent, reviewers=who) for name, who, found in _curves(frames)]
    )


def summary(frames: Frames) -> pd.DataFrame:
    """Return how many misalignments all inspections catch and ten more would catch, by condition and order."""
    rows = _joined([found.summary.assign(condition=name, reviewers=who) for name, who, found in _curves(frames)])
    # Without misaligned items these columns hold only None and have no type.
    return rows.astype({name: "float64" for name in ("corrected", "area") if name in rows})


def burn_down(frames: Frames) -> pd.DataFrame:
    """Count the inspections used and the misalignments caught, by condition and minute since the first claim.

    An item is caught if it is misaligned and a reviewer labels it misaligned. People and simulated reviewers are
    counted separately.
    """
    ledger, items, rows = frames["ledger"], frames["items"], []
    starts = ledger.groupby(["participant", "condition", "trial"])["at"].min().rename("began").reset_index()
    right = (items["gold_label"] == Label.MISALIGNED) & (items["label"] == Label.MISALIGNED)
    caught = items[right].merge(starts, on=["participant", "condition", "trial"])
    caught["minute"] = (caught["decided_at"] - caught["began"]).dt.total_seconds() / 60
    moved = ledger.merge(starts, on=["participant", "condition", "trial"])
    moved["minute"] = (moved["at"] - moved["began"]).dt.total_seconds() / 60
    caps = frames["budget"].groupby(_BURNT)["cap"].agg(lambda cap: cap.sum(skipna=False))
    caps = caps.astype("Float64").astype("float64")
    for (condition, trial, kind), part in moved.groupby(_BURNT, sort=True):
        inside = (caught["condition"] == condition) & (caught["trial"] == trial) & (caught["annotator_kind"] == kind)
        found = caught[inside]["minute"]
        rows += _points(
            part.sort_values("minute", kind="stable"),
            np.sort(found.to_numpy(dtype=np.float64)),
            {
                "condition": condition,
                "trial": trial,
                "cap": caps.get((condition, trial, kind)),
                "reviewers": NAMES.get(str(kind), str(kind)),
            },
        )
    return table(rows, "condition$ trial# minute used# caught cap reviewers$")


def _curves(frames: Frames) -> Iterator[tuple[str, str, Curves]]:
    items = frames["items"]
    judged = items[items["flagged"].notna() & (items["annotator_kind"] != "") & items["score"].notna()]
    for (condition, kind), rows in judged.groupby(["condition", "annotator_kind"], sort=True):
        try:
            found = compute_curves(_pool(str(condition), rows), orders=ORDERS)
            yield str(condition), NAMES.get(str(kind), str(kind)), found
        except Refused:
            continue


def _pool(condition: str, items: pd.DataFrame) -> Pool:
    wrong = items["label"] == Label.MISALIGNED
    rows = pd.DataFrame(
        {
            "detector": items["detector"],
            "trial": items["trial"].astype(int),
            "trajectory_id": items["item_id"],
            "task_key": items["task_id"],
            "step": items["step"],
            "kind": items["checkpoint"],
            "score": items["score"],
            "probability": items["probability"],
            "flagged": items["flagged"].astype(bool),
            "label": items["gold_label"],
            "expected_cost": items["probability"].fillna(items["score"]),
            "priority": items["score"],
            "inspected_ms": (items["decided_at"] - pd.Timestamp(0, tz="UTC")).dt.total_seconds() * 1_000,
            "reported": wrong,
            "corrected": wrong & items["solved_later"].astype(bool),
        }
    )
    routing = str(rows["detector"].mode().iat[0])
    return Pool(condition, routing, "gold", rows)


def _joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    if not parts:
        return pd.DataFrame(columns=["condition"])
    whole = pd.concat(parts, ignore_index=True)
    return whole[["condition", *(name for name in whole if name != "condition")]]


def _points(moved: pd.DataFrame, caught: np.ndarray[Any, Any], about: dict[str, Any]) -> list[dict[str, Any]]:
    minutes = moved["minute"].to_numpy(dtype=np.float64)
    used = moved["units"].to_numpy(dtype=np.int64).cumsum()
    at = np.unique(np.linspace(0, len(minutes) - 1, min(len(minutes), _POINTS)).round().astype(int))
    by_then = np.searchsorted(caught, minutes[at], side="right")
    points = zip(minutes[at].tolist(), used[at].tolist(), by_then.tolist(), strict=True)
    return [{**about, "minute": minute, "used": spent, "caught": hits} for minute, spent, hits in points]


def describe_burn_down(table: pd.DataFrame) -> str:
    """State the share of a condition's budget that was used, and the misalignments caught."""
    if table.empty:
        return "No reviewer has claimed an item of this condition yet."
    return " ".join(_spent(str(who), rows) for who, rows in table.groupby("reviewers", sort=True))


def _spent(who: str, table: pd.DataFrame) -> str:
    ends = table.groupby("trial").last()
    used, found = int(ends["used"].sum()), counted(int(ends["caught"].sum()), "misalignment")
    cap = f"{used:,} of {ends['cap'].sum():,.0f} allowed inspections" if ends["cap"].notna().all() else ""
    by, spent = name_reviewers(who), cap or counted(used, "inspection")
    return f"{by[0].upper()}{by[1:]} used {spent} and found {found} over {counted(len(ends), 'trial')}."


ANALYSIS = read_analysis(
    "oversight",
    {"oversight": points, "burn-down": burn_down, "oversight-summary": summary},
    sentences={"burn-down": describe_burn_down},
)
