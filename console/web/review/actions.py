"""The actions behind the buttons of a review page; each carries the id of its item, which must be one's own."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from console.auth.identity import Identity
from console.auth.origin import acting
from console.database import Session, now_ms, reading, review_queue, writing
from console.errors import ConsoleError, Refused
from console.language import _
from console.review import decisions, inbox, notes
from console.review.consequences import consequence
from console.review.edits import OtherTool
from console.review.long_texts import is_clipped, seen_digest
from console.review.presentation import Presentation
from console.review.reasons import words_to_agent
from console.review.remedies import remedy_of
from console.trajectory.checkpoints import digest
from console.trials import replay
from console.web.review import drafts
from console.web.review.own_items import (
    alias,
    by_reviewer,
    in_words,
    named,
    own_claim,
    own_open_claim,
    refuse,
    refuse_nobody,
    reviewed_runs,
)
from console.web.sign_in import by_browser, current_identity
from console.web.widgets.edit_change import change_html
from console.web.widgets.messages import done_html, problem_html, show_problem
from console.web.widgets.whole_texts import opened_texts
from storage import tables
from storage.errors import NotYours, StorageError
from storage.queue import Claim, DecisionRow, KeptDraft, NoClaim
from storage.tables import DecisionKind, RunKind


def earlier_claim(session: Session, reviewer: str) -> Claim | None:
    """The reviewer's own earlier item that this tab looks back at, or None."""
    item_id = st.session_state.get("looking_back")
    if item_id is None:
        return None
    claim = decisions.claim_of(session, item_id, reviewer)
    return claim if claim.run_id in reviewed_runs() else None


def mark_shown(item_id: int, presentation: Presentation, draft: KeptDraft | None = None) -> None:
    """Remembers what this tab shows of the item, and since when: an answer before that is not to this item.

    An edit that was begun is open again; what was typed for the item before stays with that one.
    """
    whole = shows_whole_action(item_id, presentation.action)
    text = seen_digest(presentation, opened_texts(presentation), action_whole=whole)
    st.session_state["seen"] = decisions.Seen(text, digest(presentation.action), whole)
    if st.session_state.get("shown_item") != item_id:
        drafts.keep_what_was_typed(item_id)
        st.session_state["shown_item"] = item_id
        st.session_state["shown_ms"] = now_ms()
        st.session_state["editing"] = item_id if draft and draft.edit else None
        st.session_state.pop("edit_as_text", None)


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


def answer_html(answer: tables.Decision, claim: Claim | None = None) -> str:
    """What the reviewer answered to the item that this tab looks back at, as HTML."""
    said = words_to_agent(answer)
    given = _(answer.decision)
    if said:
        given = _("{answer} “{words}”").format(answer=given, words=said)
    told = _("Your answer to {item}: {answer} (it is handed over).")
    if not answer.delivered_ms:
        told = _("Your answer to {item}: {answer} (can still be taken back).")
    changed = (
        change_html(decisions.pending_action(claim), answer.edited_action) if answer.edited_action and claim else ""
    )
    return done_html(told.format(item=named(answer.item_id), answer=given)) + changed


def show_kept_words() -> None:
    """Says with which item words wait that went while they were typed, and opens it again."""
    item = st.session_state.get("kept_words")
    if item is not None:
        show_problem(_("Your words on {item} were not sent; they wait with it.").format(item=named(item)))
        st.button(_("Open it again"), key=f"again-{alias(item)}", on_click=open_again, args=(item,))


