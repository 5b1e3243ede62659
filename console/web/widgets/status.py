"""The status of a review queue: the budget meter, the status line above an item, and the agent that waits for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import streamlit as st

from console.language import _, digits
from console.review.inbox import Waiter
from console.web.widgets.markup import plain


def show_budget_meter(cap: int | None, used: int, *, label: str = "") -> None:
    """Draws the meter with its label; `cap` is None where the budget is unlimited."""
    st.html(f'<div class="ia-budget"><b>{plain(label or _("Inspections"))}</b> {budget_meter_html(cap, used)}</div>')


def budget_meter_html(cap: int | None, used: int) -> str:
    """The meter as one line of HTML: `12 of 50, 38 left`."""
    if cap is None:
        words = plain(_("{used} used, no cap")).format(used=f"<b>{digits(used)}</b>")
        return f'<span class="ia-meter">{words}</span>'
    left = max(cap - used, 0)
    share = 100 if cap == 0 else min(100 * used / cap, 100)
    state = " ia-spent" if left == 0 else " ia-low" if left <= cap * 0.1 else ""
    words = _("{used} of {cap}, all spent") if left == 0 else _("{used} of {cap}, {left} left")
    words = words if cap else _("{used} of {cap}, none to spend")
    words = plain(words).format(used=f"<b>{digits(used)}</b>", cap=digits(cap), left=digits(left))
    return (
        f'<span class="ia-meter{state}" role="meter" aria-label="{plain(_("budget"))}" aria-valuemin="0" '
        f'aria-valuemax="{cap}" aria-valuenow="{min(used, cap)}"><span class="ia-track">'
        f'<span class="ia-used" style="width:{share:.1f}%"></span></span>{words}</span>'
    )


_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000


_SILENT_MS = 10_000
"""An agent that lives shows it every two seconds; one that was silent for so long may not."""


def waiter_html(waiter: Waiter, now_ms: int) -> str:
    """Which agent waits until when, and for how long it has not been heard of where that is long."""
    until, left = "", ""
    if waiter.deadline_ms is None:
        said = _("{agent} waits")
    elif waiter.deadline_ms < now_ms:
        said = _("{agent} waits no more: what is decided now is recorded and lets nothing run")
    else:
        until = f"{datetime.fromtimestamp(waiter.deadline_ms / 1_000, UTC):%H:%M:%S} UTC"
        left = age(waiter.deadline_ms - now_ms)
        said = _("{agent} waits until {time} ({left})")
    told = plain(said).format(agent=f"<b>{plain(waiter.agent)}</b>", time=until, left=left)
    silent_ms = 0 if waiter.heard_ms is None else now_ms - waiter.heard_ms
    if silent_ms < _SILENT_MS:
        return told
    return plain(_("{agent_waits}, not heard of for {age}")).format(agent_waits=told, age=age(silent_ms))


def age(elapsed_ms: int) -> str:
    """An elapsed time in the largest unit that fits."""
    if elapsed_ms < _MINUTE:
        return f"{max(elapsed_ms, 0) // 1_000} s"
    if elapsed_ms < _HOUR:
        return f"{elapsed_ms // _MINUTE} min"
    if elapsed_ms < 2 * _DAY:
        return f"{elapsed_ms // _HOUR} h"
    return _("{count} days").format(count=elapsed_ms // _DAY)


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
    attempt = _("trial {trial} (attempt {number} of {trials})") if trials else _("trial {trial}")
    attempt = plain(attempt).format(trial=trial, number=trial + 1, trials=trials)
    waiting = _("waiting {count} (oldest {age})") if progress.oldest_ms else _("waiting {count}")
    waiting = plain(waiting).format(count=f"<b>{progress.waiting}</b>", age=age(now_ms - (progress.oldest_ms or 0)))
    mine = _("you {count}") if progress.seconds is None else _("you {count} · {seconds} s each")
    mine = plain(mine).format(count=f"<b>{progress.mine}</b>", seconds=f"{progress.seconds or 0:.0f}")
    parts = (
        f"<b>{plain(progress.run)}</b> · {attempt}",
        waiting,
        budget_meter_html(cap, used),
        mine,
        *([waiter_html(waiter, now_ms)] if waiter else []),
    )
    return f'<div class="ia-status">{"".join(f"<span>{part}</span>" for part in parts)}</div>'
