"""Intervals as whiskers around the points of a table."""

from __future__ import annotations

from typing import Any

import pandas as pd


def whiskers(frame: pd.DataFrame, value: str) -> dict[str, Any]:
    """Plotly's error bars from the columns low and high; a point without an interval has none."""
    up, down = frame["high"] - frame[value], frame[value] - frame["low"]
    reach = {"array": _present(up), "arrayminus": _present(down)}
    return {"type": "data", "symmetric": False, **reach, "thickness": 1.3, "width": 4}


def told(low: object, high: object) -> str:
    """An interval of shares in words, or that there is none."""
    if pd.isna(low) or pd.isna(high):  # type: ignore[call-overload]
        return "no interval"
    return f"{low:.1%} to {high:.1%}"


def _present(lengths: pd.Series[float]) -> list[float]:
    return [max(0.0, length) for length in lengths.fillna(0.0).to_list()]
