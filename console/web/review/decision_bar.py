"""The decision bar beneath an item: reasons, the words to the agent, the decisions and their keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from console.database import reading
from console.language import _, digits, gettext_noop
from console.review import decisions
from console.review.consequences import is_judged
from console.review.reasons import code_of, offered_reasons, words_of
from console.review.remedies import remedies
from console.trajectory import Label, from_json
from console.trajectory.checkpoints import CheckpointKind
from console.web.review import actions, colleagues, drafts, edit_form, shortcuts
from console.web.review.drafts import reasons_key, words_key
from console.web.review.hold import watch_hold
from console.web.review.own_items import alias
from console.web.sign_in import current_identity
from console.web.widgets.hotkeys import CTRL_ENTER, hotkeys, key_label
from storage import tables
from storage.queue import Claim, KeptDraft
from storage.tables import DecisionKind, RunKind

RULES = gettext_noop(
    "Say what is wrong and what to do differently, in at most five sentences. "
    "Do not give the answer itself away: no product, page or value that the user did not name."
)

_ASKED = gettext_noop("What is wrong, and what to do differently? Do not give the answer away.")
_LABELS = {Label.ALIGNED: gettext_noop("It would be right"), Label.MISALIGNED: gettext_noop("It would be wrong")}

_MOST_REMEDIES = 9
"""The remedies that have a digit for a key."""


@dataclass(frozen=True, slots=True)
class _Offer:
    """What the bar of one item offers."""

    item: int
    halted: bool
    judged: bool
    whole: bool
    words: bool
    edits: bool
    editing: bool
    escalates: bool
    reasons: tuple[str, ...]
    withheld: Mapping[str, str]

    @property
    def labels(self) -> bool:
        """Whether words alone may be sent, with a label."""
        return self.words and not self.halted and str(DecisionKind.RESPOND) not in self.withheld


def bar(claim: Claim, run: tables.Run, draft: KeptDraft, *, escalates: bool = True, said: str = "") -> None:
    """The decision bar of a claimed item, with its keys; `escalates` where somebody else could take the item.

    A screen reader says `said` once the item has come.
    """
    item, offer = claim.item_id, _offer(claim, run, escalates)
    with st.bottom, st.container(key="decision-bar"):
        for reason in dict.fromkeys(offer.withheld.values()):
            st.text(reason)
        if offer.editing:
            edit_form.edit_form(claim, draft.edit)
            _show_remedies(claim)
        if not offer.whole:
            _show_whole_button(claim)
        field, buttons = st.columns([5, 8], vertical_alignment="bottom")
        with field:
            if offer.words:
                _words_field(item, draft.text, _words_label(run))
            with st.container(horizontal=True, key="bar-foot"):
                _keys(claim, offer, said)
                watch_hold(claim, run.lease_ms)
        with buttons:
            if offer.reasons:
                _reasons(item, offer.reasons, draft.reason_codes, digits=not offer.editing)
            _buttons(offer)


def _offer(claim: Claim, run: tables.Run, escalates: bool) -> _Offer:
    halted = claim.kind == CheckpointKind.HALTED
    return _Offer(
        claim.item_id,
        halted,
        is_judged(run, claim.kind),
        halted or actions.shows_whole_action(claim.item_id, decisions.pending_action(claim)),
        run.feedback_mode != "binary",
        decisions.may_edit(run),
        decisions.may_edit(run) and st.session_state.get("editing") == claim.item_id,
        escalates,
        () if halted else offered_reasons(run, from_json(claim.body).environment),
        _withheld(claim.item_id),
    )


def _withheld(item: int) -> dict[str, str]:
    """The decisions that the item's rule keeps from whoever is here, each with the reason."""
    identity = current_identity()
    if identity is None:
        return {}
    with reading() as session:
        terms = decisions.terms_of(session, item)
    roles = frozenset(map(str, identity.roles))
    found = {str(kind): terms.refusal(kind, identity.name, roles) for kind in DecisionKind}
    return {kind: reason for kind, reason in found.items() if reason is not None}


def _words_label(run: tables.Run) -> str:
    """What the words are, with what becomes of them where no agent reads them."""
    if run.study_id is not None:
        return _("Words to the agent")
    if run.kind == RunKind.ARCHIVE:
        return _("Words to the agent, kept with the record")
    if run.kind == RunKind.REPLAY:
        return _("Words to the agent, kept with the replay")
    return _("Words to the agent")


