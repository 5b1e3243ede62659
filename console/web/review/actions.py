"""The actions behind the buttons of a review page; each takes the id of an item that the reviewer must have claimed."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from console.auth.audit_log import acting
from console.auth.people import Identity, Role
from console.database import Session, now_ms, reading, review_queue, writing
from console.errors import ConsoleError, Refused
from console.language import _, quoted
from console.review import access, decision_details, decisions, inbox
from console.review.blinding import get_remedy
from console.review.edits import OtherTool
from console.review.plain_text import digest_shown_text, is_clipped
from console.review.presentation import Presentation
from console.review.resolution import describe_consequence, feedback_to_agent
from console.trajectory.checkpoints import digest
from console.trials import replay
from console.web.review import drafts
from console.web.review.own_items import (
    alias,
    by_reviewer,
    get_open_claim,
    in_words,
    list_reviewed_runs,
    list_undoable_decisions,
    name_item,
    own_claim,
    refuse,
    refuse_ended_session,
)
from console.web.review.step_marks import add_marks_and_answers
from console.web.sign_in import by_browser, current_identity
from console.web.widgets import boundary
from console.web.widgets.changes import change_html
from console.web.widgets.markup import show_html
from console.web.widgets.messages import done_html, problem_html, refusal_words, show_problem
from console.web.widgets.status import undo_timer_html
from console.web.widgets.tables import capitalize
from console.web.widgets.whole_texts import list_opened_texts
from storage import tables
from storage.errors import AlreadyDelivered, NotYours, StorageError
from storage.queue import Claim, DecisionRow, KeptDraft, NoClaim
from storage.tables import DecisionKind, RunKind


def earlier_claim(session: Session, reviewer: str) -> Claim | None:
    """Return the reviewer's earlier item that this tab shows, or None."""
    item_id = st.session_state.get("looking_back")
    if item_id is None:
        return None
    claim = decisions.get_claim(session, item_id, reviewer)
    return claim if claim.run_id in list_reviewed_runs() else None


def mark_shown(item_id: int, presentation: Presentation) -> None:
    """Record the shown content of the item and the time, so that an earlier key press cannot decide the item.

    If the item is new in this tab, save the previous item's feedback as a draft.
    """
    whole = is_action_shown_whole(item_id, presentation.action)
    text = digest_shown_text(presentation, list_opened_texts(presentation), action_whole=whole)
    st.session_state["seen"] = decisions.ShownRecord(text, digest(presentation.action), whole)
    if st.session_state.get("shown_item") != item_id:
        drafts.save_previous_feedback(item_id)
        st.session_state["shown_item"] = item_id
        st.session_state["shown_ms"] = now_ms()


def open_draft(item_id: int, draft: KeptDraft) -> None:
    """Open the drafted edit of an item that is new in this tab, or close the edit of the previous item."""
    if st.session_state.get("shown_item") != item_id:
        st.session_state["editing"] = item_id if drafts.has_edit(draft) else None
        st.session_state.pop("edit_as_text", None)


def mark_partly_shown(item_id: int, action: str) -> None:
    """Record that the tab shows the item and its whole action, but that the rest of the page failed."""
    st.session_state["seen"] = decisions.ShownRecord(f"part:{digest(action)}", digest(action))
    if st.session_state.get("shown_item") != item_id:
        st.session_state["shown_item"], st.session_state["shown_ms"] = item_id, now_ms()
        st.session_state["editing"] = None


def is_action_shown_whole(item_id: int, action: str) -> bool:
    """Return whether this tab shows the item's pending action in full."""
    return not is_clipped(action) or st.session_state.get("whole_action") == (item_id, digest(action))


def show_whole_action(item_id: int, action: str) -> None:
    """Show the item's pending action in full from now on."""
    st.session_state["whole_action"] = (item_id, digest(action))


def show_flash() -> None:
    """Draw the result of the last button press, then delete the result."""
    if message := flash_html():
        show_html(message)


