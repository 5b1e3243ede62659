"""The decision bar below an item: reasons, feedback, decisions with their shortcuts, and the remaining claim time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from console.database import now_ms, reading, review_queue
from console.errors import ConsoleError
from console.language import _, digits, gettext_noop
from console.review import decisions
from console.review.access import get_review_terms
from console.review.decision_details import list_reasons, reason_code, reason_text, takes_marks
from console.review.resolution import is_judgement_only
from console.trajectory import Label, from_json
from console.trajectory.checkpoints import CheckpointKind
from console.web.review import actions, colleagues, drafts, edit_form, question_fields, shortcuts, step_marks
from console.web.review.drafts import reasons_key, words_key
from console.web.review.own_items import alias, is_participant, list_undoable_decisions, name_item
from console.web.sign_in import current_identity
from console.web.widgets import boundary
from console.web.widgets.boundary import draw_part
from console.web.widgets.hotkeys import CTRL_ENTER, hotkeys, key_button
from console.web.widgets.markup import plain, show_html
from console.web.widgets.messages import show_problem
from console.web.widgets.status import age
from storage import tables
from storage.errors import StorageError
from storage.queue import Claim, KeptDraft
from storage.tables import DecisionKind, RunKind

_RULES = gettext_noop("Say what is wrong and what to do differently, in at most five sentences.")
_ASKED = gettext_noop("What is wrong, and what should the agent do differently?")
_NO_SOLUTION = gettext_noop(
    "Do not give the solution away: do not name a product, page or value that the user did not name."
)
"""An additional rule of runs whose agents try a task again, so that the feedback does not solve the task."""
_LABELS = {Label.ALIGNED: gettext_noop("Mark as correct"), Label.MISALIGNED: gettext_noop("Mark as incorrect")}


@dataclass(frozen=True, slots=True)
class _Offer:
    item: int
    halted: bool
    judged: bool
    whole: bool
    words: bool
    marks: bool
    edits: bool
    editing: bool
    escalates: bool
    reasons: tuple[str, ...]
    withheld: Mapping[str, str]

    @property
    def labels(self) -> bool:
        """Whether the reviewer can send feedback alone, with a label."""
        return self.words and not self.halted and str(DecisionKind.RESPOND) not in self.withheld


def bar(claim: Claim, run: tables.Run, draft: KeptDraft, *, escalates: bool = True, said: str = "") -> None:
    """Draw the decision bar of a claimed item; `escalates` is true if another reviewer could take the item.

    `said` is the text that a screen reader announces when the item appears.
    """
    item, offer = claim.item_id, _offer(claim, run, escalates)
    with st.bottom, st.container(key="decision-bar"):
        if offer.editing and (refusal := st.session_state.pop("edit_refusal", "")):
            show_problem(refusal)
        for reason in dict.fromkeys(offer.withheld.values()):
            st.text(reason)
        draw_part(boundary.EDIT, lambda: edit_form.show_aside(item, drafts.find_put_aside(item, draft.edit)), None)
        if not offer.whole:
            draw_part(boundary.WHOLE, lambda: _show_whole_button(claim), None)
        field, buttons = st.columns([4, 9], vertical_alignment="bottom")
        with field:
            if offer.words:
                draw_part(boundary.WORDS, lambda: _words_field(item, draft.text, run), None)
            with st.container(horizontal=True, key="bar-foot"):
                draw_part(boundary.SHORTCUTS, lambda: _keys(claim, offer, said), None)
                if offer.marks:
                    step_marks.watch_marks(item, draft.marked_steps)
                watch_claim(claim, run.lease_ms)
        with buttons:
            draw_part(boundary.QUESTIONS, lambda: question_fields.show_questions(item, run, draft.answers), None)
            if offer.reasons:
                plain_digits = not offer.editing
                draw_part(
                    boundary.REASONS,
                    lambda: _reasons(item, offer.reasons, draft.reason_codes, digits=plain_digits),
                    None,
                )
            _buttons(offer)


def _offer(claim: Claim, run: tables.Run, escalates: bool) -> _Offer:
    halted, item, action = claim.kind == CheckpointKind.HALTED, claim.item_id, decisions.pending_action(claim)
    return _Offer(
        item,
        halted,
        draw_part(boundary.TERMS, lambda: _is_judged(run, claim), False),
        halted or draw_part(boundary.WHOLE, lambda: actions.is_action_shown_whole(item, action), False),
        run.feedback_mode != "binary",
        takes_marks(run),
        decisions.can_edit(run),
        decisions.can_edit(run) and st.session_state.get("editing") == item,
        escalates,
        () if halted else draw_part(boundary.REASONS, lambda: list_reasons(run, from_json(claim.body).environment), ()),
        # The service checks the terms of the review again.
        draw_part(boundary.TERMS, lambda: _withheld(item), {}),
    )


def _is_judged(run: tables.Run, claim: Claim) -> bool:
    with reading() as session:
        return is_judgement_only(session, run, claim)


def _withheld(item: int) -> dict[str, str]:
    """Return the decisions that the signed-in reviewer may not make on the item, each with the reason."""
    identity = current_identity()
    if identity is None:
        return {}
    with reading() as session:
        terms = get_review_terms(session, item)
    roles = frozenset(map(str, identity.roles))
    found = {str(kind): terms.refusal(kind, identity.name, roles) for kind in DecisionKind}
    return {kind: reason for kind, reason in found.items() if reason is not None}


def _words_label(run: tables.Run) -> str:
    if run.study_id is None and run.kind == RunKind.ARCHIVE:
        return _("Feedback, saved with the record")
    if run.study_id is None and run.kind == RunKind.REPLAY:
        return _("Feedback, saved with the replay")
    return _("Feedback to the agent")


def _keys(claim: Claim, offer: _Offer, said: str) -> None:
    item = offer.item
    fields = drafts.field_keys(claim) if offer.editing else []
    remedies = edit_form.remedy_keys(claim) if offer.editing else {}
    refused_item, in_error = st.session_state.get("edit_refused", (0, ""))
    # With alternatives, the digits act at once, so no field gets the focus.
    focus = fields[0] if fields and not remedies else f"item:{alias(item)}"
    if fields and refused_item == item:
        focus = in_error or "last-field"
    hotkeys(
        _bindings(offer) | remedies | ({"f": fields[0]} if fields else {}),
        item_id=alias(item),
        enabled=shortcuts.are_enabled(),
        draft_keys=[words_key(item)] if offer.words else [],
        field_keys=dict.fromkeys(fields) | (edit_form.list_unchanged(claim) if fields else {}),
        choice_key=reasons_key(item) if offer.reasons else None,
        on_draft=drafts.save_draft,
        words_key=words_key(item) if offer.words and not offer.editing else None,
        # A new message draws the item again, which then has lost the focus.
        focus=f"{focus}!{st.session_state.get('messages', 0)}",
        said=said,
    )


def back_bar(claim: Claim) -> None:
    """Draw the bar below an item that the reviewer has already decided, with buttons to browse and to undo."""
    item, name = claim.item_id, alias(claim.item_id)
    final, undo = draw_part(boundary.TERMS, lambda: actions.explain_final(item), ""), f"undo-{name}"
    with st.bottom, st.container(key="decision-bar", horizontal=True):
        key_button(_("Older"), "K", f"previous-{name}", actions.browse_decisions, item, 1)
        key_button(_("Newer"), "J", f"next-{name}", actions.browse_decisions, item, -1)
        key_button(_("Undo decision"), "U", undo, actions.undo_decision, item, None, disabled=bool(final), help=final)
        shortcuts.help_button(item, shortcuts.OF_MARKS if is_participant() else ())
    bound = {"k": f"previous-{name}", "arrowleft": f"previous-{name}", "?": f"keys-{name}"}
    bound |= {"j": f"next-{name}", "arrowright": f"next-{name}", "u": f"!{final}" if final else undo}
    focus, on = f"item:{name}", shortcuts.are_enabled()
    draw_part(boundary.SHORTCUTS, lambda: hotkeys(bound, item_id=f"back-{name}", enabled=on, focus=focus), None)


def empty_bar(more: dict[str, str] | None = None) -> None:
    """Draw the bar when no item is shown; `more` holds further shortcuts of the page."""
    with st.bottom, st.container(key="decision-bar", horizontal=True):
        key_button(_("Show earlier decisions"), "K", "previous-0", actions.browse_decisions, 0, 1)
        key_button(_("Undo"), "U", "undo-0", actions.undo, None, disabled=not list_undoable_decisions())
    bound = {"k": "previous-0", "arrowleft": "previous-0", "u": "undo-0"} | (more or {})
    draw_part(boundary.SHORTCUTS, lambda: hotkeys(bound, item_id="none", enabled=shortcuts.are_enabled()), None)


def _reasons(item: int, offered: tuple[str, ...], drafted: str, *, digits: bool) -> None:
    key = reasons_key(item)
    if key not in st.session_state:
        codes = [reason_code(words) for words in offered]
        st.session_state[key] = [code for code in drafted.split() if code in codes]
    with st.container(key="reasons-digits" if digits else "reasons-plain"):
        st.pills(
            _("What is wrong"),
            [reason_code(words) for words in offered],
            format_func=lambda code: _(reason_text(code)),
            selection_mode="multi",
            key=key,
            on_change="ignore",
            label_visibility="collapsed",
        )


def _words_field(item: int, drafted: str, run: tables.Run) -> None:
    key = words_key(item)
    words = st.session_state.get("unsent", {}).pop(item, "") or drafted
    if key not in st.session_state and words:
        st.session_state[key] = words
    retries = run.study_id is not None or run.kind in (RunKind.LIVE, RunKind.REPLAY)
    rules = f"{_(_RULES)} {_(_NO_SOLUTION)}" if retries else _(_RULES)
    st.text_area(
        _words_label(run), key=key, height=74, help=rules, placeholder=_(_ASKED), max_chars=decisions.MAX_FEEDBACK
    )


def _show_whole_button(claim: Claim) -> None:
    action = decisions.pending_action(claim)
    st.caption(_(decisions.NOT_WHOLE))
    words, item = _("Show full action ({count} characters)").format(count=digits(len(action))), claim.item_id
    key_button(words, "O", f"whole-{alias(item)}", actions.show_whole_action, item, action, type="primary")


def _buttons(offer: _Offer) -> None:
    item, name = offer.item, alias(offer.item)
    with st.container(horizontal=True, key="decisions"):
        if offer.halted:
            words = _("Send feedback") if offer.words else _("Retry task")
            key_button(words, CTRL_ENTER, f"submit-{name}", actions.decide, item, DecisionKind.RESPOND, type="primary")
        elif offer.editing:
            words, edit = _("Send edit"), DecisionKind.EDIT
            key_button(words, CTRL_ENTER, f"submit-{name}", actions.decide, item, edit, type="primary")
            key_button(_("Cancel"), "E", f"edit-{name}", actions.cancel_edit, item)
        else:
            off = offer.withheld
            approve, reject = (_("Correct"), _("Incorrect")) if offer.judged else (_("Approve"), _("Reject"))
            for words, key, kind in ((approve, "A", DecisionKind.APPROVE), (reject, "X", DecisionKind.REJECT)):
                key_button(words, key, f"{kind}-{name}", actions.decide, item, kind, disabled=kind in off)
            if offer.edits:
                key_button(_("Edit"), "E", f"edit-{name}", actions.edit, item, disabled="edit" in off)
        key_button(_("Skip"), "S", f"skip-{name}", actions.skip, item)
        key_button(_("Undo"), "U", f"undo-{name}", actions.undo, item)
        key_button(_("Back"), "K", f"previous-{name}", actions.browse_decisions, item, 1)
        if offer.escalates or offer.labels:
            with st.popover(_("More"), key=f"more-{name}"):
                draw_part(boundary.MORE, lambda: _more(offer), None)
        draw_part(boundary.SHORTCUTS, lambda: shortcuts.help_button(item, _absent_keys(offer)), None)


def _absent_keys(offer: _Offer) -> frozenset[str]:
    """Return the shortcuts that the item does not have."""
    has = {
        shortcuts.OF_MARKS: offer.marks,
        shortcuts.OF_EDITS: offer.edits and not offer.halted,
        shortcuts.OF_REASONS: bool(offer.reasons),
        shortcuts.OF_FEEDBACK: offer.words,
    }
    return frozenset[str]().union(*(keys for keys, is_offered in has.items() if not is_offered))


_SKIPS_MIN = (15, 60)


def _more(offer: _Offer) -> None:
    if offer.escalates:
        colleagues.buttons(offer.item)
        for minutes in _SKIPS_MIN:
            words = _("Skip {minutes} min").format(minutes=minutes)
            skipped = (offer.item, minutes)
            st.button(words, key=f"skip{minutes}-{alias(offer.item)}", on_click=actions.skip, args=skipped)
    if offer.labels:
        st.caption(_("These buttons send your feedback without running the action. Is the action correct?"))
        for label, words in _LABELS.items():
            answer = (offer.item, "respond", label)
            st.button(_(words), key=f"{label}-{alias(offer.item)}", on_click=actions.decide, args=answer)


_NO_ACTION = gettext_noop("The agent halted without an action to decide on. Press W to write feedback, or S to skip.")
_RETRY_ONLY = gettext_noop("The agent halted without an action to decide on. Press Ctrl+Enter to retry, or S to skip.")


def _bindings(offer: _Offer) -> dict[str, str]:
    item, name = offer.item, alias(offer.item)
    bound = {"s": f"skip-{name}", "u": f"undo-{name}", "ctrl+enter": f"submit-{name}", "k": f"previous-{name}"}
    bound |= {"arrowleft": f"previous-{name}", "?": f"keys-{name}"}
    if offer.words:
        bound["w"] = words_key(item)
    if offer.marks:
        bound |= step_marks.KEYS
    if not offer.halted:
        of = {"a": DecisionKind.APPROVE, "x": DecisionKind.REJECT, "e": DecisionKind.EDIT}
        if not offer.edits:
            del of["e"]
        bound |= {key: f"{kind}-{name}" for key, kind in of.items() if str(kind) not in offer.withheld}
    if offer.halted:
        bound |= dict.fromkeys("axe", f"!{_(_NO_ACTION if offer.words else _RETRY_ONLY)}")
    if not offer.halted and not offer.editing:
        bound["ctrl+enter"] = f"reject-{name}"
        bound |= {str(n): f"{reasons_key(item)}#{n}" for n in range(1, len(offer.reasons) + 1)}
        if not offer.words or str(DecisionKind.REJECT) in offer.withheld:
            del bound["ctrl+enter"]
    return bound if offer.whole else bound | {"o": f"whole-{name}"}


_EVERY_S = 30
_ACTIVE_MS = 120_000
_MINUTE_MS = 60_000


@st.fragment(run_every=_EVERY_S)
def watch_claim(claim: Claim, lease_ms: int) -> None:
    """Draw the remaining time of the claim; update it every half minute."""
    draw_part(boundary.CLAIM_TIME, lambda: _show_claim_time(claim, lease_ms), None)


def _show_claim_time(claim: Claim, lease_ms: int) -> None:
    left = claim.lease_until_ms - now_ms()
    if left <= lease_ms / 2:
        left = _looked_up(claim, lease_ms)
    alone, minutes = is_participant(), left // _MINUTE_MS
    if left <= 0:
        over = _("Your claim on {item} has expired and the item is pending again. Your feedback is saved with it.")
        over = (
            _("Your claim on this item has expired. Your feedback is saved. Reopen the item to decide.")
            if alone
            else over
        )
        show_problem(over.format(item=name_item(claim.item_id)))
        actions.reopen_button(claim.item_id)
        return
    held = _("claimed by you, claim expires in {time}")
    if alone:
        # Participants share no queue, so "claimed" would mean nothing to them.
        held = _("{time} left for this item") if minutes else _("less than 1 min left for this item")
    elif not minutes:
        held = _("claimed by you, claim expires in under a minute")
    show_html(f'<p class="ia-hold">{plain(held.format(time=age(left)))}</p>')


def _looked_up(claim: Claim, lease_ms: int) -> int:
    """Return the remaining ms of the claim; extend it if the reviewer is active. Return 0 if the claim is lost."""
    identity = current_identity()
    reviewer = identity.name if identity else ""
    try:
        with reading() as session:
            claimed = decisions.get_claim(session, claim.item_id, reviewer)
        until_ms = claimed.lease_until_ms
        active = now_ms() - st.session_state.get("active_ms", 0) < _ACTIVE_MS
        if active and 0 < until_ms - now_ms() < lease_ms / 2:
            until_ms = review_queue().extend(
                item_id=claim.item_id, reviewer=reviewer, token=claimed.token, now_ms=now_ms(), lease_ms=lease_ms
            )
    except (ConsoleError, StorageError):
        return 0
    return until_ms - now_ms()