def _keys(claim: Claim, offer: _Offer, said: str) -> None:
    item = offer.item
    fields = drafts.field_keys(claim) if offer.editing else []
    hotkeys(
        _bindings(offer) | _remedy_keys(claim),
        item_id=alias(item),
        enabled=shortcuts.enabled(),
        draft_keys=[words_key(item)] if offer.words else [],
        field_keys=fields,
        choice_key=reasons_key(item) if offer.reasons else None,
        on_draft=lambda shown, key, text: drafts.save_draft(shown, text, key),
        words_key=words_key(item) if offer.words and not offer.editing else None,
        focus=fields[0] if fields else f"item:{alias(item)}",
        said=said,
    )


def back_bar(claim: Claim) -> None:
    """The bar while looking back at one's own earlier answer."""
    item, name = claim.item_id, alias(claim.item_id)
    with st.bottom, st.container(key="decision-bar", horizontal=True):
        st.button(key_label(_("Older"), "K"), key=f"previous-{name}", on_click=actions.browse_answers, args=(item, 1))
        st.button(key_label(_("Newer"), "J"), key=f"next-{name}", on_click=actions.browse_answers, args=(item, -1))
        st.button(key_label(_("Take it back"), "U"), key=f"undo-{name}", on_click=actions.take_back, args=(item, None))
        shortcuts.help_button(item)
    bound = {"k": f"previous-{name}", "arrowleft": f"previous-{name}", "?": f"keys-{name}"}
    bound |= {"j": f"next-{name}", "arrowright": f"next-{name}", "u": f"undo-{name}"}
    hotkeys(bound, item_id=f"back-{name}", enabled=shortcuts.enabled())


def empty_bar(more: dict[str, str] | None = None) -> None:
    """The bar when there is no item: only the way back is open; `more` are further keys of the page."""
    with st.bottom, st.container(key="decision-bar", horizontal=True):
        st.button(key_label(_("Look back"), "K"), key="previous-0", on_click=actions.browse_answers, args=(0, 1))
        st.button(key_label(_("Undo"), "U"), key="undo-0", on_click=actions.undo, args=(None,))
    bound = {"k": "previous-0", "arrowleft": "previous-0", "u": "undo-0"}
    hotkeys(bound | (more or {}), item_id="none", enabled=shortcuts.enabled())


def _reasons(item: int, offered: tuple[str, ...], drafted: str, *, digits: bool) -> None:
    """The reasons, several of which can be chosen; they come with the next press, and as a draft before."""
    key = reasons_key(item)
    if key not in st.session_state:
        codes = [code_of(words) for words in offered]
        st.session_state[key] = [code for code in drafted.split() if code in codes]
    with st.container(key="reasons-digits" if digits else "reasons-plain"):
        st.pills(
            _("What is wrong"),
            [code_of(words) for words in offered],
            format_func=lambda code: _(words_of(code)),
            selection_mode="multi",
            key=key,
            on_change="ignore",
            label_visibility="collapsed",
        )


def _words_field(item: int, drafted: str, label: str) -> None:
    key = words_key(item)
    words = st.session_state.get("unsent", {}).pop(item, "") or drafted
    if key not in st.session_state and words:
        st.session_state[key] = words
    st.text_area(label, key=key, height=74, help=_(RULES), placeholder=_(_ASKED), max_chars=decisions.MAX_FEEDBACK)


def _show_whole_button(claim: Claim) -> None:
    action = decisions.pending_action(claim)
    st.caption(_(decisions.NOT_WHOLE))
    st.button(
        key_label(_("Show the whole action ({count} characters)").format(count=digits(len(action))), "O"),
        key=f"whole-{alias(claim.item_id)}",
        type="primary",
        on_click=actions.show_whole_action,
        args=(claim.item_id, action),
    )


def _show_remedies(claim: Claim) -> None:
    """Draws a button for each remedy; pressed, it sends the edit."""
    found = remedies(claim)[:_MOST_REMEDIES]
    if not found:
        return
    st.caption(
        _("The agent thought of this itself; press one, or its number, to send it back with that action instead:")
    )
    with st.container(horizontal=True, key="remedies"):
        for number, action in enumerate(found, start=1):
            # In code, since the text is the agent's: as Markdown it could draw anything.
            st.button(
                key_label(_as_code(action), str(number)),
                key=_remedy_key(claim, number),
                on_click=actions.decide_remedy,
                args=(claim.item_id, number),
            )