def flash_html() -> str:
    """Return the result of the last button press as HTML and delete it; return an empty text if there is none."""
    done, refusal = st.session_state.pop("done", None), st.session_state.pop("refusal", None)
    until_ms = st.session_state.pop("undo_until_ms", 0)
    st.session_state["messages"] = st.session_state.get("messages", 0) + bool(done or refusal)
    if refusal:
        return problem_html(refusal)
    return done_html(done, undo_timer_html(until_ms - now_ms())) if done else ""


def decision_html(answer: tables.Decision, claim: Claim) -> str:
    """Return the reviewer's decision on the earlier item, its consequence and whether it can be undone, as HTML."""
    with reading() as session:
        item = session.get_one(tables.Item, answer.item_id)
        came_of_it = describe_consequence(session, session.get_one(tables.Run, item.run_id), answer)
    told = _("Your decision on {item}: {consequence}").format(item=name_item(answer.item_id), consequence=came_of_it)
    said = _("Your feedback: {words}").format(words=quoted(words)) if (words := feedback_to_agent(answer)) else ""
    final = explain_final(answer.item_id) or _("You can still undo this decision.")
    changed = change_html(decisions.pending_action(claim), answer.edited_action) if answer.edited_action else ""
    return done_html(" ".join(filter(None, (told, said, final)))) + changed


def explain_final(item: int) -> str:
    """Explain in a sentence why the reviewer cannot undo the decision on this item; return "" if undo is possible."""
    who = current_identity()
    with reading() as session:
        answer = decisions.find_decision_on_item(session, item, who.name) if who else None
        if answer is not None and answer.delivered_ms:
            return refusal_words(AlreadyDelivered())
        return inbox.explain_gone_item(session, item)


def show_gone_item(current: int | None) -> None:
    """Draw a message and the draft if the item of this tab left the queue without the reviewer's decision."""
    item, identity = st.session_state.get("shown_item"), current_identity()
    if identity is None or item in (None, current, st.session_state.get("answered_item")):
        return
    with reading() as session:
        told = inbox.explain_gone_item(session, item)
    if not told:
        return
    st.session_state["kept_words"] = None
    show_problem(f"{capitalize(name_item(item))}: {told}")
    draft = review_queue().draft(item_id=item, reviewer=identity.name)
    if draft and (text := "\n".join(filter(None, (draft.text, drafts.edit_text(draft))))):
        st.caption(_("Your draft:"))
        st.code(text, language=None, wrap_lines=True)


def show_unsent_feedback() -> None:
    """Draw the name of the item with unsent feedback, if any, and a button that reopens the item."""
    item = st.session_state.get("kept_words")
    if item is not None:
        show_problem(
            _("Your feedback on {item} was not sent. Your feedback is saved with the item.").format(
                item=name_item(item)
            )
        )
        reopen_button(item)


def reopen_button(item: int) -> None:
    """Draw the button that reopens the item."""
    st.button(_("Reopen item"), key=f"again-{alias(item)}", on_click=reopen_item, args=(item,))


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
    """Record the decision on this item with its reasons, feedback and edit."""
    words = st.session_state.get(drafts.words_key(item)) or ""
    if words:
        # Keep the feedback: after a failure, the page may have no field for it.
        st.session_state.setdefault("unsent", {})[item] = words
    identity = current_identity()
    if identity is None:
        refuse_ended_session()
        return
    here = st.session_state.get("shown_item") == item
    try:
        with reading() as session:
            claim, run = get_open_claim(session, item, identity)
        answer = _answer(claim, decision, words, label, note, addressee, remedy)
        answer = add_marks_and_answers(answer, run, item, identity.name)
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
        _store_consequence(run, row, decision)
        if run.kind == RunKind.REPLAY and run.study_id is None:
            with acting(by_browser()):
                replay.advance(run.name)
    except (ConsoleError, StorageError) as refusal:
        refuse(refusal)
        if isinstance(refusal, OtherTool):
            st.session_state["other_tool"] = (item, drafts.read_written_edit(claim))
            st.session_state["refusal"] += " " + _("Press “Send edit” again to confirm.")
        if decision == DecisionKind.EDIT and remedy is None and st.session_state.get("editing") == item:
            _return_to_edit(claim)
        if words:
            drafts.save_draft(alias(item), drafts.words_key(item), words)


