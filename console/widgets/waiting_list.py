"""What waits, as one list: why, how sure the detector is, and how old."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from console.widgets.markup import plain

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000


def show_waiting_list(rows: Sequence[dict[str, Any]], *, total: int, oldest_ms: int | None, now_ms: int) -> None:
    """Draws the rows of `inbox.waiting`, the next to be offered first."""
    oldest = f", the oldest for {age(now_ms - oldest_ms)}" if oldest_ms else ""
    more = f'<p class="ia-more">… and {total - len(rows)} more.</p>' if total > len(rows) else ""
    drawn = "".join(_row(row, now_ms) for row in rows)
    head = f"<p><b>{total}</b> waiting{oldest}. The next to be offered stands first.</p>"
    st.html(f'<div class="ia-waiting">{head}<ol>{drawn}</ol>{more}</div>')


def age(elapsed_ms: int) -> str:
    """An elapsed time in the largest unit that fits."""
    if elapsed_ms < _MINUTE:
        return f"{max(elapsed_ms, 0) // 1_000} s"
    if elapsed_ms < _HOUR:
        return f"{elapsed_ms // _MINUTE} min"
    return f"{elapsed_ms // _HOUR} h" if elapsed_ms < 2 * _DAY else f"{elapsed_ms // _DAY} days"


def _row(row: dict[str, Any], now_ms: int) -> str:
    item = row["item"]
    halted = row["score"] is None
    score, css = ("halted", "ia-score ia-score-halted") if halted else (f"{row['score']:.2f}", "ia-score")
    why = (row["rationale"] or "The trial got stuck; it needs words.").splitlines()[0]
    return (
        f'<li><span class="{css}">{score}</span><span class="ia-what"><b>{plain(_short(row["instruction"]))}</b>'
        f"<small>{plain(_short(why))}</small></span>"
        f'<span class="ia-age">trial {item.trial} · {age(now_ms - item.created_ms)}</span></li>'
    )


def _short(text: str, limit: int = 180) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= limit else one_line[: limit - 1] + "…"
