"""The status of a queue: the budget meter, the status line above an item, and the agent waiting for the decision."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from console.language import _, digits, gettext_noop
from console.review.inbox import WaitingAgent
from console.web.widgets.browser import component
from console.web.widgets.markup import plain, show_html
from storage.queue import Claim


def show_budget_meter(cap: int | None, used: int, *, label: str = "") -> None:
    """Draw the meter with its label; `cap` is None for an unlimited budget."""
    show_html(f'<div class="ia-budget">{budget_meter_html(cap, used, label=label)}</div>')


def budget_meter_html(cap: int | None, used: int, words: str = "", *, label: str = "") -> str:
    """Return the meter as HTML: `12 of 50 inspections used, 38 left`, or `words` with these three numbers.

    The label comes after the bar, so that the bars of several budgets align.
    """
    name = f"{plain(label)}: " if label else ""
    if cap is None:
        words = plain(_("Inspections used: {used}, no limit")).format(used=f"<b>{digits(used)}</b>")
        return f'<span class="ia-meter ia-unlimited"><span>{name}{words}</span></span>'
    left = max(cap - used, 0)
    share = 100 if cap == 0 else min(100 * used / cap, 100)
    state = " ia-spent" if left == 0 else " ia-low" if left <= cap * 0.1 else ""
    words = words or _("{used} of {cap} inspections used, {left} left")
    words = plain(words).format(used=f"<b>{digits(used)}</b>", cap=digits(cap), left=digits(left))
    return (
        f'<span class="ia-meter{state}"><span class="ia-track" role="meter" aria-label="{plain(_("budget"))}" '
        f'aria-valuemin="0" aria-valuemax="{cap}" aria-valuenow="{min(used, cap)}">'
        f'<span class="ia-used" style="width:{share:.1f}%"></span></span><span>{name}{words}</span></span>'
    )


_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
_SILENT_MS = 10_000
"""The time after which a silent agent may have stopped; a running agent reports every two seconds."""


def waiter_html(waiter: WaitingAgent, now_ms: int) -> str:
    """Return the waiting agent and the time left for an approval as HTML, which the browser counts down.

    For a silent agent, add the time since it was last seen.
    """
    agent = f"<b>{plain(waiter.agent)}</b>"
    if waiter.is_gone(now_ms):
        return plain(_(_GONE)).format(agent=agent)
    silent_ms = 0 if waiter.heard_ms is None else now_ms - waiter.heard_ms
    if waiter.is_silent(now_ms):
        words = _("{agent} has not responded for {age}: your decision applies only if the agent asks again")
        return plain(words).format(agent=agent, age=age(silent_ms))
    told = plain(_("{agent} waits")).format(agent=agent)
    if waiter.deadline_ms is not None:
        told = _countdown_html(waiter, agent, now_ms)
    if silent_ms < _SILENT_MS:
        return told
    return plain(_("{agent_waits}, last seen {age} ago")).format(agent_waits=told, age=age(silent_ms))


def _countdown_html(waiter: WaitingAgent, agent: str, now_ms: int) -> str:
    deadline_ms, last_ms = waiter.deadline_ms or 0, waiter.last_approval_ms or 0
    clock = "%Y-%m-%d %H:%M" if deadline_ms - now_ms >= _DAY // 2 else "%H:%M:%S"
    until = f"{datetime.fromtimestamp(deadline_ms / 1_000, UTC):{clock}} UTC"
    state = "late" if last_ms <= now_ms else "soon" if (waiter.warning_ms or 0) <= now_ms else "left"
    left = plain(_(_COUNTDOWN[state])).format(time=time_left(last_ms - now_ms))
    end, last, warning = (at_ms - now_ms for at_ms in (deadline_ms, last_ms, waiter.warning_ms or 0))
    counted = f' data-left="{end}" data-approve="{last}" data-warn="{warning}"'
    waits = plain(_("{agent} waits until {time}")).format(agent=agent, time=f'<span class="ia-one-line">{until}</span>')
    return (
        f'<span class="ia-wait ia-wait-{state}"{counted}>{waits}: '
        f'<span class="ia-left" role="timer">{left}</span></span>'
    )


_COUNTDOWN = {
    "left": gettext_noop("{time} left to approve, then the action will not run"),
    "soon": gettext_noop("only {time} left to approve, then the action will not run"),
    "late": gettext_noop("an approval may come too late, and without a decision the action will not run"),
    "undo": gettext_noop("You can undo the decision for {time}."),
}
"""The texts of the countdown: before and in the last quarter, after the last moment to approve, and to undo."""
_GONE = gettext_noop("{agent} stopped waiting: your decision is recorded, but the action will not run")


def count_down() -> None:
    """Count down the time left of each waiting agent on the page; draw the page again when an agent's time ends."""
    words = {name: _(sentence) for name, sentence in _COUNTDOWN.items()} | {"gone": _(_GONE), "days": _(DAYS)}
    component("countdown")(key="countdown", data=words, on_ended_change=lambda: None)