def _return_to_edit(claim: Claim) -> None:
    """Show the refusal beside the button, and focus the field in error, or the field that had the focus."""
    st.session_state["edit_refusal"] = st.session_state.pop("refusal")
    st.session_state["messages"] = st.session_state.get("messages", 0) + 1
    st.session_state["edit_refused"] = (claim.item_id, drafts.find_field_in_error(claim))


def _answer(
    claim: Claim, decision: str, words: str, label: str | None, note: str, addressee: str, remedy: str | None
) -> decisions.ReviewDecision:
    """Return the decision with the page's inputs; raise Refused if an edit's changes were not shown yet."""
    item, instead = claim.item_id, remedy
    if decision == DecisionKind.EDIT and remedy is None:
        instead = drafts.read_written_edit(claim)
        if instead != decisions.pending_action(claim) and st.session_state.get("compared") != (item, instead):
            raise Refused(_("Check the changes, then press “Send edit” again."))
    same_press = instead is not None and st.session_state.get("other_tool") == (item, instead)
    return decisions.ReviewDecision(
        decision,
        words,
        instead,
        label,
        allow_other_tool=remedy is not None or same_press,
        reason_codes=tuple(st.session_state.get(drafts.reasons_key(item)) or ()),
        note=note,
        addressee=addressee,
    )


def _store_consequence(run: tables.Run, row: DecisionRow, decision: str) -> None:
    """Store a message for the next run of the page: the decision's consequence, or that an earlier decision exists."""
    st.session_state.get("unsent", {}).pop(row.item_id, None)
    st.session_state["answered_item"] = row.item_id
    try:
        with reading() as session:
            came_of_it = describe_consequence(session, run, session.get_one(tables.Decision, row.id))
    except Exception:
        boundary.log_failure(boundary.MESSAGES)
        came_of_it = _("Your decision is recorded.")
    item = name_item(row.item_id, here=False)
    if row.decision != decision:
        answered = _("You have already decided on {item}: {consequence} To change it, choose “Undo” first.")
        st.session_state["refusal"] = answered.format(item=item, consequence=came_of_it)
        return
    st.session_state["done"] = f"{capitalize(item)}: {came_of_it}"
    if run.kind == RunKind.GATE:
        # The agents of other runs get the decision with the next trial, which may start later.
        st.session_state["undo_until_ms"] = row.deliverable_ms


@by_reviewer
def add_note(identity: Identity, item: int) -> None:
    """Save the note for colleagues."""
    text = st.session_state.get(f"noted-{item}") or ""
    if not text.strip():
        return
    with writing() as session:
        own_claim(session, item, identity)
        decision_details.add_note(session, item, identity.name, text, now_ms())
    st.session_state["done"] = _("Your note is saved with {item}.").format(item=name_item(item))


@by_reviewer
def reopen_item(identity: Identity, item: int) -> None:
    """Claim this item again with its saved feedback; raise Refused if the item cannot be claimed."""
    st.session_state["kept_words"] = None
    with reading() as session:
        wanted = session.get_one(tables.Item, item)
        if wanted.run_id not in list_reviewed_runs():
            elsewhere = _("{item} belongs to another run. Select that run and open the item there.")
            raise Refused(elsewhere.format(item=capitalize(name_item(item))))
        run = session.get_one(tables.Run, wanted.run_id)
        claim = decisions.claim_item(review_queue(), session, run, item, identity.name, now_ms())
    if isinstance(claim, NoClaim):
        told = _("Cannot open {item}: {why}")
        raise Refused(told.format(item=name_item(item), why=inbox.explain_unavailable_item(claim)))
    st.session_state["opened_item"] = item


@by_reviewer
def decide_remedy(identity: Identity, item: int, number: int) -> None:
    """Send the agent's alternative with this number as an edit; the alternative may call another tool."""
    with reading() as session:
        claim, _run = get_open_claim(session, item, identity)
    decide(item, DecisionKind.EDIT, remedy=get_remedy(claim, number))


