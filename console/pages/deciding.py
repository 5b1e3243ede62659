"""What the Review page's buttons do. Every button carries the id of the item that it was drawn for."""

from __future__ import annotations

import streamlit as st
from sqlmodel import Session

from console import inbox, review, runs, trials
from console.critical import CheckpointKind
from console.database import now_ms, reading, review_queue
from console.errors import ConsoleError
from console.pages.hat import current_hat
from console.widgets.hotkeys import hotkeys, key_label
from console.widgets.problem import done_html, problem_html
from storage import tables
from storage.errors import StorageError
from storage.queue import Claim
from storage.tables import DecisionKind, RunKind

RULES = (
    "Say what is wrong and what to do differently, in at most five sentences. "
    "Do not give the answer itself away: no product, page or value that the user did not name."
)
_DONE = {
    DecisionKind.APPROVE: "Approved: the action may run.",
    DecisionKind.REJECT: "Rejected: the action does not run.",
    DecisionKind.EDIT: "Sent back with another action.",
    DecisionKind.RESPOND: "Your words go to the agent.",
    DecisionKind.ESCALATE: "Passed on to another reviewer.",
}


def looking_back_at(session: Session, run: tables.Run, reviewer: str) -> Claim | None:
    """The reviewer's own earlier item that this tab looks back at, or None."""
    item_id = st.session_state.get("looking_back")
    if item_id is None:
        return None
    claim = review.claim_of(session, item_id, reviewer)
    return claim if claim.run_id == run.id else None


def mark_shown(item_id: int) -> None:
    """Remembers when this tab first drew the item: an answer before that, or right at it, is not to this item."""
    if st.session_state.get("shown_item") != item_id:
        st.session_state["shown_item"] = item_id
        st.session_state["shown_ms"] = now_ms()
        st.session_state["editing"] = None


def show_flash() -> None:
    """Says once what the last button did."""
    if said := flash_html():
        st.html(said)


def flash_html() -> str:
    """What the last button did, to be said once, as HTML; empty where there is nothing to say."""
    done, refusal = st.session_state.pop("done", None), st.session_state.pop("refusal", None)
    if refusal:
        return problem_html(refusal)
    return done_html(done) if done else ""


def answer_html(answer: tables.Decision) -> str:
    """What the reviewer answered to the item that this tab looks back at, as HTML."""
    state = "the agent has it" if answer.delivered_ms else "can still be taken back"
    words = f" “{answer.feedback_text}”" if answer.feedback_text else ""
    return done_html(f"Your answer to item {answer.item_id}: {answer.decision}{words} ({state}).")


def bar(claim: Claim, run: tables.Run, draft: str) -> None:
    """The decision bar of a claimed item, with its keys."""
    item = claim.item_id
    halted = claim.kind == CheckpointKind.HALTED
    editing = st.session_state.get("editing") == item
    words = run.feedback_mode != "binary"
    with st.bottom, st.container(key="decision-bar"):
        if editing:
            _edit_field(claim)
        field, buttons = st.columns([5, 7], vertical_alignment="bottom")
        with field:
            if words:
                _words_field(item, draft)
        with buttons:
            _buttons(item, halted=halted, words=words, editing=editing)
    hotkeys(
        _bindings(item, halted=halted),
        item_id=item,
        enabled=st.session_state.get("keys_on", True),
        draft_key=_words_key(item) if words else None,
        on_draft=save_draft,
    )


def back_bar(claim: Claim) -> None:
    """The bar while looking back at one's own earlier answer."""
    item = claim.item_id
    with st.bottom, st.container(key="decision-bar", horizontal=True):
        st.button(key_label("Older", "K"), key=f"previous-{item}", on_click=_look, args=(item, 1))
        st.button(key_label("Newer", "J"), key=f"next-{item}", on_click=_look, args=(item, -1))
        st.button(key_label("Take it back", "U"), key=f"undo-{item}", on_click=_take_back, args=(item, None))
    keys = {"k": f"previous-{item}", "arrowleft": f"previous-{item}", "j": f"next-{item}", "arrowright": f"next-{item}"}
    hotkeys({**keys, "u": f"undo-{item}"}, item_id=f"back-{item}", enabled=st.session_state.get("keys_on", True))


