"""One line above an item: the run, what waits, the budget, and how the reviewer is getting on."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from console.widgets.budget_meter import budget_meter_html
from console.widgets.markup import plain
from console.widgets.waiting_list import age


@dataclass(frozen=True, slots=True)
class Progress:
    """What the line says beside the budget; `oldest_ms` is when the oldest waiting item came, in ms since 1970."""

    run: str
    waiting: int
    oldest_ms: int | None
    mine: int
    seconds: float | None

    @classmethod
    def of(cls, run: str, waits: tuple[int, int | None], mine: tuple[int, float | None]) -> Progress:
        """The progress from the inbox's two pairs."""
        return cls(run, *waits, *mine)


def show_status_line(progress: Progress, *, trial: int, cap: int | None, used: int, now_ms: int) -> None:
    """Draws the line."""
    st.html(status_line_html(progress, trial=trial, cap=cap, used=used, now_ms=now_ms))


def status_line_html(progress: Progress, *, trial: int, cap: int | None, used: int, now_ms: int) -> str:
    """The line as HTML."""
    oldest = f" (oldest {age(now_ms - progress.oldest_ms)})" if progress.oldest_ms else ""
    pace = f" · {progress.seconds:.0f} s each" if progress.seconds is not None else ""
    parts = (
        f"<b>{plain(progress.run)}</b> · trial {trial}",
        f"waiting <b>{progress.waiting}</b>{oldest}",
        budget_meter_html(cap, used),
        f"you <b>{progress.mine}</b>{pace}",
    )
    return f'<div class="ia-status">{"".join(f"<span>{part}</span>" for part in parts)}</div>'
