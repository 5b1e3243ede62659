"""The rows of the pending items: each row links to its item, and a line marks the end of the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from console.language import _, digits, gettext_noop, ngettext
from console.review.inbox import WaitingAgent
from console.review.pending_items import OfferOrder, PendingItem, PendingItems
from console.review.presentation import preview
from console.web.widgets.browser import component
from console.web.widgets.markup import plain, show_html
from console.web.widgets.status import age, waiter_html
from storage.queue import HALTED

_IN_WORDS = {
    OfferOrder.CLAIMED: gettext_noop("claimed by you"),
    OfferOrder.FRESH: "",
    OfferOrder.SKIPPED: gettext_noop("skipped"),
}


@dataclass(frozen=True, slots=True)
class _Look:
    """The data that the rows show besides their items: the waiting agents, the names of the runs, and the time."""

    waiters: Mapping[int, WaitingAgent]
    runs: Mapping[int, str]
    now_ms: int
    only: bool
    grouped: bool


def show_pending_rows(
    waiting: PendingItems,
    waiters: Mapping[int, WaitingAgent],
    runs: Mapping[int, str],
    now_ms: int,
    *,
    only: bool,
    grouped: bool = False,
) -> int | None:
    """Draw the items in queue order and return the pressed row's item, else None; a line marks the budget's end.

    `runs` holds the names of the runs by id. With `only`, there is one run, and the rows omit its name. With `grouped`,
    the rows of each run follow each other below its name.
    """
    look, reached = _Look(waiters, runs, now_ms, only, grouped), waiting.matching - waiting.beyond
    parts = [
        _grouped(waiting.offered, look) if grouped else _rows(waiting.offered, look, _("Next items")),
        _more(reached - len(waiting.offered)),
    ]
    if waiting.beyond:
        unread = _rows(waiting.unread, replace(look, grouped=False), _("Beyond budget"))
        parts += [
            f'<p class="ia-budget-end" role="note">{plain(_budget_end(waiting))}</p>',
            f'<div class="ia-unread">{unread}</div>',
            _more(waiting.beyond - len(waiting.unread)),
        ]
    show_html(f'<div class="ia-waiting">{"".join(parts)}</div>')
    # The next run of the page reads the pressed row, so the callback has nothing to do.
    pressed = component("pending_rows")(key="pending-rows", on_opened_change=lambda: None)
    return int(pressed.opened) if pressed.opened else None


def _budget_end(waiting: PendingItems) -> str:
    words = ngettext(
        "The budget ends here: {count} more item cannot be inspected.",
        "The budget ends here: {count} more items cannot be inspected.",
        waiting.beyond,
    )
    if waiting.hidden:
        words = _("The budget does not cover {count} of the items that match the filters.")
    return words.format(count=digits(waiting.beyond))


def _more(more: int) -> str:
    words = plain(_("… and {count} more.").format(count=digits(more)))
    return f'<p class="ia-more">{words}</p>' if more > 0 else ""


def _grouped(rows: Sequence[PendingItem], look: _Look) -> str:
    by_run: dict[int, list[PendingItem]] = {}
    for row in rows:
        by_run.setdefault(row.item.run_id, []).append(row)
    return "".join(
        f"<h2>{plain(look.runs[run])}</h2>{_rows(found, look, look.runs[run])}" for run, found in by_run.items()
    )


def _rows(rows: Sequence[PendingItem], look: _Look, label: str) -> str:
    drawn = "".join(_row(row, look) for row in rows)
    return f'<ol aria-label="{plain(label)}">{drawn}</ol>' if drawn else ""


def _row(row: PendingItem, look: _Look) -> str:
    item, now_ms, run = row.item, look.now_ms, look.runs[row.item.run_id]
    waiter = look.waiters.get(item.id or 0)
    missing = _("hidden") if row.is_hidden else _("declined") if item.verdict_id else _("halted")
    score = missing if row.score is None else f"{row.score:.2f}"
    css = " ia-score-hidden" if row.is_hidden else " ia-score-halted" if row.score is None else ""
    halted = _("The trial halted and needs feedback.") if item.kind == HALTED else ""
    unit = "" if row.score is None else f"<small>{plain(_('score'))}</small>"
    why = "" if row.is_hidden else next(iter((row.rationale or halted).splitlines()), "").replace("`", "")
    assigned = _("assigned to {name}").format(name=row.assignee) if row.assignee else ""
    own = _("agent stopped waiting") if waiter and waiter.is_gone(now_ms) else _(_IN_WORDS[row.turn])
    stamps = [row.escalation.badge if row.escalation else "", assigned, own]
    badges = "".join(f'<span class="ia-stamp">{plain(stamp)}</span> ' for stamp in stamps if stamp)
    scope = {"run": run} if look.only else {}
    address = plain("review?" + urlencode(scope | {"item": item.id}))
    of_run = "" if look.grouped or len(look.runs) < 2 else f"{plain(run)} · "
    return (
        f'<li><span class="ia-score{css}">{plain(score)}{unit}</span><span class="ia-what">{badges}'
        f'<a href="{address}" data-item="{item.id}">{plain(preview(row.instruction))}</a>'
        f"{f'<small>{plain(preview(why))}</small>' if why else ''}"
        f"{f'<small>{waiter_html(waiter, now_ms)}</small>' if waiter else ''}</span>"
        f'<span class="ia-age">{of_run}{plain(_("trial {trial}").format(trial=item.trial))} · '
        f"{age(now_ms - item.created_ms)}</span></li>"
    )
