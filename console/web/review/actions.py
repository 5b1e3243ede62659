"""The actions behind the buttons of a review page; each carries the id of its item, which must be one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from typing import ParamSpec

import streamlit as st

from console.auth.identity import Identity, Role
from console.auth.origin import acting
from console.database import Session, now_ms, reading, review_queue
from console.errors import ConsoleError, Refused
from console.review import decisions, inbox
from console.review.edits import OtherTool
from console.review.long_texts import is_clipped, seen_digest
from console.review.presentation import Presentation
from console.review.remedies import remedy_of
from console.studies.sessions import joining, steps
from console.trajectory.checkpoints import digest
from console.trials import replay
from console.web.sign_in import by_browser, current_identity
from console.web.widgets.messages import done_html, problem_html
from console.web.widgets.whole_texts import opened_texts
from storage import tables
from storage.errors import NotYours, StorageError
from storage.queue import Claim
from storage.tables import DecisionKind, RunKind

P = ParamSpec("P")


def _in_words(action: Callable[P, None]) -> Callable[P, None]:
    """The action behind a button, with what it is refused kept for the page that follows."""

    @wraps(action)
    def act(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            action(*args, **kwargs)
        except (ConsoleError, StorageError) as refusal:
            _refuse(refusal)

    return act


def show_unsent() -> None:
    """Draws the words that could not be stored, so that they can be copied; they come back once they can be."""
    for words in st.session_state.get("unsent", {}).values():
        st.caption("Your words are kept in this tab:")
        st.code(words, language=None, wrap_lines=True)


def own_claim(session: Session, item: int, identity: Identity) -> tuple[Claim, tables.Run]:
    """The claim of that identity and its run; a participant's item is theirs alone, whatever others are called.

    Raises Unknown and Refused.
    """
    if identity.has(Role.PARTICIPANT):
        claim = steps.own_claim(session, _participant(session), item)
        return claim, session.get_one(tables.Run, claim.run_id)
    claim = decisions.claim_of(session, item, identity.name)
    run = session.get_one(tables.Run, claim.run_id)
    if run.study_id is not None:
        raise Refused(f"{identity.name} has not claimed item {item}; claim it first.")
    return claim, run


def own_open_claim(session: Session, item: int, identity: Identity) -> tuple[Claim, tables.Run]:
    """The same, for what changes something: raises Refused, too, where a study does not go on by now."""
    if identity.has(Role.PARTICIPANT):
        steps.refuse_late(session, _participant(session))
    return own_claim(session, item, identity)


def _participant(session: Session) -> tables.Participant:
    """The participant of this tab, looked up by their secret: a code can have been somebody else's before."""
    participant = joining.found(session, st.session_state.get("me") or "")
    if participant is None:
        raise Refused(_WITHDRAWN)
    return participant


_WITHDRAWN = "You have withdrawn from the study meanwhile, so nothing of this was recorded."
_DONE = {
    DecisionKind.APPROVE: "Approved: the action may run.",
    DecisionKind.REJECT: "Rejected: the action does not run.",
    DecisionKind.EDIT: "Sent back with another action.",
    DecisionKind.RESPOND: "Your words go to the agent.",
    DecisionKind.ESCALATE: "Passed on to another reviewer.",
}


def set_reviewed_runs(*run_ids: int | None) -> None:
    """Makes these the runs whose answers this tab looks back through and takes back."""
    st.session_state["reviewed_runs"] = [run_id for run_id in run_ids if run_id is not None]


def earlier_claim(session: Session, reviewer: str) -> Claim | None:
    """The reviewer's own earlier item that this tab looks back at, or None."""
    item_id = st.session_state.get("looking_back")
    if item_id is None:
        return None
    claim = decisions.claim_of(session, item_id, reviewer)
    return claim if claim.run_id in _reviewed_runs() else None


def mark_shown(item_id: int, presentation: Presentation) -> None:
    """Remembers what this tab shows of the item, and since when: an answer before that is not to this item."""
    whole = shows_whole_action(item_id, presentation.action)
    text = seen_digest(presentation, opened_texts(presentation), action_whole=whole)
    st.session_state["seen"] = decisions.Seen(text, digest(presentation.action), whole)
    if st.session_state.get("shown_item") != item_id:
        st.session_state["shown_item"] = item_id
        st.session_state["shown_ms"] = now_ms()
        st.session_state["editing"] = None