@by_reviewer
def skip(identity: Identity, item: int, minutes: int | None = None) -> None:
    """Skip the item until nothing else is left for this reviewer, or for these minutes."""
    with reading() as session:
        claim, _run = get_open_claim(session, item, identity)
    until_ms = None if minutes is None else now_ms() + minutes * 60_000
    review_queue().skip(item_id=item, reviewer=identity.name, token=claim.token, now_ms=now_ms(), until_ms=until_ms)
    done = _("You skipped {item}. The item comes back after your other items.")
    if minutes is not None:
        done = _("You skipped {item} for {minutes} min.")
    st.session_state["done"] = done.format(item=name_item(item, here=False), minutes=minutes)


@by_reviewer
def assign_item(identity: Identity, item: int, reviewer: str | None) -> None:
    """Assign the item to this person, or to any reviewer if it is None, and release the researcher's own claim."""
    if not identity.has(Role.RESEARCHER):
        raise Refused(_("Only researchers assign items. Ask a researcher."))
    with reading() as session:
        claim, _run = get_open_claim(session, item, identity)
    with acting(by_browser()), writing() as session:
        access.assign_item(session, item, reviewer, identity.name, now_ms())
    if reviewer != identity.name:
        review_queue().release(item_id=item, reviewer=identity.name, token=claim.token, now_ms=now_ms())
    done = _("{item} is assigned to {name}.") if reviewer else _("{item} is open to every reviewer.")
    st.session_state["done"] = capitalize(done.format(item=name_item(item), name=reviewer))


@by_reviewer
def undo(identity: Identity, current: int | None) -> None:
    """Undo the reviewer's latest decision and return the current item to the queue."""
    if latest := list_undoable_decisions():
        undo_decision(max(latest, key=lambda row: row.id or 0).item_id, current)
    else:
        st.session_state["refusal"] = _("You have no decision here that you can still undo.")


@by_reviewer
def undo_decision(identity: Identity, item: int, current: int | None) -> None:
    """Undo the decision on this item and return the current item to the queue."""
    queue = review_queue()
    with reading() as session:
        claim, run = get_open_claim(session, item, identity)
        answer = decisions.find_decision_on_item(session, item, identity.name)
        now = decisions.get_claim(session, current, identity.name) if current and current != item else None
    queue.undo(item_id=item, reviewer=identity.name, now_ms=now_ms(), lease_ms=run.lease_ms)
    if answer and answer.edited_action:
        drafts.save_undone_edit(claim, answer.edited_action)
        st.session_state["editing"] = item
        st.session_state.pop("edit_as_text", None)
    if now:
        # Another tab may have released it already.
        with suppress(NotYours):
            queue.release(item_id=now.item_id, reviewer=identity.name, token=now.token, now_ms=now_ms())
    st.session_state["looking_back"] = st.session_state["answered_item"] = None
    st.session_state["done"] = _("Decision undone: {item} is pending again.").format(item=name_item(item))


@in_words
def browse_decisions(item: int, step: int) -> None:
    """Show the reviewer's next older or newer decision; after the newest decision, return to the queue."""
    identity = current_identity()
    if identity is None or not list_reviewed_runs():
        return
    with reading() as session:
        answered = inbox.list_my_items(session, list_reviewed_runs(), identity.name)
    position = (answered.index(item) if item in answered else -1) + step
    if position >= len(answered):
        st.session_state["refusal"] = _("You have no earlier decisions here.")
        return
    st.session_state["looking_back"] = answered[position] if position >= 0 else None


def edit(item: int | None) -> None:
    """Open the edit form, or close it if `item` is None; open nothing if the pending action was not shown in full."""
    seen = st.session_state.get("seen")
    if item is not None and seen is not None and not seen.action_whole:
        st.session_state["refusal"] = _(decisions.NOT_WHOLE)
        return
    st.session_state["editing"] = item


def cancel_edit(item: int) -> None:
    """Close the edit form and discard its text."""
    for key in drafts.list_drafted_fields(item):
        del st.session_state[key]
    st.session_state["editing"] = None
    drafts.keep(item, edit="")
