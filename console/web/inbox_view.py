"""The parts of the Inbox: filters that are stored in the address, the headline and the empty state."""

from __future__ import annotations

import streamlit as st

from console.auth.people import Identity, Role
from console.database import Session, now_ms
from console.language import _, digits, gettext_noop, ngettext
from console.review import inbox
from console.review.pending_items import PendingFilter, PendingItems
from console.web.run_picker import choose_run
from console.web.widgets.markup import plain
from console.web.widgets.messages import show_empty_state
from console.web.widgets.status import age
from storage import tables
from storage.tables import ItemStatus, RunKind

REVIEW, RUNS = "console/web/pages/review.py", "console/web/pages/runs.py"
_ONLY = {"escalated": gettext_noop("Escalated"), "mine": gettext_noop("Mine")}
_LABELS = {"detector": gettext_noop("Detector"), "environment": gettext_noop("Environment")}
_FILTERS = ("find", "detector", "environment", "only")


def select_filter(detectors: list[str], environments: list[str], *, many: bool) -> PendingFilter:
    """Draw the filters and return the selected filter; draw no filters if there is nothing to choose.

    On a phone, a checkbox opens the filters.
    """
    asked = {name: st.query_params.get_all(name) for name in _FILTERS}
    if not (many or any(asked.values())):
        return PendingFilter()
    choices = {"detector": detectors, "environment": environments}
    drawn = [name for name, known in choices.items() if len(known) > 1 or asked[name]]
    disclosure = st.container(key="ia-filters-shown")
    with st.container(key="ia-filters"):
        find, marks, *places = st.columns([4, 2, *(2 for _ in drawn)], vertical_alignment="bottom")
    with find:
        hint = _("task, action or reason")
        text = st.text_input(_("Find"), key="find", bind="query-params", placeholder=hint)
    chosen: dict[str, tuple[str, ...]] = {}
    for name, place in zip(drawn, places, strict=True):
        with place:
            chosen[name] = _choice(name, _(_LABELS[name]), [*choices[name], *asked[name]])
    with marks:
        only = st.pills(
            _("Show only"),
            list(_ONLY),
            key="only",
            selection_mode="multi",
            bind="query-params",
            format_func=lambda name: _(_ONLY[name]),
        )
    on = bool(text) + sum(map(len, chosen.values())) + len(only)
    words = _("Show filters ({count} on)").format(count=digits(on)) if on else _("Show filters")
    disclosure.checkbox(words, key="filters-open")
    return PendingFilter(
        text, chosen.get("detector", ()), chosen.get("environment", ()), "escalated" in only, "mine" in only
    )


def _choice(name: str, label: str, known: list[str]) -> tuple[str, ...]:
    options = list(dict.fromkeys(known))
    return tuple(st.multiselect(label, options, key=name, bind="query-params", placeholder=_("any")))


def clear_filters() -> None:
    """Clear every filter."""
    st.session_state["find"], st.session_state["only"] = "", []
    st.session_state["detector"], st.session_state["environment"] = [], []


def open_item(run: tables.Run, item: int | None) -> None:
    """Open this item of the run on the Review page; if `item` is None, open the next item."""
    # Do not reopen the item that the tab showed on the Review page before.
    st.session_state.pop("item_in_address", None)
    st.switch_page(REVIEW, query_params={"run": run.name} | ({} if item is None else {"item": str(item)}))


def headline_html(waiting: PendingItems, count: int, oldest_ms: int | None) -> str:
    """Return the number of pending items, the age of the oldest, and the number hidden by filters, as HTML."""
    words = _("{count} pending, oldest {age}.") if oldest_ms else _("{count} pending.")
    said = [plain(words).format(count=f"<b>{digits(count)}</b>", age=age(now_ms() - (oldest_ms or 0)))]
    if waiting.held:
        said.append(plain(_("{count} more claimed by you.")).format(count=digits(waiting.held)))
    if waiting.answered:
        words = _("You have decided or escalated {count} of them; they need another reviewer.")
        said.append(plain(words).format(count=digits(waiting.answered)))
    if waiting.hidden:
        words = plain(_("{matching} match; the filters hide {hidden}."))
        said.append(words.format(matching=f"<b>{digits(waiting.matching)}</b>", hidden=digits(waiting.hidden)))
    elif waiting.offered:
        said.append(plain(_("Your next item is at the top.")))
    return f'<div class="ia-waiting"><p>{" ".join(said)}</p></div>'


def show_empty_inbox(session: Session, run: tables.Run, who: Identity, waiting: PendingItems, undecided: int) -> None:
    """Draw the reason why the list is empty, and a suggestion for the next step."""
    if waiting.hidden:
        words = _("The filters hide all {count} pending items. Clear them to see the items.").format(
            count=digits(waiting.hidden)
        )
        show_empty_state(_("No matching items"), words)
        st.button(_("Clear filters"), key="show-all", on_click=clear_filters)
        return
    researcher = who.has(Role.RESEARCHER)
    unjudged = run.kind != RunKind.GATE and run.detector is None
    show_empty_state(_("No pending items in this run"), _why(session, run, waiting, undecided, researcher and unjudged))
    with st.container(horizontal=True, horizontal_alignment="center", key="what-now"):
        if researcher and unjudged:
            st.page_link(RUNS, label=_("Judge this run"), query_params={"run": run.name})
        busiest = inbox.find_busiest_run(session)
        if busiest is not None and busiest.id != run.id and (more := inbox.count_pending_items(session, busiest)[0]):
            label = ngettext("Review {count} item elsewhere", "Review {count} items elsewhere", more)
            st.button(
                label.format(count=digits(more)), key="elsewhere", type="primary", on_click=_go_to, args=(busiest.name,)
            )


def _why(session: Session, run: tables.Run, waiting: PendingItems, undecided: int, may_judge: bool) -> str:
    if waiting.answered:
        return _("You have decided or escalated all pending items; they need another reviewer.")
    if undecided:
        return _("Other reviewers have claimed the remaining items. An item returns if its reviewer skips it.")
    if may_judge:
        return _("Judge this run on the Runs page. Flagged actions then appear here.")
    found = inbox.list_item_statuses(session, run)
    if found & {ItemStatus.EXPIRED, ItemStatus.CANCELLED}:
        return _("The items without a decision expired or were withdrawn.")
    if found:
        return _("Every item has a decision. New items appear here automatically.")
    return _("No action has needed a review so far. New items appear here automatically.")


def _go_to(run_name: str) -> None:
    st.session_state["run_picker"] = run_name
    choose_run(run_name)