@in_words
def decide(
    item: int,
    decision: str,
    label: str | None = None,
    *,
    note: str = "",
    addressee: str = "",
    remedy: str | None = None,
) -> None:
    """Records the answer to that very item, with the reasons, words and other action that were given for it."""
    words = st.session_state.get(drafts.words_key(item)) or ""
    if words:
        # Whatever fails from here on, the page may go on without the field that they stand in.
        st.session_state.setdefault("unsent", {})[item] = words
    identity = current_identity()
    if identity is None:
        refuse_nobody()
        return
    here = st.session_state.get("shown_item") == item
    try:
        with reading() as session:
            claim, run = own_open_claim(session, item, identity)
        answer = _answer(claim, decision, words, label, note, addressee, remedy)
        row = decisions.submit(
            review_queue(),
            run,
            claim,
            identity.name,
            answer,
            now_ms(),
            shown_ms=st.session_state.get("shown_ms") if here else now_ms(),
            submit_key=claim.token,
            seen=st.session_state.get("seen") if here else None,
            roles=frozenset(map(str, identity.roles)),
        )
        _say_what_came(run, row, decision)
        if run.kind == RunKind.REPLAY and run.study_id is None:
            with acting(by_browser()):
                replay.advance(run.name)
    except (ConsoleError, StorageError) as refusal:
        refuse(refusal)
        if isinstance(refusal, OtherTool):
            st.session_state["other_tool"] = (item, drafts.written(claim))
            st.session_state["refusal"] += " " + _("Press “Send edit” again for that.")
        if words:
            drafts.save_draft(alias(item), words)


def _answer(
    claim: Claim, decision: str, words: str, label: str | None, note: str, addressee: str, remedy: str | None
) -> decisions.Answer:
    """What stands on the page as an answer; raises Refused for an edit whose change was not shown yet."""
    item, instead = claim.item_id, remedy
    if decision == DecisionKind.EDIT and remedy is None:
        instead = drafts.written(claim)
        if instead != decisions.pending_action(claim) and st.session_state.get("compared") != (item, instead):
            raise Refused(_("Compare what changes, then send it."))
    same_press = instead is not None and st.session_state.get("other_tool") == (item, instead)
    return decisions.Answer(
        decision,
        words,
        instead,
        label,
        allow_other_tool=remedy is not None or same_press,
        reason_codes=tuple(st.session_state.get(drafts.reasons_key(item)) or ()),
        note=note,
        addressee=addressee,
    )


def _say_what_came(run: tables.Run, row: DecisionRow, decision: str) -> None:
    """Keeps for the page that follows what the stored decision comes to, or that another one stood already."""
    st.session_state.get("unsent", {}).pop(row.item_id, None)
    st.session_state["answered_item"] = row.item_id
    if row.decision != decision:
        answered = _("{item} was already answered with {answer}; press U to undo that.")
        st.session_state["refusal"] = answered.format(item=_item_before(row.item_id), answer=_(row.decision))
        return
    with reading() as session:
        came_of_it = consequence(session, run, session.get_one(tables.Decision, row.id))
    st.session_state["done"] = f"{_item_before(row.item_id)}: {came_of_it}"


@by_reviewer
def leave_note(identity: Identity, item: int) -> None:
    """Leaves the note that was written for colleagues."""
    text = st.session_state.get(f"noted-{item}") or ""
    if not text.strip():
        return
    with writing() as session:
        own_claim(session, item, identity)
        notes.add_note(session, item, identity.name, text, now_ms())
    st.session_state["done"] = _("Your note stays with {item}.").format(item=named(item))


@by_reviewer
def open_again(identity: Identity, item: int) -> None:
    """Claims that very item again, with the words that wait with it."""
    st.session_state["kept_words"] = None
    with reading() as session:
        wanted = session.get_one(tables.Item, item)
        if wanted.run_id not in reviewed_runs():
            raise Refused(_("{item} is not one of this page's run.").format(item=_begun(named(item))))
        run = session.get_one(tables.Run, wanted.run_id)
        claim = decisions.open_item(review_queue(), session, run, item, identity.name, now_ms())
    if isinstance(claim, NoClaim):
        told = _("{item} cannot be opened: {why}")
        raise Refused(told.format(item=_begun(named(item)), why=inbox.why_not_that(claim)))
    st.session_state["opened_item"] = item