def empty_bar() -> None:
    """The bar when there is no item: only the way back is open."""
    with st.bottom, st.container(key="decision-bar", horizontal=True):
        st.button(key_label("Older", "K"), key="previous-0", on_click=_look, args=(0, 1))
        st.button(key_label("Undo", "U"), key="undo-0", on_click=_undo, args=(None,))
    keys = {"k": "previous-0", "arrowleft": "previous-0", "u": "undo-0"}
    hotkeys(keys, item_id="none", enabled=st.session_state.get("keys_on", True))


def save_draft(item: str, text: str) -> None:
    """Stores what is typed so far; a draft of an item that is decided by now is dropped."""
    hat = current_hat()
    if hat and item.isdigit():
        review_queue().save_draft(item_id=int(item), reviewer=hat.name, text=text, now_ms=now_ms())


def _words_key(item: int) -> str:
    return f"words-{item}"


def _words_field(item: int, draft: str) -> None:
    key = _words_key(item)
    if key not in st.session_state and draft:
        st.session_state[key] = draft
    st.text_area("Words to the agent", key=key, height=74, help=RULES, placeholder=RULES, max_chars=review.MAX_FEEDBACK)


def _edit_field(claim: Claim) -> None:
    key = f"instead-{claim.item_id}"
    if key not in st.session_state:
        st.session_state[key] = review.pending_action(claim)
    st.text_input("Do this instead", key=key)


def _buttons(item: int, *, halted: bool, words: bool, editing: bool) -> None:
    with st.container(horizontal=True, key="decisions"):
        if halted:
            _button("Send words", "Ctrl+Enter", f"submit-{item}", item, DecisionKind.RESPOND, primary=True)
        elif editing:
            _button("Send edit", "Ctrl+Enter", f"submit-{item}", item, DecisionKind.EDIT, primary=True)
            st.button(key_label("Cancel", "E"), key=f"edit-{item}", on_click=_edit, args=(None,))
        else:
            _button("Approve", "A", f"approve-{item}", item, DecisionKind.APPROVE)
            _button("Reject", "X", f"reject-{item}", item, DecisionKind.REJECT)
            st.button(key_label("Edit", "E"), key=f"edit-{item}", on_click=_edit, args=(item,))
        st.button(key_label("Skip", "S"), key=f"skip-{item}", on_click=_skip, args=(item,))
        st.button(key_label("Undo", "U"), key=f"undo-{item}", on_click=_undo, args=(item,))
        with st.popover("More", key=f"more-{item}"):
            _more(item, halted=halted, words=words)


def _more(item: int, *, halted: bool, words: bool) -> None:
    st.button("Escalate to another reviewer", key=f"escalate-{item}", on_click=_decide, args=(item, "escalate"))
    if words and not halted:
        st.caption("Only words, the action does not run:")
        for label in ("aligned", "misaligned"):
            st.button(f"Respond: {label}", key=f"{label}-{item}", on_click=_decide, args=(item, "respond", label))
    st.button(key_label("Look back", "K"), key=f"previous-{item}", on_click=_look, args=(item, 1))
    st.toggle("Keys work", value=st.session_state.get("keys_on", True), key="keys_toggle", on_change=_switch_keys)
    st.caption("A approve · X reject · E edit · Ctrl/Cmd+Enter send · S skip · U undo · K/J or ←/→ look back · Esc")


def _button(words: str, key: str, widget: str, item: int, decision: str, *, primary: bool = False) -> None:
    st.button(
        key_label(words, key),
        key=widget,
        type="primary" if primary else "secondary",
        on_click=_decide,
        args=(item, decision),
    )


