"""What the Review page's buttons do. Every button carries the id of the item that it was drawn for."""

from __future__ import annotations

import streamlit as st
from sqlmodel import Session

from console import inbox, review, runs, trials
from console.database import now_ms, reading, review_queue
from console.errors import ConsoleError
from console.pages.hat import current_hat
from console.widgets.problem import done_html, problem_html
from storage import tables
from storage.errors import StorageError
from storage.queue import Claim
from storage.tables import DecisionKind, RunKind

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


def save_draft(item: str, text: str) -> None:
    """Stores what is typed so far; a draft of an item that is decided by now is dropped."""
    hat = current_hat()
    if hat and item.isdigit():
        review_queue().save_draft(item_id=int(item), reviewer=hat.name, text=text, now_ms=now_ms())
        st.session_state["active_ms"] = now_ms()


def words_key(item: int) -> str:
    """The widget key of an item's words to the agent."""
    return f"words-{item}"


def decide(item: int, decision: str, label: str | None = None) -> None:
    """Records the answer to that very item, with the words and the other action that were written for it."""
    hat = current_hat()
    if hat is None:
        return
    words = st.session_state.get(words_key(item)) or ""
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


def skip(item: int) -> None:
    """Puts the item back into the queue."""
    hat = current_hat()
    try:
        with reading() as session:
            claim = review.claim_of(session, item, hat.name if hat else "")
        review_queue().skip(item_id=item, reviewer=hat.name if hat else "", token=claim.token, now_ms=now_ms())
        st.session_state["done"] = f"Item {item} goes back to the queue; it comes last for you."
    except (ConsoleError, StorageError) as refusal:
        _refuse(refusal)


def undo(current: int | None) -> None:
    """Takes the reviewer's latest answer back and puts the current item into the queue again."""
    hat, run_name = current_hat(), st.session_state.get("run")
    if hat is None or run_name is None:
        return
    with reading() as session:
        last = review.last_decision(session, runs.get(session, run_name), hat.name)
    if last is None:
        st.session_state["refusal"] = "You have no decision here that could still be taken back."
    else:
        take_back(last.item_id, current)


def take_back(item: int, current: int | None) -> None:
    """Takes the answer to that item back."""
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


def look(item: int, step: int) -> None:
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


def edit(item: int | None) -> None:
    """Opens the field for another action, or closes it."""
    st.session_state["editing"] = item


def _refuse(refusal: Exception) -> None:
    st.session_state["refusal"] = str(refusal) or str(type(refusal).__doc__)
