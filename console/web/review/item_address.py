"""The item in the address of the Review page: opening that item, and storing the shown item in the address."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from console import runs
from console.auth.people import Identity, Role
from console.database import Session, now_ms, reading, review_queue
from console.errors import ConsoleError
from console.language import _, gettext_noop, quoted
from console.review import decisions, inbox
from console.review.waiting import find_pressing_item
from console.runs import run_options
from console.web.run_picker import choose_run
from console.web.widgets.hotkeys import hotkeys, key_button
from console.web.widgets.messages import next_step_row, refusal_words, show_empty_state
from storage import tables
from storage.errors import StorageError
from storage.queue import Claim, NoClaim, NoClaimReason

_INBOX, _TRAJECTORIES = (f"console/web/pages/{page}.py" for page in ("inbox", "trajectories"))

_LATE_MS = 2_000
"""The time after which an address that names an earlier item again is the visitor's own, in ms."""
_LONGEST = 18
"""The number of digits that fit a database integer."""

_WHY_NOT = {
    NoClaimReason.BUDGET_SPENT: gettext_noop("The inspection budget of the item's trial is spent."),
    NoClaimReason.BEYOND_CAPACITY: gettext_noop(
        "Your next inspection is expected to lower safety. After a break of 30 minutes you can continue."
    ),
    NoClaimReason.RUN_STOPPED: gettext_noop(
        "The agents of this run are stopped. You can open the item again when the run continues."
    ),
    NoClaimReason.ITEM_TAKEN: gettext_noop(
        "Another reviewer has claimed the item. You can open the item if the reviewer skips it or the claim expires."
    ),
    NoClaimReason.ITEM_GONE: gettext_noop("A reviewer has already decided this item."),
}


def get_requested_item(session: Session) -> str | None:
    """Return the item in the address; return None if that item is already shown, or was just left.

    If the address names a run as well, select the run of the item.
    """
    wanted = st.query_params.get("item")
    if wanted == st.session_state.get("item_in_address"):
        st.session_state["items_left"] = {}
        return None
    left_ms = st.session_state.get("items_left", {}).get(wanted, 0)
    # A browser that has not yet received the new address still sends an earlier one; later, this is its Back button.
    if wanted is None or now_ms() - left_ms < _LATE_MS:
        return None
    item = _named(session, wanted)
    run = session.get(tables.Run, item.run_id) if item else None
    if run is not None and run.study_id is None and "run" in st.query_params:
        choose_run(run.name)
    return wanted


def find_scope(session: Session, identity: Identity | None) -> tables.Run | None:
    """Return the run in the address, which limits the review to this run; None stands for all runs."""
    wanted = st.query_params.get("run")
    run = runs.find(session, wanted) if wanted else None
    may_open = run is not None and (run.study_id is None or (identity is not None and identity.has(Role.RESEARCHER)))
    return run if may_open else None


def stop_if_closed(run: tables.Run, every: Sequence[tables.Run], title: str) -> None:
    """Stop the page with the reason if the visitor cannot review this run here; `every` lists the runs they can."""
    if run.study_id is not None:
        show_empty_state(_("Only the participant reviews this run"), _("Open another run to review items."), title)
        st.stop()
    if run_options(run).rates_answers:
        show_empty_state(_("This run has answers to rate"), _("Rate the answers on the page “Rate answers”."), title)
        to_run = {"judge": run.name}
        next_step_row().page_link("console/web/pages/ratings.py", label=_("Rate answers"), query_params=to_run)
        st.stop()
    if run.archived_ms is None and run.id not in [other.id for other in every]:
        show_empty_state(
            _("Other people review this run"), _("Ask a researcher for access, or open another run."), title
        )
        next_step_row().page_link(_INBOX, label=_("Open the Inbox"))
        st.stop()


def find_last_run(session: Session, every: Sequence[tables.Run]) -> tables.Run:
    """Return the run of the item that this tab showed last, or else the run with the most pending items."""
    last = [run for run in every if run.id == st.session_state.get("last_run")]
    busiest = inbox.find_busiest_run(session)
    found = [run for run in every if busiest is not None and run.id == busiest.id]
    return (last or found or list(every))[0]


