"""What is spent and left of an inspection budget."""

from __future__ import annotations

import streamlit as st

from console.widgets.markup import plain


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
