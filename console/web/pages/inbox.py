"""Inbox: the pending items of all runs or of one, their budgets, and a tour for new reviewers."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import streamlit as st

from console import runs
from console.auth.people import Identity, Role
from console.database import Session, now_ms, reading
from console.language import _, digits, gettext_noop, quoted
from console.review import feedback_counts, inbox
from console.review.access import list_reviewable_runs
from console.review.pending_items import MOST_COUNTED, PendingItems, list_filter_choices, list_pending_items
from console.review.waiting import measure_offered
from console.trials.vigilance import has_known_items
from console.web.review import actions, bulk_bar, inbox_tools, item_address, shortcuts
from console.web.sign_in import current_identity
from console.web.widgets.arrival_watch import watch_arrivals
from console.web.widgets.browser import set_cookie
from console.web.widgets.hotkeys import hotkeys, key_label
from console.web.widgets.markup import plain, show_html
from console.web.widgets.messages import next_step_row, show_empty_state, show_guide
from console.web.widgets.pending_rows import show_pending_rows
from console.web.widgets.status import age, count_down, show_budget_meter
from storage import tables
from storage.tables import ItemStatus, RunKind

REVIEW, RUNS = "console/web/pages/review.py", "console/web/pages/runs.py"


def open_item(run: tables.Run | None, item: int | None) -> None:
    """Open this item on the Review page; if `item` is None, open the next item of the run, or of all runs."""
    # Do not reopen the item that the tab showed on the Review page before.
    item_address.forget_address()
    st.session_state.pop("opened_item", None)
    scope = {} if run is None else {"run": run.name}
    st.switch_page(REVIEW, query_params=scope | ({} if item is None else {"item": str(item)}))


_WITHHELD = gettext_noop("Agents of stopped runs have pending items: {count}. The items return when the runs continue.")


def headline_html(waiting: PendingItems, oldest_ms: int | None) -> str:
    """Return the number of offered items, the age of the oldest, and the number hidden by filters, as HTML.

    The text counts the reviewer's claims and items beyond a budget separately. `oldest_ms` is the creation time of the
    oldest offered item.
    """
    count = waiting.total - waiting.held - (0 if waiting.hidden else waiting.beyond)
    words = _("{count} pending, oldest {age}.") if oldest_ms and count and not waiting.hidden else _("{count} pending.")
    said = [plain(words).format(count=f"<b>{_at_least(count)}</b>", age=age(now_ms() - (oldest_ms or 0)))]
    if waiting.beyond and not waiting.hidden:
        said.append(plain(_("Beyond budget: {count}.")).format(count=_at_least(waiting.beyond)))
    if waiting.held:
        said.append(plain(_("Claimed by you: {count}.")).format(count=digits(waiting.held)))
    if waiting.withheld:
        said.append(plain(_(_WITHHELD)).format(count=digits(waiting.withheld)))
    if waiting.answered:
        words = _("Another reviewer has to decide: {count}.")
        said.append(plain(words).format(count=digits(waiting.answered)))
    if waiting.hidden:
        words = plain(_("Matching: {matching}. Hidden by filters: {hidden}."))
        said.append(words.format(matching=f"<b>{_at_least(waiting.matching)}</b>", hidden=digits(waiting.hidden)))
    elif waiting.offered:
        said.append(plain(_("Your next item is at the top.")))
    return f'<div class="ia-waiting"><p>{" ".join(said)}</p></div>'


def _at_least(count: int) -> str:
    """Return the digits of a count of items, with + from the number on at which a trial's items are not all counted."""
    return digits(count) + ("+" if count >= MOST_COUNTED else "")