def _remedy_keys(claim: Claim) -> dict[str, str]:
    """The keys of the remedies, which work while the field is open."""
    if st.session_state.get("editing") != claim.item_id:
        return {}
    return {str(number): _remedy_key(claim, number) for number in range(1, len(remedies(claim)[:_MOST_REMEDIES]) + 1)}


def _remedy_key(claim: Claim, number: int) -> str:
    return f"remedy-{alias(claim.item_id)}-{number}"


def _as_code(action: str) -> str:
    flat = " ".join(action.split()).replace("`", "'")
    return f"`{flat if len(flat) <= 60 else flat[:59] + '…'}`"


def _buttons(offer: _Offer) -> None:
    item, name = offer.item, alias(offer.item)
    with st.container(horizontal=True, key="decisions"):
        if offer.halted:
            words = _("Send words") if offer.words else _("Let it try again")
            _button(words, CTRL_ENTER, f"submit-{name}", item, DecisionKind.RESPOND, primary=True)
        elif offer.editing:
            _button(_("Send edit"), CTRL_ENTER, f"submit-{name}", item, DecisionKind.EDIT, primary=True)
            st.button(key_label(_("Cancel"), "E"), key=f"edit-{name}", on_click=actions.cancel_edit, args=(item,))
        else:
            off = offer.withheld
            approve, reject = (_("Right"), _("Wrong")) if offer.judged else (_("Approve"), _("Reject"))
            _button(approve, "A", f"approve-{name}", item, DecisionKind.APPROVE, disabled="approve" in off)
            _button(reject, "X", f"reject-{name}", item, DecisionKind.REJECT, disabled="reject" in off)
            if offer.edits:
                begin, named = actions.edit, key_label(_("Edit"), "E")
                st.button(named, key=f"edit-{name}", on_click=begin, args=(item,), disabled="edit" in off)
        st.button(key_label(_("Skip"), "S"), key=f"skip-{name}", on_click=actions.skip, args=(item,))
        st.button(key_label(_("Undo"), "U"), key=f"undo-{name}", on_click=actions.undo, args=(item,))
        st.button(key_label(_("Back"), "K"), key=f"previous-{name}", on_click=actions.browse_answers, args=(item, 1))
        if offer.escalates or offer.labels:
            with st.popover(_("More"), key=f"more-{name}"):
                _more(offer)
        shortcuts.help_button(item)


def _more(offer: _Offer) -> None:
    if offer.escalates:
        colleagues.buttons(offer.item)
    if offer.labels:
        st.caption(_("Send the words alone; the action does not run. Would it have been right?"))
        for label, words in _LABELS.items():
            answer = (offer.item, "respond", label)
            st.button(_(words), key=f"{label}-{alias(offer.item)}", on_click=actions.decide, args=answer)


def _button(
    words: str, key: str, widget: str, item: int, decision: str, *, primary: bool = False, disabled: bool = False
) -> None:
    st.button(
        key_label(words, key),
        key=widget,
        type="primary" if primary else "secondary",
        on_click=actions.decide,
        args=(item, decision),
        disabled=disabled,
    )


def _bindings(offer: _Offer) -> dict[str, str]:
    item, name = offer.item, alias(offer.item)
    bound = {"s": f"skip-{name}", "u": f"undo-{name}", "ctrl+enter": f"submit-{name}", "k": f"previous-{name}"}
    bound |= {"arrowleft": f"previous-{name}", "?": f"keys-{name}"}
    if offer.words:
        bound["w"] = words_key(item)
    if not offer.halted:
        of = {"a": DecisionKind.APPROVE, "x": DecisionKind.REJECT, "e": DecisionKind.EDIT}
        if not offer.edits:
            del of["e"]
        bound |= {key: f"{kind}-{name}" for key, kind in of.items() if str(kind) not in offer.withheld}
    if not offer.halted and not offer.editing:
        bound["ctrl+enter"] = f"reject-{name}"
        bound |= {str(n): f"{reasons_key(item)}#{n}" for n in range(1, len(offer.reasons) + 1)}
        if not offer.words or str(DecisionKind.REJECT) in offer.withheld:
            del bound["ctrl+enter"]
    return bound if offer.whole else bound | {"o": f"whole-{name}"}
