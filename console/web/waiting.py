"""The waiting list on the Inbox: its filters, which live in the address, its headline, and what an empty one says."""

from __future__ import annotations

import streamlit as st

from console.auth.identity import Identity, Role
from console.database import Session, now_ms
from console.language import _, digits, gettext_noop, ngettext
from console.review import inbox
from console.review.waiting_list import WaitingFilter, WaitingList
from console.web.run_picker import choose_run
from console.web.widgets.markup import plain
from console.web.widgets.messages import show_empty_state
from console.web.widgets.status import age
from storage import tables
from storage.tables import ItemStatus, RunKind

REVIEW, RUNS = "console/web/pages/review.py", "console/web/pages/runs.py"
_ONLY = {"escalated": gettext_noop("Passed on"), "mine": gettext_noop("Mine")}
_LABELS = {"detector": gettext_noop("Detector"), "environment": gettext_noop("Environment")}
_FILTERS = ("find", "detector", "environment", "only")


def asked_for(detectors: list[str], environments: list[str], *, many: bool) -> WaitingFilter:
    """The filters above the list; they are drawn where there is something to choose among, or something was chosen.

    On a phone a box opens them, which says how many are on.
    """
    asked = {name: st.query_params.get_all(name) for name in _FILTERS}
    if not (many or any(asked.values())):
        return WaitingFilter()
    choices = {"detector": detectors, "environment": environments}
    drawn = [name for name, known in choices.items() if len(known) > 1 or asked[name]]
    disclosure = st.container(key="ia-filters-shown")
    with st.container(key="ia-filters"):
        find, marks, *places = st.columns([4, 2, *(2 for _ in drawn)], vertical_alignment="bottom")
    with find:
        hint = _("words of the task, action or reason")
        text = st.text_input(_("Find"), key="find", bind="query-params", placeholder=hint)
    chosen: dict[str, tuple[str, ...]] = {}
    for name, place in zip(drawn, places, strict=True):
        with place:
            chosen[name] = _choice(name, _(_LABELS[name]), [*choices[name], *asked[name]])
    with marks:
        only = st.pills(
            _("Only"),
            list(_ONLY),
            key="only",
            selection_mode="multi",
            bind="query-params",
            format_func=lambda name: _(_ONLY[name]),
        )
    on = bool(text) + sum(map(len, chosen.values())) + len(only)
    words = _("Show the filters ({count} on)").format(count=digits(on)) if on else _("Show the filters")
    disclosure.checkbox(words, key="filters-open")
    return WaitingFilter(
        text, chosen.get("detector", ()), chosen.get("environment", ()), "escalated" in only, "mine" in only
    )


def _choice(name: str, label: str, known: list[str]) -> tuple[str, ...]:
    options = list(dict.fromkeys(known))
    return tuple(st.multiselect(label, options, key=name, bind="query-params", placeholder=_("any")))


def show_all() -> None:
    """Lets go of every filter."""
    st.session_state["find"], st.session_state["only"] = "", []
    st.session_state["detector"], st.session_state["environment"] = [], []


def open_item(run: tables.Run, item: int | None) -> None:
    """Leads to that item of the run, or to the next one."""
    # What the tab has shown there before is none of this wish.
    st.session_state.pop("item_in_address", None)
    st.switch_page(REVIEW, query_params={"run": run.name} | ({} if item is None else {"item": str(item)}))


def headline_html(waiting: WaitingList, count: int, oldest_ms: int | None) -> str:
    """How much waits and since when, what of it is not for this reviewer, and what the filter hides, as HTML."""
    words = _("{count} waiting, the oldest for {age}.") if oldest_ms else _("{count} waiting.")
    said = [plain(words).format(count=f"<b>{digits(count)}</b>", age=age(now_ms() - (oldest_ms or 0)))]
    if waiting.held:
        said.append(plain(_("{count} more in your hands.")).format(count=digits(waiting.held)))
    if waiting.answered:
        words = _("You have answered or passed on {count} of them; another reviewer is to.")
        said.append(plain(words).format(count=digits(waiting.answered)))
    if waiting.hidden:
        words = plain(_("{matching} match, the filter hides {hidden}."))
        said.append(words.format(matching=f"<b>{digits(waiting.matching)}</b>", hidden=digits(waiting.hidden)))
    elif waiting.offered:
        said.append(plain(_("The next to be offered stands first.")))
    return f'<div class="ia-waiting"><p>{" ".join(said)}</p></div>'


def show_nothing(session: Session, run: tables.Run, who: Identity, waiting: WaitingList, undecided: int) -> None:
    """Why the list is empty, and what to do next."""
    if waiting.hidden:
        words = _("The filter hides all {count} that wait for you.").format(count=digits(waiting.hidden))
        show_empty_state(_("Nothing matches"), words)
        st.button(_("Show all"), key="show-all", on_click=show_all)
        return
    researcher = who.has(Role.RESEARCHER)
    unjudged = run.kind != RunKind.GATE and run.detector is None
    show_empty_state(_("Nothing waits in this run"), _why(session, run, waiting, undecided, researcher and unjudged))
    with st.container(horizontal=True, horizontal_alignment="center", key="what-now"):
        if researcher and unjudged:
            st.page_link(RUNS, label=_("Judge this run"), query_params={"run": run.name})
        busiest = inbox.busiest_run(session)
        if busiest is not None and busiest.id != run.id and (more := inbox.waits(session, busiest)[0]):
            label = ngettext("{count} waits in another run", "{count} wait in another run", more)
            st.button(
                label.format(count=digits(more)), key="elsewhere", type="primary", on_click=_go_to, args=(busiest.name,)
            )


def _why(session: Session, run: tables.Run, waiting: WaitingList, undecided: int, may_judge: bool) -> str:
    if waiting.answered:
        return _("You have answered or passed on all that waits; it needs another reviewer.")
    if undecided:
        return _("What is left is being reviewed by others; it comes back here if they put it down.")
    if may_judge:
        return _("Have it judged on Runs: what a detector flags comes here.")
    found = inbox.item_statuses(session, run)
    if found & {ItemStatus.EXPIRED, ItemStatus.CANCELLED}:
        return _("What has no review waits no more: its time ran out or it was withdrawn.")
    if found:
        return _("Everything that was to be reviewed has its review. What comes next shows here by itself.")
    return _("Nothing was to be reviewed so far. What is flagged or asked about shows here by itself.")


def _go_to(run_name: str) -> None:
    st.session_state["run_picker"] = run_name
    choose_run(run_name)