def _bindings(item: int, *, halted: bool) -> dict[str, str]:
    keys = {"s": f"skip-{item}", "u": f"undo-{item}", "ctrl+enter": f"submit-{item}", "k": f"previous-{item}"}
    keys |= {"arrowleft": f"previous-{item}", "?": f"more-{item}"}
    if not halted:
        keys |= {"a": f"approve-{item}", "x": f"reject-{item}", "e": f"edit-{item}"}
        if st.session_state.get("editing") != item:
            keys["ctrl+enter"] = f"reject-{item}"
    return keys


def _decide(item: int, decision: str, label: str | None = None) -> None:
    hat = current_hat()
    if hat is None:
        return
    words = st.session_state.get(_words_key(item)) or ""
    answer = review.Answer(decision, words, st.session_state.get(f"instead-{item}"), label)
    shown = st.session_state.get("shown_ms") if st.session_state.get("shown_item") == item else now_ms()
    try:
        with reading() as session:
            claim = review.claim_of(session, item, hat.name)
            run = session.get_one(tables.Run, claim.run_id)
        row = review.submit(
            review_queue(), run, claim, hat.name, answer, now_ms(), shown_ms=shown, submit_key=claim.token
        )
        if row.decision == decision:
            st.session_state["done"] = f"Item {item}: {_DONE[DecisionKind(decision)]}"
        else:
            st.session_state["refusal"] = f"Item {item} was already answered with {row.decision}; press U to undo that."
        if run.kind == RunKind.REPLAY:
            trials.advance(run.name)
    except (ConsoleError, StorageError) as refusal:
        _refuse(refusal)


def _skip(item: int) -> None:
    hat = current_hat()
    try:
        with reading() as session:
            claim = review.claim_of(session, item, hat.name if hat else "")
        review_queue().skip(item_id=item, reviewer=hat.name if hat else "", token=claim.token, now_ms=now_ms())
        st.session_state["done"] = f"Item {item} goes back to the queue; it comes last for you."
    except (ConsoleError, StorageError) as refusal:
        _refuse(refusal)


def _undo(current: int | None) -> None:
    hat, run_name = current_hat(), st.session_state.get("run")
    if hat is None or run_name is None:
        return
    with reading() as session:
        last = review.last_decision(session, runs.get(session, run_name), hat.name)
    if last is None:
        st.session_state["refusal"] = "You have no decision here that could still be taken back."
    else:
        _take_back(last.item_id, current)


def _take_back(item: int, current: int | None) -> None:
    hat = current_hat()
    if hat is None:
        return
    queue = review_queue()
    try:
        with reading() as session:
            run = session.get_one(tables.Run, review.claim_of(session, item, hat.name).run_id)
            held = review.claim_of(session, current, hat.name) if current else None
        queue.undo(item_id=item, reviewer=hat.name, now_ms=now_ms(), lease_ms=run.lease_ms)
        if held:
            queue.release(item_id=held.item_id, reviewer=hat.name, token=held.token, now_ms=now_ms())
        st.session_state["looking_back"] = None
        st.session_state["done"] = f"Taken back: item {item} waits for your answer again."
    except (ConsoleError, StorageError) as refusal:
        _refuse(refusal)


def _look(item: int, step: int) -> None:
    """Moves through one's own answered items, the latest first; past the latest lies the queue."""
    hat, run_name = current_hat(), st.session_state.get("run")
    if hat is None or run_name is None:
        return
    with reading() as session:
        answered = inbox.my_items(session, runs.get(session, run_name), hat.name)
    position = (answered.index(item) if item in answered else -1) + step
    if position >= len(answered):
        st.session_state["refusal"] = "There is no earlier answer of yours in this run."
        return
    st.session_state["looking_back"] = answered[position] if position >= 0 else None


def _edit(item: int | None) -> None:
    st.session_state["editing"] = item


def _switch_keys() -> None:
    st.session_state["keys_on"] = st.session_state["keys_toggle"]


def _refuse(refusal: Exception) -> None:
    st.session_state["refusal"] = str(refusal) or str(type(refusal).__doc__)
