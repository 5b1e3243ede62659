"""The decision bar beneath an item: the words to the agent, the decisions, their keys, and the lease on the item."""

from __future__ import annotations

import streamlit as st

from console.database import now_ms, reading, review_queue
from console.errors import ConsoleError
from console.review import decisions
from console.trajectory import Label
from console.trajectory.checkpoints import CheckpointKind
from console.web.review import actions, shortcuts
from console.web.review.actions import named, words_key
from console.web.review.remedies import remedy_keys, show_remedies
from console.web.sign_in import current_identity
from console.web.widgets.hotkeys import hotkeys, key_label
from console.web.widgets.messages import show_problem
from storage import tables
from storage.errors import StorageError
from storage.queue import Claim
from storage.tables import DecisionKind

RULES = (
    "Say what is wrong and what to do differently, in at most five sentences. "
    "Do not give the answer itself away: no product, page or value that the user did not name."
)

_ASKED = "What is wrong, and what to do differently? Do not give the answer away."
_LABELS = {Label.ALIGNED: "It would be right", Label.MISALIGNED: "It would be wrong"}
_LEASE_EVERY_S = 30
_ACTIVE_MS = 120_000


def bar(claim: Claim, run: tables.Run, draft: str, *, escalates: bool = True) -> None:
    """The decision bar of a claimed item, with its keys; `escalates` where somebody else could take the item."""
    item = claim.item_id
    halted = claim.kind == CheckpointKind.HALTED
    editing = st.session_state.get("editing") == item
    whole = halted or actions.shows_whole_action(item, decisions.pending_action(claim))
    words = run.feedback_mode != "binary"
    with st.bottom, st.container(key="decision-bar"):
        if editing:
            _edit_field(claim)
            show_remedies(claim)
        if not whole:
            _show_whole_button(claim)
        field, buttons = st.columns([5, 8], vertical_alignment="bottom")
        with field:
            if words:
                _words_field(item, draft)
            hotkeys(
                _bindings(item, halted=halted, whole=whole) | remedy_keys(claim),
                item_id=item,
                enabled=shortcuts.enabled(),
                draft_key=words_key(item) if words else None,
                on_draft=actions.save_draft,
            )
            _watch_lease(claim, run.lease_ms)
        with buttons:
            _buttons(item, halted=halted, words=words, editing=editing, escalates=escalates)


def back_bar(claim: Claim) -> None:
    """The bar while looking back at one's own earlier answer."""
    item = claim.item_id
    with st.bottom, st.container(key="decision-bar", horizontal=True):
        st.button(key_label("Older", "K"), key=f"previous-{item}", on_click=actions.browse_answers, args=(item, 1))
        st.button(key_label("Newer", "J"), key=f"next-{item}", on_click=actions.browse_answers, args=(item, -1))
        st.button(key_label("Take it back", "U"), key=f"undo-{item}", on_click=actions.take_back, args=(item, None))
        shortcuts.help_button(item)
    bound = {"k": f"previous-{item}", "arrowleft": f"previous-{item}", "?": f"keys-{item}"}
    bound |= {"j": f"next-{item}", "arrowright": f"next-{item}", "u": f"undo-{item}"}
    hotkeys(bound, item_id=f"back-{item}", enabled=shortcuts.enabled())


def empty_bar() -> None:
    """The bar when there is no item: only the way back is open."""
    with st.bottom, st.container(key="decision-bar", horizontal=True):
        st.button(key_label("Look back", "K"), key="previous-0", on_click=actions.browse_answers, args=(0, 1))
        st.button(key_label("Undo", "U"), key="undo-0", on_click=actions.undo, args=(None,))
    bound = {"k": "previous-0", "arrowleft": "previous-0", "u": "undo-0"}
    hotkeys(bound, item_id="none", enabled=shortcuts.enabled())


def _words_field(item: int, draft: str) -> None:
    key = words_key(item)
    words = st.session_state.get("unsent", {}).pop(item, "") or draft
    if key not in st.session_state and words:
        st.session_state[key] = words
    st.text_area(
        "Words to the agent", key=key, height=74, help=RULES, placeholder=_ASKED, max_chars=decisions.MAX_FEEDBACK
    )


def _edit_field(claim: Claim) -> None:
    key = f"instead-{claim.item_id}"
    if key not in st.session_state:
        st.session_state[key] = decisions.pending_action(claim)
    st.text_input("Do this instead", key=key)


