"""The address of an item: the Review page names the item that it shows there, and opens the one that it names.

It stands alone because an address, unlike a button, can name any item, whoever may not see it.
"""

from __future__ import annotations

import streamlit as st

from console.auth.identity import Identity, Role
from console.database import Session, now_ms, review_queue
from console.errors import ConsoleError, Unknown
from console.language import _, gettext_noop
from console.review import decisions
from console.web.run_picker import choose_run
from console.web.widgets.hotkeys import hotkeys, key_label
from console.web.widgets.messages import refusal_words, show_empty_state, what_now
from storage import tables
from storage.errors import StorageError
from storage.queue import Claim, NoClaimReason

_INBOX, _TRAJECTORIES = (f"console/web/pages/{page}.py" for page in ("inbox", "trajectories"))

_LONGEST = 18
"""Digits that a database takes for a number."""


_WHY_NOT = {
    NoClaimReason.BUDGET_SPENT: gettext_noop("The inspection budget of its trial is spent."),
    NoClaimReason.ITEM_TAKEN: gettext_noop("Somebody else holds it; it can be opened once they put it down."),
    NoClaimReason.ITEM_GONE: gettext_noop("It is no longer in the queue: it was answered, or taken out."),
}


def wanted_item(session: Session) -> str | None:
    """The item that the address asks for, its run being this tab's from now on; None where it names what is shown."""
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
    """Opens the item, or the reviewer's own answer to it; returns why not where that cannot be, else nothing."""
    try:
        if _named(session, wanted) is None:
            raise Unknown("review item", wanted[:_LONGEST])
        found = decisions.open_item(review_queue(), session, run, int(wanted), reviewer, now_ms(), settles=False)
    except (ConsoleError, StorageError) as refusal:
        return refusal_words(refusal)
    answered = not isinstance(found, Claim) and found.reason == NoClaimReason.ITEM_REVIEWED_BY_YOU
    if not (answered or isinstance(found, Claim)):
        return _(_WHY_NOT.get(found.reason, str(found.reason)))
    st.session_state["opened_item"], st.session_state["looking_back"] = (
        (None, int(wanted)) if answered else (int(wanted), None)
    )
    st.session_state["item_in_address"] = wanted
    return ""


def opened_claim(session: Session, run: tables.Run, reviewer: str) -> Claim | None:
    """The claim on the item that was opened by its address, as long as it is the reviewer's: others wait for it."""
    item: int | None = st.session_state.get("opened_item")
    if item is None:
        return None
    if decisions.is_held(session, item, reviewer):
        found = decisions.open_item(review_queue(), session, run, item, reviewer, now_ms(), settles=False)
        if isinstance(found, Claim):
            return found
    st.session_state["opened_item"] = None
    return None


def name_in_address(item: int | None) -> None:
    """Makes the address that of the item on the page."""
    named = None if item is None else str(item)
    st.session_state["item_in_address"] = named
    if named is None:
        st.query_params.pop("item", None)
    elif st.query_params.get("item") != named:
        st.query_params["item"] = named


def show_refusal(session: Session, wanted: str, why: str, who: Identity) -> None:
    """Says why the item does not open, and what can be opened instead."""
    show_empty_state(_("Item {number} does not open").format(number=wanted[:_LONGEST]), why)
    item = _named(session, wanted)
    with what_now():
        words = key_label(_("Review what is next"), "Enter")
        st.button(words, key="review-on", type="primary", on_click=name_in_address, args=(None,))
        st.page_link(_INBOX, label=_("See what waits"))
        if item is not None and who.has(Role.RESEARCHER):
            run = session.get_one(tables.Run, item.run_id)
            st.page_link(
                _TRAJECTORIES, label=_("Its trajectory"), query_params={"run": run.name, "id": str(item.trajectory_id)}
            )
    hotkeys({"enter": "review-on"}, item_id=f"address-{wanted[:_LONGEST]}", enabled=True)
