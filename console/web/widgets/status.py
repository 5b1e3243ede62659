"""The status of a review queue: the budget meter, the status line above an item, and the agent that waits for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import streamlit as st

from console.review.inbox import Waiter
from console.web.widgets.markup import plain


def show_budget_meter(cap: int | None, used: int, *, label: str = "Inspections") -> None:
    """Draws the meter with its label; `cap` is None where the budget is unlimited."""
    st.html(f'<div class="ia-budget"><b>{plain(label)}</b> {budget_meter_html(cap, used)}</div>')


def budget_meter_html(cap: int | None, used: int) -> str:
    """The meter as one line of HTML: `12 of 50, 38 left`."""
    if cap is None:
        return f'<span class="ia-meter"><b>{used:,}</b> used, no cap</span>'
    left = max(cap - used, 0)
    share = 100 if cap == 0 else min(100 * used / cap, 100)
    state = " ia-spent" if left == 0 else " ia-low" if left <= cap * 0.1 else ""
    words = f"<b>{used:,}</b> of {cap:,}, " + ("all spent" if left == 0 else f"{left:,} left")
    return (
        f'<span class="ia-meter{state}" role="meter" aria-label="budget" aria-valuemin="0" aria-valuemax="{cap}" '
        f'aria-valuenow="{min(used, cap)}"><span class="ia-track"><span class="ia-used" style="width:{share:.1f}%">'
        f"</span></span>{words}</span>"
    )


_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000


_SILENT_MS = 10_000
"""An agent that lives shows it every two seconds; one that was silent for so long may not."""


def waiter_html(waiter: Waiter, now_ms: int) -> str:
    """Which agent waits until when, and for how long it has not been heard of where that is long."""
    said = f"<b>{plain(waiter.agent)}</b> "
    if waiter.deadline_ms is None:
        said += "waits"
    elif waiter.deadline_ms < now_ms:
        said += "waits no more: what is decided now is recorded and lets nothing run"
    else:
        until = datetime.fromtimestamp(waiter.deadline_ms / 1_000, UTC)
        said += f"waits until {until:%H:%M:%S} UTC ({age(waiter.deadline_ms - now_ms)})"
    silent_ms = 0 if waiter.heard_ms is None else now_ms - waiter.heard_ms
    return said + (f", not heard of for {age(silent_ms)}" if silent_ms >= _SILENT_MS else "")


def age(elapsed_ms: int) -> str:
    """An elapsed time in the largest unit that fits."""
    if elapsed_ms < _MINUTE:
        return f"{max(elapsed_ms, 0) // 1_000} s"
    if elapsed_ms < _HOUR:
        return f"{elapsed_ms // _MINUTE} min"
    return f"{elapsed_ms // _HOUR} h" if elapsed_ms < 2 * _DAY else f"{elapsed_ms // _DAY} days"


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


def status_line_html(
    progress: Progress,
    waiter: Waiter | None = None,
    *,
    trial: int,
    cap: int | None,
    used: int,
    now_ms: int,
    trials: int | None = None,
) -> str:
    """The line as HTML, with the agent that waits for the item; `trials` is how many attempts the run makes at most."""
    attempt = f" (attempt {trial + 1} of {trials})" if trials else ""
    oldest = f" (oldest {age(now_ms - progress.oldest_ms)})" if progress.oldest_ms else ""
    pace = f" · {progress.seconds:.0f} s each" if progress.seconds is not None else ""
    parts = (
        f"<b>{plain(progress.run)}</b> · trial {trial}{attempt}",
        f"waiting <b>{progress.waiting}</b>{oldest}",
        budget_meter_html(cap, used),
        f"you <b>{progress.mine}</b>{pace}",
        *([waiter_html(waiter, now_ms)] if waiter else []),
    )
    return f'<div class="ia-status">{"".join(f"<span>{part}</span>" for part in parts)}</div>'