def show_empty_inbox(
    session: Session, run: tables.Run | None, who: Identity, waiting: PendingItems, undecided: int
) -> None:
    """Draw the reason why the list is empty, and a suggestion for the next step."""
    if waiting.hidden:
        words = _("The search and the filters hide all items ({count}).").format(count=digits(waiting.hidden))
        show_empty_state(_("No matching items"), words)
        next_step_row().button(_("Show all items"), key="show-all", on_click=inbox_tools.clear_filters)
        return
    researcher = who.has(Role.RESEARCHER)
    if run is None:
        show_empty_state(_("No pending items"), _why_nowhere(waiting, undecided))
        return
    unjudged = run.kind != RunKind.GATE and run.detector is None
    nothing = _("No pending items in {run}").format(run=quoted(run.name))
    show_empty_state(nothing, _why(session, run, waiting, undecided, researcher and unjudged))
    with next_step_row():
        if researcher and unjudged:
            st.page_link(RUNS, label=_("Judge this run"), query_params={"run": run.name})
        open_runs = list_reviewable_runs(session, who.name, offering=True)
        others = [other.id or 0 for other in open_runs if other.id != run.id]
        if more := measure_offered(session, others, who.name)[0]:
            label = _("Review other runs ({count})").format(count=digits(more))
            st.button(label, key="elsewhere", type="primary", on_click=inbox_tools.select_run, args=("",))


def _why_nowhere(waiting: PendingItems, undecided: int) -> str:
    if waiting.withheld:
        return _(_WITHHELD).format(count=digits(waiting.withheld))
    if waiting.answered:
        return _("You have decided or escalated all pending items. Another reviewer must decide these items.")
    if undecided:
        return _("The remaining items are claimed by other reviewers or assigned to them. A skipped item returns.")
    return _("No run has an item for you. New items appear here automatically.")


def _why(session: Session, run: tables.Run, waiting: PendingItems, undecided: int, may_judge: bool) -> str:
    if waiting.answered or waiting.withheld or undecided:
        return _why_nowhere(waiting, undecided)
    if may_judge:
        return _("Press “Judge this run” on the Runs page. Flagged actions then appear here.")
    found = inbox.list_item_statuses(session, run)
    if found & {ItemStatus.EXPIRED, ItemStatus.CANCELLED}:
        return _("The items without a decision expired or were withdrawn.")
    if found:
        return _("Every item has a decision. New items appear here automatically.")
    return _("No action has needed a review so far. New items appear here automatically.")


_COOKIE = "ia_tour"


def show_tour() -> None:
    """Draw the one-minute tour unless this browser has closed it."""
    if st.session_state.get("tour_done"):
        set_cookie(_COOKIE, "done")
        return
    if st.context.cookies.get(_COOKIE) == "done":
        return
    with st.container(key="ia-tour"):
        show_guide("inbox", _("A one-minute tour"))
        st.button(_("Close tour"), key="tour-done", on_click=st.session_state.update, args=({"tour_done": True},))


def show_budgets(session: Session, found: Sequence[tables.Run], listed: Collection[tuple[int, int]]) -> None:
    """Draw the budget of each trial of the run; over several runs, only budgets of listed items with a limit.

    `listed` holds the run and the trial of each listed item.
    """
    for run in found:
        budgets = runs.budgets(session, run)
        for trial, budget in budgets.items():
            is_latest = trial == max(budgets)
            if len(found) > 1 and (budget["cap"] is None or (run.id or 0, trial) not in listed):
                continue
            if budget["used"] or budget["cap"] is not None or is_latest:
                label = _("trial {trial}").format(trial=trial) if len(budgets) > 1 else ""
                label = " · ".join(filter(None, (run.name, label))) if len(found) > 1 else label
                show_budget_meter(budget["cap"], budget["used"] or 0, label=label)


def show_own_reviews(session: Session, run: tables.Run, who: Identity) -> None:
    """Draw the number of the visitor's reviews in the run, and the outcome of their feedback."""
    mine, seconds = inbox.count_my_reviews(session, run, who.name)
    tally = feedback_counts.tally_feedback(session, run, who.name, unblinded=who.has(Role.RESEARCHER))
    if mine:
        reviewed = _("Items that you reviewed in this run: {count}.")
        if seconds is not None:
            reviewed = _("Your reviews in this run: {count}, {seconds} s on average.")
        st.caption(reviewed.format(count=mine, seconds=f"{seconds or 0:.0f}"))
    if tally:
        with st.container(horizontal=True, vertical_alignment="center", key="tally"):
            st.caption(tally.in_words)
            st.page_link("console/web/pages/answers.py", label=_("Open My reviews"), query_params={"run": run.name})


