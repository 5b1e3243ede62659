"""The rows of a waiting list: each leads to its item, and a line says where the budget ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import streamlit as st

from console.language import _, digits, gettext_noop, ngettext
from console.review.inbox import Waiter
from console.review.waiting_list import ListedItem, OfferOrder, WaitingList
from console.web.widgets.component import component
from console.web.widgets.markup import plain
from console.web.widgets.status import age, waiter_html

_IN_WORDS = {
    OfferOrder.HELD: gettext_noop("in your hands"),
    OfferOrder.FRESH: "",
    OfferOrder.PUT_ASIDE: gettext_noop("you put it aside"),
}


def show_waiting_rows(waiting: WaitingList, waiters: Mapping[int, Waiter], run: str, now_ms: int) -> int | None:
    """Draws the list; returns the item whose row was pressed, once."""
    st.html(waiting_rows_html(waiting, waiters, run, now_ms))
    pressed = component(__name__)(key="waiting-rows", on_opened_change=_pressed)
    return int(pressed.opened) if pressed.opened else None


def _pressed() -> None:
    """The press shows in the run of the page that it causes."""


def waiting_rows_html(waiting: WaitingList, waiters: Mapping[int, Waiter], run: str, now_ms: int) -> str:
    """The list as HTML: what the budget reaches, in the order of the offer, then what stays unread."""
    reached = waiting.matching - waiting.beyond
    parts = [
        _rows(waiting.offered, waiters, run, now_ms, _("Offered next")),
        _more(reached - len(waiting.offered)),
    ]
    if waiting.beyond:
        unread = _rows(waiting.unread, waiters, run, now_ms, _("Unread as the budget stands"))
        parts += [
            f'<p class="ia-budget-end" role="note">{plain(_where_it_ends(waiting))}</p>',
            f'<div class="ia-unread">{unread}</div>',
            _more(waiting.beyond - len(waiting.unread)),
        ]
    return f'<div class="ia-waiting">{"".join(parts)}</div>'


def _where_it_ends(waiting: WaitingList) -> str:
    if waiting.hidden:
        words = _("Read in this order, the budget ends here: {count} of these would stay unread.")
        return words.format(count=digits(waiting.beyond))
    words = ngettext(
        "The budget ends here: {count} more stays unread.",
        "The budget ends here: {count} more stay unread.",
        waiting.beyond,
    )
    return words.format(count=digits(waiting.beyond))


def _more(more: int) -> str:
    words = plain(_("… and {count} more.").format(count=digits(more)))
    return f'<p class="ia-more">{words}</p>' if more > 0 else ""


def _rows(rows: Sequence[ListedItem], waiters: Mapping[int, Waiter], run: str, now_ms: int, label: str) -> str:
    drawn = "".join(_row(row, waiters.get(row.item.id or 0), run, now_ms) for row in rows)
    return f'<ol aria-label="{plain(label)}">{drawn}</ol>' if drawn else ""


def _row(row: ListedItem, waiter: Waiter | None, run: str, now_ms: int) -> str:
    item = row.item
    score, css = (_("halted"), "ia-score ia-score-halted") if row.score is None else (f"{row.score:.2f}", "ia-score")
    why = (row.rationale or _("The trial got stuck; it needs words.")).splitlines()[0]
    stamps = [row.escalation.badge if row.escalation else "", _(_IN_WORDS[row.turn])]
    badges = "".join(f'<span class="ia-stamp">{plain(stamp)}</span> ' for stamp in stamps if stamp)
    address = plain("/review?" + urlencode({"run": run, "item": item.id}))
    return (
        f'<li><span class="{css}">{plain(score)}</span><span class="ia-what">{badges}'
        f'<a href="{address}" data-item="{item.id}">{plain(_short(row.instruction))}</a>'
        f"<small>{plain(_short(why))}</small>"
        f"{f'<small>{waiter_html(waiter, now_ms)}</small>' if waiter else ''}</span>"
        f'<span class="ia-age">{plain(_("trial {trial}").format(trial=item.trial))} · '
        f"{age(now_ms - item.created_ms)}</span></li>"
    )


def _short(text: str, limit: int = 180) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= limit else one_line[: limit - 1] + "…"