def _show_whole_button(claim: Claim) -> None:
    action = decisions.pending_action(claim)
    st.caption(decisions.NOT_WHOLE)
    st.button(
        key_label(f"Show the whole action ({len(action):,} characters)", "W"),
        key=f"whole-{claim.item_id}",
        type="primary",
        on_click=actions.show_whole_action,
        args=(claim.item_id, action),
    )


def _buttons(item: int, *, halted: bool, words: bool, editing: bool, escalates: bool) -> None:
    with st.container(horizontal=True, key="decisions"):
        if halted:
            _button(
                "Send words" if words else "Let it try again",
                "Ctrl+Enter",
                f"submit-{item}",
                item,
                DecisionKind.RESPOND,
                primary=True,
            )
        elif editing:
            _button("Send edit", "Ctrl+Enter", f"submit-{item}", item, DecisionKind.EDIT, primary=True)
            st.button(key_label("Cancel", "E"), key=f"edit-{item}", on_click=actions.edit, args=(None,))
        else:
            _button("Approve", "A", f"approve-{item}", item, DecisionKind.APPROVE)
            _button("Reject", "X", f"reject-{item}", item, DecisionKind.REJECT)
            st.button(key_label("Edit", "E"), key=f"edit-{item}", on_click=actions.edit, args=(item,))
        st.button(key_label("Skip", "S"), key=f"skip-{item}", on_click=actions.skip, args=(item,))
        st.button(key_label("Undo", "U"), key=f"undo-{item}", on_click=actions.undo, args=(item,))
        st.button(key_label("Back", "K"), key=f"previous-{item}", on_click=actions.browse_answers, args=(item, 1))
        if escalates or (words and not halted):
            with st.popover("More", key=f"more-{item}"):
                _more(item, labels=words and not halted, escalates=escalates)
        shortcuts.help_button(item)


def _more(item: int, *, labels: bool, escalates: bool) -> None:
    if escalates:
        answer = (item, "escalate")
        st.button("Escalate to another reviewer", key=f"escalate-{item}", on_click=actions.decide, args=answer)
    if labels:
        st.caption("Send the words alone; the action does not run. Would it have been right?")
        for label, words in _LABELS.items():
            st.button(words, key=f"{label}-{item}", on_click=actions.decide, args=(item, "respond", label))


def _button(words: str, key: str, widget: str, item: int, decision: str, *, primary: bool = False) -> None:
    st.button(
        key_label(words, key),
        key=widget,
        type="primary" if primary else "secondary",
        on_click=actions.decide,
        args=(item, decision),
    )


def _bindings(item: int, *, halted: bool, whole: bool) -> dict[str, str]:
    bound = {"s": f"skip-{item}", "u": f"undo-{item}", "ctrl+enter": f"submit-{item}", "k": f"previous-{item}"}
    bound |= {"arrowleft": f"previous-{item}", "?": f"keys-{item}"}
    if not halted:
        bound |= {"a": f"approve-{item}", "x": f"reject-{item}", "e": f"edit-{item}"}
        if st.session_state.get("editing") != item:
            bound["ctrl+enter"] = f"reject-{item}"
    return bound if whole else bound | {"w": f"whole-{item}"}


@st.fragment(run_every=_LEASE_EVERY_S)
def _watch_lease(claim: Claim, lease_ms: int) -> None:
    """Checks the lease every half minute, extends it while its reviewer writes, draws nothing until it has run out."""
    left = claim.lease_until_ms - now_ms()
    if left > lease_ms / 2:
        return
    identity = current_identity()
    active = now_ms() - st.session_state.get("active_ms", 0) < _ACTIVE_MS
    try:
        with reading() as session:
            claimed = decisions.claim_of(session, claim.item_id, identity.name if identity else "")
        if claimed.lease_until_ms <= now_ms():
            _show_lapsed(claim.item_id)
        elif active and claimed.lease_until_ms - now_ms() < lease_ms / 2:
            review_queue().extend(
                item_id=claim.item_id,
                reviewer=identity.name if identity else "",
                token=claimed.token,
                now_ms=now_ms(),
                lease_ms=lease_ms,
            )
    except (ConsoleError, StorageError):
        _show_lapsed(claim.item_id)


def _show_lapsed(item: int) -> None:
    show_problem(
        f"Your hold on {named(item)} has run out, so the queue has it back. Your words are saved; "
        "reload the page to take it up again."
    )
