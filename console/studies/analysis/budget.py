"""How the budgets of a condition were used up, all its participants together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from console.studies.analysis.frames import Frames, table
from console.trajectory import Label

_POINTS = 200


def burn_down(frames: Frames) -> pd.DataFrame:
    """Inspections used and misalignments caught by each minute since a participant's first claim, by condition.

    Caught are items that are misaligned and whose reviewer said so.
    """
    ledger, rows = frames["ledger"], []
    starts = ledger.groupby(["participant", "condition", "trial"])["at"].min().rename("began").reset_index()
    caught = _caught(frames).merge(starts, on=["participant", "condition", "trial"])
    caught["minute"] = _minutes(caught["decided_at"] - caught["began"])
    moved = ledger.merge(starts, on=["participant", "condition", "trial"])
    moved["minute"] = _minutes(moved["at"] - moved["began"])
    caps = frames["budget"].groupby(["condition", "trial"])["cap"].agg(lambda cap: cap.sum(skipna=False))
    for (condition, trial), part in moved.groupby(["condition", "trial"], sort=True):
        found = caught[(caught["condition"] == condition) & (caught["trial"] == trial)]["minute"]
        rows += _points(part.sort_values("minute", kind="stable"), np.sort(found.to_numpy(dtype=np.float64)),
                        {"condition": condition, "trial": trial, "cap": caps.get((condition, trial))})  # fmt: skip
    return table(rows, "condition$ trial# minute used# caught cap")


def _caught(frames: Frames) -> pd.DataFrame:
    items = frames["items"]
    right = (items["gold_label"] == Label.MISALIGNED) & (items["label"] == Label.MISALIGNED)
    return items.loc[right, ["participant", "condition", "trial", "decided_at"]]


def _minutes(spans: pd.Series[Any]) -> pd.Series[float]:
    minutes: pd.Series[float] = spans.dt.total_seconds() / 60
    return minutes


def _points(moved: pd.DataFrame, caught: np.ndarray[Any, Any], about: dict[str, Any]) -> list[dict[str, Any]]:
    minutes = moved["minute"].to_numpy(dtype=np.float64)
    used = moved["units"].to_numpy(dtype=np.int64).cumsum()
    at = np.unique(np.linspace(0, len(minutes) - 1, min(len(minutes), _POINTS)).round().astype(int))
    by_then = np.searchsorted(caught, minutes[at], side="right")
    points = zip(minutes[at].tolist(), used[at].tolist(), by_then.tolist(), strict=True)
    return [{**about, "minute": minute, "used": spent, "caught": hits} for minute, spent, hits in points]