def shows_whole_action(item_id: int, action: str) -> bool:
    """Whether this tab shows all of the item's pending action."""
    return not is_clipped(action) or st.session_state.get("whole_action") == (item_id, digest(action))


def show_whole_action(item_id: int, action: str) -> None:
    """Shows all of the item's pending action from now on."""
    st.session_state["whole_action"] = (item_id, digest(action))


def show_flash() -> None:
    """Shows once what the last button did."""
    if message := flash_html():
        st.html(message)


def flash_html() -> str:
    """What the last button did, to be shown once, as HTML; empty where there is nothing to show."""
    done, refusal = st.session_state.pop("done", None), st.session_state.pop("refusal", None)
    if refusal:
        return problem_html(refusal)
    return done_html(done) if done else ""


def answer_html(answer: tables.Decision) -> str:
    """What the reviewer answered to the item that this tab looks back at, as HTML."""
    state = "the agent has it" if answer.delivered_ms else "can still be taken back"
    words = f" “{answer.feedback_text}”" if answer.feedback_text else ""
    return done_html(f"Your answer to {named(answer.item_id)}: {answer.decision}{words} ({state}).")


def named(item: int, *, here: bool = True) -> str:
    """The item in words, whether it is still here or gone; its number would only puzzle a participant of a study."""
    identity = current_identity()
    if identity and identity.has(Role.PARTICIPANT):
        return "this item" if here else "the item before"
    return f"item {item}"


@_in_words
def save_draft(item: str, text: str) -> None:
    """Stores what is typed so far; a draft of an item that is decided by now is dropped."""
    identity = current_identity()
    if identity is None or not item.isdigit():
        return
    kept = st.session_state.setdefault("unsent", {})
    kept[int(item)] = text
    try:
        with reading() as session:
            own_claim(session, int(item), identity)
    except ConsoleError:
        kept.pop(int(item))
        return
    review_queue().save_draft(item_id=int(item), reviewer=identity.name, text=text, now_ms=now_ms())
    kept.pop(int(item))
    st.session_state["active_ms"] = now_ms()


def words_key(item: int) -> str:
    """The widget key of an item's words to the agent."""
    return f"words-{item}"


@_in_words
def decide(item: int, decision: str, label: str | None = None) -> None:
    """Records the answer to that very item, with the words and the other action that were written for it."""
    words = st.session_state.get(words_key(item)) or ""
    if words:
        # Whatever fails from here on, the page may go on without the field that they stand in.
        st.session_state.setdefault("unsent", {})[item] = words
    identity = current_identity()
    if identity is None:
        _refuse_nobody()
        return
    instead = st.session_state.get(f"instead-{item}")
    confirmed = instead is not None and st.session_state.get("other_tool") == (item, instead)
    answer = decisions.Answer(decision, words, instead, label, allow_other_tool=confirmed)
    seen = st.session_state.get("seen") if st.session_state.get("shown_item") == item else None
    shown = st.session_state.get("shown_ms") if st.session_state.get("shown_item") == item else now_ms()
    try:
        with reading() as session:
            claim, run = own_open_claim(session, item, identity)
        row = decisions.submit(
            review_queue(),
            run,
            claim,
            identity.name,
            answer,
            now_ms(),
            shown_ms=shown,
            submit_key=claim.token,
            seen=seen,
            roles=frozenset(map(str, identity.roles)),
        )
        st.session_state.get("unsent", {}).pop(item, None)
        if row.decision == decision:
            st.session_state["done"] = f"{_item_before(item)}: {_DONE[DecisionKind(decision)]}"
        else:
            answered = f"{_item_before(item)} was already answered with {row.decision}"
            st.session_state["refusal"] = f"{answered}; press U to undo that."
        if run.kind == RunKind.REPLAY and run.study_id is None:
            with acting(by_browser()):
                replay.advance(run.name)
    except (ConsoleError, StorageError) as refusal:
        _refuse(refusal)
        if isinstance(refusal, OtherTool):
            st.session_state["other_tool"] = (item, instead)
            st.session_state["refusal"] += " Press “Send edit” again for that."
        if words:
            save_draft(str(item), words)