def claim_next(
    session: Session, scope: tables.Run | None, every: Sequence[tables.Run], reviewer: str
) -> Claim | NoClaim:
    """Claim the most urgent item of the run in the address, or of every run.

    An agent of another run comes first if its time ends within five minutes; a message states this order.
    """
    queue, at_ms = review_queue(), now_ms()
    if scope is None:
        return decisions.claim_most_urgent(queue, session, every, reviewer, at_ms, settles=False)
    if pressing := find_pressing_item(session, scope, every, reviewer, at_ms):
        run = next(run for run in every if run.id == pressing.run_id)
        found = decisions.claim_item(queue, session, run, pressing.item_id, reviewer, at_ms, settles=False)
        if isinstance(found, Claim):
            told = _("An item of {run} comes first, because its deadline is near. Then you return to {scope}.")
            st.session_state.setdefault("done", told.format(run=quoted(run.name), scope=quoted(scope.name)))
            return found
    return decisions.claim_next_item(queue, session, scope, reviewer, at_ms, settles=False)


def keep_open(claim: Claim, run: tables.Run, scope: tables.Run | None) -> None:
    """Keep the claimed item open in this tab until it is decided or skipped, and store its run."""
    st.session_state["opened_item"], st.session_state["opened_in"] = claim.item_id, scope.name if scope else ""
    st.session_state["last_run"], st.session_state["run"] = run.id, run.name


def _named(session: Session, wanted: str) -> tables.Item | None:
    return session.get(tables.Item, int(wanted)) if wanted.isdecimal() and len(wanted) <= _LONGEST else None


def open_wanted(session: Session, wanted: str, reviewer: str) -> str:
    """Open the item or the reviewer's decision on it; return the reason for a failure, or an empty text."""
    try:
        item = _named(session, wanted)
        if item is None:
            return _("No item has this number. Review the next item, or choose an item in the Inbox.")
        run = session.get_one(tables.Run, item.run_id)
        found = decisions.claim_item(review_queue(), session, run, int(wanted), reviewer, now_ms(), settles=False)
    except (ConsoleError, StorageError) as refusal:
        return refusal_words(refusal)
    answered = not isinstance(found, Claim) and found.reason == NoClaimReason.ITEM_REVIEWED_BY_YOU
    if not (answered or isinstance(found, Claim)):
        with reading() as later:  # A new snapshot shows an item that expired at this claim.
            gone = inbox.explain_gone_item(later, int(wanted)) if found.reason == NoClaimReason.ITEM_GONE else ""
        return gone or _(_WHY_NOT.get(found.reason, str(found.reason)))
    st.session_state["opened_item"] = None if answered else int(wanted)
    st.session_state["opened_in"] = st.query_params.get("run") or ""
    st.session_state["looking_back"] = int(wanted) if answered else None
    st.session_state["item_in_address"] = wanted
    return ""


def get_open_claim(session: Session, scope: tables.Run | None, reviewer: str) -> Claim | None:
    """Return the claim on the item that this tab has open, or None if the reviewer does not hold the claim.

    If the address has changed to another run, close the item.
    """
    item: int | None = st.session_state.get("opened_item")
    if item is None:
        return None
    same = st.session_state.get("opened_in", "") == (scope.name if scope else "")
    row = session.get(tables.Item, item)
    if same and row is not None and decisions.is_claimed_by(session, item, reviewer):
        run = session.get_one(tables.Run, row.run_id)
        found = decisions.claim_item(review_queue(), session, run, item, reviewer, now_ms(), settles=False)
        if isinstance(found, Claim):
            return found
    st.session_state["opened_item"] = None
    return None


def forget_address() -> None:
    """Let the next address open its item, also the item that this tab showed last."""
    for key in ("item_in_address", "items_left"):
        st.session_state.pop(key, None)


def name_in_address(item: int | None) -> None:
    """Store the shown item in the address."""
    named = None if item is None else str(item)
    earlier = st.session_state.get("item_in_address")
    if earlier != named:
        st.session_state["items_left"] = {**st.session_state.get("items_left", {}), earlier: now_ms()}
    st.session_state["item_in_address"] = named
    if named is None:
        st.query_params.pop("item", None)
    elif st.query_params.get("item") != named:
        st.query_params["item"] = named


def show_refusal(session: Session, wanted: str, why: str, who: Identity) -> None:
    """Draw the reason why the item cannot be opened, and links to other pages."""
    show_empty_state(_("Cannot open item {number}").format(number=wanted[:_LONGEST]), why, _("Review"))
    item = _named(session, wanted)
    with next_step_row():
        key_button(_("Review next item"), "Enter", "review-on", name_in_address, None, type="primary")
        st.page_link(_INBOX, label=_("Open the Inbox"))
        if item is not None and who.has(Role.RESEARCHER):
            run = session.get_one(tables.Run, item.run_id)
            st.page_link(
                _TRAJECTORIES,
                label=_("Open trajectory"),
                query_params={"run": run.name, "id": str(item.trajectory_id)},
            )
    hotkeys({"enter": "review-on"}, item_id=f"address-{wanted[:_LONGEST]}", enabled=True)
