"""What inspections caught in each condition, its participants' items together."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat

import numpy as np
import pandas as pd

from console.detection.oversight import AS_REVIEWED, CHANCE, IDEAL, Pool, curves
from console.errors import Refused
from console.trajectory import Label

ORDERS = (AS_REVIEWED, "priority", "fp-first", CHANCE, IDEAL)


def oversight(frames: Mapping[str, pd.DataFrame]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The points of every condition's curve in its first trial, and a summary, both with a column condition."""
    items = frames["items"]
    judged = items[items["flagged"].notna() & (items["annotator_kind"] != "") & items["score"].notna()]
    points, summaries = [], []
    for condition, rows in judged.groupby("condition", sort=True):
        try:
            found = curves(_pool(str(condition), rows), orders=ORDERS)
        except Refused:
            continue
        points.append(found.points.assign(condition=str(condition), spent=found.spent))
        summaries.append(found.summary.assign(condition=str(condition)))
    return _joined(points), _joined(summaries)


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
            "inspected_ms": _milliseconds(items["decided_at"]),
            "reported": wrong,
            "corrected": wrong & items["solved_later"].astype(bool),
        }
    )
    routing = str(rows["detector"].mode().iat[0])
    return Pool(condition, routing, "gold", rows)


def _milliseconds(moments: pd.Series[pd.Timestamp]) -> pd.Series[float]:
    known = moments.notna()
    found = pd.Series(np.nan, index=moments.index)
    found[known] = moments[known].astype("int64").astype(float)
    return found


def _joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    if not parts:
        return pd.DataFrame(columns=["condition"])
    whole = pd.concat(parts, ignore_index=True)
    return whole[["condition", *(name for name, _ in zip(whole.columns, repeat(None)) if name != "condition")]]