@by_reviewer
def decide_remedy(identity: Identity, item: int, number: int) -> None:
    """Sends the item back with that one of the agent's own remedies, which may well call another tool."""
    with reading() as session:
        claim, _run = own_open_claim(session, item, identity)
    decide(item, DecisionKind.EDIT, remedy=remedy_of(claim, number))


@by_reviewer
def skip(identity: Identity, item: int) -> None:
    """Puts the item back into the queue."""
    with reading() as session:
        claim, _run = own_open_claim(session, item, identity)
    review_queue().skip(item_id=item, reviewer=identity.name, token=claim.token, now_ms=now_ms())
    done = _("{item} goes back to the queue; it comes last for you.")
    st.session_state["done"] = done.format(item=_item_before(item))


@by_reviewer
def undo(identity: Identity, current: int | None) -> None:
    """Takes the reviewer's latest answer back and puts the current item into the queue again."""
    if not reviewed_runs():
        return
    with reading() as session:
        reviewed = [session.get_one(tables.Run, run_id) for run_id in reviewed_runs()]
        latest = [last for run in reviewed if (last := decisions.last_decision(session, run, identity.name))]
    if not latest:
        st.session_state["refusal"] = _("You have no decision here that could still be taken back.")
    else:
        take_back(max(latest, key=lambda row: row.id or 0).item_id, current)


@by_reviewer
def take_back(identity: Identity, item: int, current: int | None) -> None:
    """Takes the answer to that item back."""
    queue = review_queue()
    with reading() as session:
        claim, run = own_open_claim(session, item, identity)
        answer = decisions.last_answer(session, item, identity.name)
        now = decisions.claim_of(session, current, identity.name) if current and current != item else None
    queue.undo(item_id=item, reviewer=identity.name, now_ms=now_ms(), lease_ms=run.lease_ms)
    if answer and answer.edited_action:
        drafts.keep_sent_edit(claim, answer.edited_action)
        st.session_state["editing"] = item
        st.session_state.pop("edit_as_text", None)
    if now:
        # Another tab can have put it down already.
        with suppress(NotYours):
            queue.release(item_id=now.item_id, reviewer=identity.name, token=now.token, now_ms=now_ms())
    st.session_state["looking_back"] = st.session_state["answered_item"] = None
    st.session_state["done"] = _("Taken back: {item} waits for your answer again.").format(item=named(item))


@in_words
def browse_answers(item: int, step: int) -> None:
    """Moves through one's own answered items, the latest first; past the latest lies the queue."""
    identity = current_identity()
    if identity is None or not reviewed_runs():
        return
    with reading() as session:
        answered = inbox.my_items(session, reviewed_runs(), identity.name)
    position = (answered.index(item) if item in answered else -1) + step
    if position >= len(answered):
        st.session_state["refusal"] = _("There is no earlier answer of yours here.")
        return
    st.session_state["looking_back"] = answered[position] if position >= 0 else None


def edit(item: int | None) -> None:
    """Opens the field for another action, or closes it; says why where the pending one was not shown whole."""
    seen = st.session_state.get("seen")
    if item is not None and seen is not None and not seen.action_whole:
        st.session_state["refusal"] = _(decisions.NOT_WHOLE)
        return
    st.session_state["editing"] = item


def cancel_edit(item: int) -> None:
    """Closes the fields for another action and lets go what was written in them."""
    for key in drafts.drafted_fields(item):
        del st.session_state[key]
    st.session_state["editing"] = None
    drafts.keep(item, edit="")


def edit_as_text(item: int, as_text: bool) -> None:
    """Goes on with the edit as one text, or with a field for each argument."""
    compared = st.session_state.get("compared")
    for key in drafts.drafted_fields(item):
        del st.session_state[key]
    st.session_state["edit_as_text"] = item if as_text else None
    if as_text and compared and compared[0] == item:
        st.session_state[drafts.text_key(item)] = compared[1]


def _item_before(item: int) -> str:
    return _begun(named(item, here=False))


def _begun(words: str) -> str:
    """The words as they begin a sentence."""
    return words[:1].upper() + words[1:]
