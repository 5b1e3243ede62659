"""Whose an item is: a button acts on its own reviewer's claim alone, and says in words what it is refused."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec

import streamlit as st

from console.auth.identity import Identity, Role
from console.auth.kept_secrets import kept_secret
from console.database import Session
from console.errors import ConsoleError, Refused
from console.language import _, gettext_noop
from console.review import decisions
from console.studies.sessions import joining, presence, steps
from console.web.sign_in import current_identity
from console.web.widgets.messages import refusal_words
from storage import tables
from storage.errors import StorageError
from storage.queue import Claim

P = ParamSpec("P")


def in_words(action: Callable[P, None]) -> Callable[P, None]:
    """The action behind a button, with what it is refused kept for the page that follows."""

    @wraps(action)
    def act(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            action(*args, **kwargs)
        except (ConsoleError, StorageError) as refusal:
            refuse(refusal)

    return act


def by_reviewer(action: Callable[Concatenate[Identity, P], None]) -> Callable[P, None]:
    """The same, told who presses the button; says why where nothing happens since that is nobody any more."""

    def act(*args: P.args, **kwargs: P.kwargs) -> None:
        if identity := current_identity():
            action(identity, *args, **kwargs)
        else:
            refuse_nobody()

    return in_words(act)


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
        raise Refused(decisions.not_claimed(identity.name, item))
    return claim, run


def own_open_claim(session: Session, item: int, identity: Identity) -> tuple[Claim, tables.Run]:
    """The same, for what changes something: raises Refused, too, where a study does not go on by now."""
    if identity.has(Role.PARTICIPANT):
        participant = _participant(session)
        presence.note_signal(participant)
        steps.refuse_late(session, participant)
    return own_claim(session, item, identity)


def _participant(session: Session) -> tables.Participant:
    """The participant of this tab, looked up by their secret: a code can have been somebody else's before."""
    participant = joining.found(session, st.session_state.get("me") or "")
    if participant is None:
        raise Refused(_(_WITHDRAWN))
    return participant


_WITHDRAWN = gettext_noop("You have withdrawn from the study meanwhile, so nothing of this was recorded.")


def set_reviewed_runs(*run_ids: int | None) -> None:
    """Makes these the runs whose answers this tab looks back through and takes back."""
    st.session_state["reviewed_runs"] = [run_id for run_id in run_ids if run_id is not None]


def named(item: int, *, here: bool = True) -> str:
    """The item in words, whether it is still here or gone; its number would only puzzle a participant of a study."""
    identity = current_identity()
    if identity and identity.has(Role.PARTICIPANT):
        return _("this item") if here else _("the item before")
    return _("item {number}").format(number=item)


def alias(item: int) -> str:
    """The item's name in what the browser receives: its number, for participants a keyed digest that tells nothing.

    Numbers follow the order in which items were made, and with it where they come from.
    """
    participant = st.session_state.get("me")
    if not participant or not item:
        return str(item)
    key = kept_secret("item_names").encode()
    name = hmac.new(key, f"{participant} {item}".encode(), "sha256").hexdigest()[:16]
    st.session_state.setdefault("aliases", {})[name] = item
    return name


def item_called(name: str) -> int | None:
    """The item of that alias in this tab, None where it has none."""
    if st.session_state.get("me"):
        item: int | None = st.session_state.get("aliases", {}).get(name)
        return item
    return int(name) if name.isdigit() else None


def refuse_nobody() -> None:
    """Says to whom this tab belonged why the button did nothing."""
    over = _("Your session is over, so nothing of this was recorded.")
    st.session_state["refusal"] = _(_WITHDRAWN) if st.session_state.get("me") else over


def refuse(refusal: Exception) -> None:
    """Keeps why something was refused for the page that follows."""
    st.session_state["refusal"] = refusal_words(refusal)


def reviewed_runs() -> Sequence[int]:
    """The runs whose answers this tab looks back through and takes back."""
    run_ids: Sequence[int] = st.session_state.get("reviewed_runs", ())
    return run_ids
