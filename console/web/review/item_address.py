"""The item in the address of the Review page: opening that item, and storing the shown item in the address."""

from __future__ import annotations

import streamlit as st

from console.auth.people import Identity, Role
from console.database import Session, now_ms, review_queue
from console.errors import ConsoleError, Unknown
from console.language import _, gettext_noop
from console.review import decisions
from console.web.run_picker import choose_run
from console.web.widgets.hotkeys import hotkeys, key_button
from console.web.widgets.messages import next_step_row, refusal_words, show_empty_state
from storage import tables
from storage.errors import StorageError
from storage.queue import Claim, NoClaimReason

_INBOX, _TRAJECTORIES = (f"console/web/pages/{page}.py" for page in ("inbox", "trajectories"))

_LONGEST = 18
"""The number of digits that fit a database integer."""


_WHY_NOT = {
    NoClaimReason.BUDGET_SPENT: gettext_noop("The inspection budget of the item's trial is spent."),
    NoClaimReason.ITEM_TAKEN: gettext_noop(
        "Another reviewer has claimed the item. You can open the item if the reviewer skips it or the claim expires."
    ),
    NoClaimReason.ITEM_GONE: gettext_noop("This item is not pending: a reviewer decided it, or it was removed."),
}


def wanted_item(session: Session) -> str | None:
    """Select the run of the item in the address and return the item; return None if that item is already shown."""
    wanted = st.query_params.get("item")
    if wanted is None or wanted == st.session_state.get("item_in_address"):
        return None
    item = _named(session, wanted)
    run = session.get(tables.Run, item.run_id) if item else None
    if run is not None and run.study_id is None:
        choose_run(run.name)
    return wanted


def _named(session: Session, wanted: str) -> tables.Item | None:
    return session.get(tables.Item, int(wanted)) if wanted.isdecimal() and len(wanted) <= _LONGEST else None


def open_wanted(session: Session, run: tables.Run, wanted: str, reviewer: str) -> str:
    """Open the item or the reviewer's decision on it; return the reason for a failure, or an empty text."""
    try:
        if _named(session, wanted) is None:
            raise Unknown("review item", wanted[:_LONGEST], by="id")
        found = decisions.claim_item(review_queue(), session, run, int(wanted), reviewer, now_ms(), settles=False)
    except (ConsoleError, StorageError) as refusal:
        return refusal_words(refusal)
    answered = not isinstance(found, Claim) and found.reason == NoClaimReason.ITEM_REVIEWED_BY_YOU
    if not (answered or isinstance(found, Claim)):
        return _(_WHY_NOT.get(found.reason, str(found.reason)))
    st.session_state["opened_item"] = None if answered else int(wanted)
    st.session_state["looking_back"] = int(wanted) if answered else None
    st.session_state["item_in_address"] = wanted
    return ""


def opened_claim(session: Session, run: tables.Run, reviewer: str) -> Claim | None:
    """Return the claim on the item opened by its address, or None if the reviewer does not hold the claim."""
    item: int | None = st.session_state.get("opened_item")
    if item is None:
        return None
    if decisions.is_claimed_by(session, item, reviewer):
        found = decisions.claim_item(review_queue(), session, run, item, reviewer, now_ms(), settles=False)
        if isinstance(found, Claim):
            return found
    st.session_state["opened_item"] = None
    return None


def name_in_address(item: int | None) -> None:
    """Store the shown item in the address."""
    named = None if item is None else str(item)
    st.session_state["item_in_address"] = named
    if named is None:
        st.query_params.pop("item", None)
    elif st.query_params.get("item") != named:
        st.query_params["item"] = named


def show_refusal(session: Session, wanted: str, why: str, who: Identity) -> None:
    """Draw the reason why the item cannot be opened, and what to open instead."""
    show_empty_state(_("Cannot open item {number}").format(number=wanted[:_LONGEST]), why)
    item = _named(session, wanted)
    with next_step_row():
        key_button(_("Review next"), "Enter", "review-on", name_in_address, None, type="primary")
        st.page_link(_INBOX, label=_("Open the Inbox"))
        if item is not None and who.has(Role.RESEARCHER):
            run = session.get_one(tables.Run, item.run_id)
            st.page_link(
                _TRAJECTORIES,
                label=_("Open trajectory"),
                query_params={"run": run.name, "id": str(item.trajectory_id)},
            )
    hotkeys({"enter": "review-on"}, item_id=f"address-{wanted[:_LONGEST]}", enabled=True)