def show_no_runs(who: Identity | None) -> None:
    """Draw the reason why no run has an item to review."""
    if who and who.has(Role.RESEARCHER):
        show_empty_state(_("No runs yet"), _("Import a log or start agents to get items to review."))
        next_step_row().page_link(RUNS, label=_("Open Runs"))
    else:
        show_empty_state(
            _("Nothing to review yet"),
            _("New items appear here when a run flags an action or an agent asks for a review."),
        )
    with reading() as session:
        newest = inbox.find_newest_run(session)
    watch_arrivals(None, newest)


identity = current_identity()
with reading() as session:
    every = list_reviewable_runs(session, identity.name) if identity else []
    scope = item_address.find_scope(session, identity)
    if scope is not None:
        item_address.stop_if_closed(scope, every, _("Inbox"))
    only = next((run for run in every if scope is not None and run.id == scope.id), None)
    shown_runs = [only] if only else every
    pulse = inbox.get_queue_state(session, [run.id or 0 for run in shown_runs]) if shown_runs else None

if pulse is None or identity is None:
    st.title(_("Inbox"), anchor=False)
    show_no_runs(identity)
    st.stop()
with st.container(horizontal=True, vertical_alignment="center", key="inbox-head"):
    st.title(_("Inbox"), anchor=False, width="content")
    headline, go = st.container(), st.container(width="content")
if pulse.waiting:
    show_tour()
with reading() as session:
    ids = [run.id or 0 for run in shown_runs]
    oldest = measure_offered(session, ids, identity.name)[1]
    detectors, environments = list_filter_choices(session, ids)
with st.container(horizontal=True, vertical_alignment="center", key="inbox-tools"):
    inbox_tools.pick_filtered_run([run.name for run in every], only.name if only else None)
    wanted, grouped = inbox_tools.select_filter(
        detectors, environments, many=pulse.waiting > 1, groups=len(shown_runs) > 1
    )
    inbox_tools.show_views(identity)
    several = st.container(width="content")
    notices = st.container(width="content")
with reading() as session:
    waiting = list_pending_items(session, shown_runs, identity.name, wanted)
    waiters = inbox.list_waiting_agents(session, [row.item.id or 0 for row in (*waiting.offered, *waiting.unread)])
    listed = {(row.item.run_id, row.item.trial) for row in (*waiting.offered, *waiting.unread)}
    with st.container(horizontal=True, key="inbox-budgets"):
        show_budgets(session, shown_runs, listed)

with go:
    is_own_order = wanted.is_set or wanted.order != "urgent"
    words = _("Review first item") if is_own_order else _("Review next item")
    label = key_label(words, "Enter") if waiting.offered else words
    if st.button(label, key="review-next", type="primary", disabled=not waiting.offered):
        open_item(only, waiting.offered[0].item.id if is_own_order else None)
if waiting.offered:
    hotkeys({"enter": "review-next"}, item_id="inbox", enabled=shortcuts.are_enabled())
if only:
    with reading() as session:
        show_own_reviews(session, only, identity)
with reading() as session:
    if has_known_items(session, ids):
        st.caption(
            _("Some items have a known answer. These items measure how well reviews work, and their actions never run.")
        )
actions.show_flash()
bulk_bar.show_bulk_result()
names = {run.id or 0: run.name for run in shown_runs}
if waiting.matching:
    with headline:
        show_html(headline_html(waiting, oldest))
    with several:
        bulk_bar.show_bulk_bar(waiting.offered, identity)
    if wanted.order == "urgent" and waiting.matching > 1:
        order = _(
            "Agents that wait come first, by deadline. Your claimed and assigned items follow, then items by priority."
        )
        st.caption(f"{order} {_('The priority of an item can differ from its score.')}")
    if pressed := show_pending_rows(waiting, waiters, names, now_ms(), only=only is not None, grouped=grouped):
        open_item(only, pressed)
    if waiting.beyond and not identity.has(Role.RESEARCHER):
        st.caption(_("Ask a researcher to raise the budget."))
    elif waiting.beyond:
        with st.container(key="raise-budget"):
            st.page_link(RUNS, label=_("Raise the budget"), query_params={"run": only.name} if only else {})
else:
    with reading() as session:
        show_empty_inbox(session, only, identity, waiting, pulse.undecided)
count_down()
with notices:
    watch_arrivals(tuple(names), pulse, offers=True)