def undo_timer_html(left_ms: int) -> str:
    """Return the time left to undo a decision as HTML, which `count_down` updates; empty if no time is left."""
    said = plain(_(_COUNTDOWN["undo"])).format(time=time_left(left_ms))
    return f' <span class="ia-undo" role="timer" data-undo="{left_ms}">{said}</span>' if left_ms > 0 else ""


def time_left(left_ms: int) -> str:
    """Return the time left as minutes and seconds below one hour, else like `age`."""
    if left_ms >= _HOUR:
        return age(left_ms)
    seconds = max(left_ms, 0) // 1_000
    return f"{seconds // 60}:{seconds % 60:02d}"


DAYS = gettext_noop("{count} days")


def age(elapsed_ms: int) -> str:
    """Return a duration in its largest unit, with minutes below ten hours, as `durations.js` does."""
    if elapsed_ms < _MINUTE:
        return f"{max(elapsed_ms, 0) // 1_000} s"
    if elapsed_ms < _HOUR:
        return f"{elapsed_ms // _MINUTE} min"
    if elapsed_ms < 2 * _DAY:
        minutes = elapsed_ms % _HOUR // _MINUTE if elapsed_ms < 10 * _HOUR else 0
        return f"{elapsed_ms // _HOUR} h" + (f" {minutes} min" if minutes else "")
    return _(DAYS).format(count=elapsed_ms // _DAY)


def status_line_html(
    run: str,
    claim: Claim,
    pending: tuple[int, int | None],
    mine: tuple[int, float | None],
    *,
    now_ms: int,
    waiter: WaitingAgent | None,
    trials: int | None,
) -> str:
    """Return the status line of a claimed item as HTML, with the waiting agent if any.

    `pending` is the number of offered items and the time at which the oldest was created, in ms since 1970; `mine` is
    the number of reviewed items and the seconds per item; `trials` is the run's maximum number of trials.
    """
    (waiting, oldest_ms), (reviewed, seconds) = pending, mine
    attempt = _("trial {trial} (attempt {number} of {trials})") if trials else _("trial {trial}")
    queue = _("{count} more pending (oldest {age})") if oldest_ms else _("{count} more pending")
    own = _("Reviewed by you: {count}") if seconds is None else _("Reviewed by you: {count} · {seconds} s on average")
    parts = (
        f"<b>{plain(run)}</b> · {plain(attempt).format(trial=claim.trial, number=claim.trial + 1, trials=trials)}",
        plain(queue).format(count=f"<b>{waiting}</b>", age=age(now_ms - (oldest_ms or 0))),
        budget_meter_html(claim.budget_cap, claim.budget_used),
        f'<span class="ia-own">{plain(own).format(count=f"<b>{reviewed}</b>", seconds=f"{seconds or 0:.0f}")}</span>',
        waiter_html(waiter, now_ms) if waiter else "",
    )
    return status_html(parts)


def status_html(parts: Iterable[str]) -> str:
    """Return the line above an item from its parts in HTML; omit empty parts."""
    return f'<div class="ia-status">{"".join(f"<span>{part}</span>" for part in parts if part)}</div>'