@_in_words
def decide_remedy(item: int, number: int) -> None:
    """Sends the item back with that one of the agent's own remedies, which may well call another tool."""
    identity = current_identity()
    if identity is None:
        _refuse_nobody()
        return
    with reading() as session:
        claim, _ = own_open_claim(session, item, identity)
    chosen = remedy_of(claim, number)
    st.session_state[f"instead-{item}"] = chosen
    st.session_state["other_tool"] = (item, chosen)
    decide(item, DecisionKind.EDIT)


@_in_words
def skip(item: int) -> None:
    """Puts the item back into the queue."""
    identity = current_identity()
    if identity is None:
        _refuse_nobody()
        return
    try:
        with reading() as session:
            claim, _ = own_open_claim(session, item, identity)
        review_queue().skip(item_id=item, reviewer=identity.name, token=claim.token, now_ms=now_ms())
        st.session_state["done"] = f"{_item_before(item)} goes back to the queue; it comes last for you."
    except (ConsoleError, StorageError) as refusal:
        _refuse(refusal)


@_in_words
def undo(current: int | None) -> None:
    """Takes the reviewer's latest answer back and puts the current item into the queue again."""
    identity = current_identity()
    if identity is None:
        _refuse_nobody()
    if identity is None or not _reviewed_runs():
        return
    with reading() as session:
        reviewed = [session.get_one(tables.Run, run_id) for run_id in _reviewed_runs()]
        latest = [last for run in reviewed if (last := decisions.last_decision(session, run, identity.name))]
    if not latest:
        st.session_state["refusal"] = "You have no decision here that could still be taken back."
    else:
        take_back(max(latest, key=lambda row: row.id or 0).item_id, current)


@_in_words
def take_back(item: int, current: int | None) -> None:
    """Takes the answer to that item back."""
    identity = current_identity()
    if identity is None:
        _refuse_nobody()
        return
    queue = review_queue()
    try:
        with reading() as session:
            _, run = own_open_claim(session, item, identity)
            now = decisions.claim_of(session, current, identity.name) if current and current != item else None
        queue.undo(item_id=item, reviewer=identity.name, now_ms=now_ms(), lease_ms=run.lease_ms)
        if now:
            # Another tab can have put it down already.
            with suppress(NotYours):
                queue.release(item_id=now.item_id, reviewer=identity.name, token=now.token, now_ms=now_ms())
        st.session_state["looking_back"] = None
        st.session_state["done"] = f"Taken back: {named(item)} waits for your answer again."
    except (ConsoleError, StorageError) as refusal:
        _refuse(refusal)


@_in_words
def browse_answers(item: int, step: int) -> None:
    """Moves through one's own answered items, the latest first; past the latest lies the queue."""
    identity = current_identity()
    if identity is None or not _reviewed_runs():
        return
    with reading() as session:
        answered = inbox.my_items(session, _reviewed_runs(), identity.name)
    position = (answered.index(item) if item in answered else -1) + step
    if position >= len(answered):
        st.session_state["refusal"] = "There is no earlier answer of yours here."
        return
    st.session_state["looking_back"] = answered[position] if position >= 0 else None


def edit(item: int | None) -> None:
    """Opens the field for another action, or closes it; says why where the pending one was not shown whole."""
    seen = st.session_state.get("seen")
    if item is not None and seen is not None and not seen.action_whole:
        st.session_state["refusal"] = decisions.NOT_WHOLE
        return
    st.session_state["editing"] = item


def _refuse_nobody() -> None:
    """Says to whom this tab belonged why the button did nothing."""
    over = "Your session is over, so nothing of this was recorded."
    st.session_state["refusal"] = _WITHDRAWN if st.session_state.get("me") else over


def _refuse(refusal: Exception) -> None:
    st.session_state["refusal"] = str(refusal) or str(type(refusal).__doc__)


def _reviewed_runs() -> Sequence[int]:
    run_ids: Sequence[int] = st.session_state.get("reviewed_runs", ())
    return run_ids


def _item_before(item: int) -> str:
    words = named(item, here=False)
    return words[:1].upper() + words[1:]
