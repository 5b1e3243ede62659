"""Ownership of items: a button acts only on an item claimed by its reviewer; a refusal is shown as a sentence."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec

import streamlit as st

from console.auth.kept_secrets import load_secret
from console.auth.people import Identity, Role
from console.database import Session, reading
from console.errors import ConsoleError, Refused
from console.language import _, gettext_noop
from console.review import decisions
from console.studies.sessions import joining, steps
from console.web.sign_in import current_identity
from console.web.widgets.messages import refusal_words
from storage import tables
from storage.errors import StorageError
from storage.queue import Claim

P = ParamSpec("P")


def in_words(action: Callable[P, None]) -> Callable[P, None]:
    """Wrap the action of a button: if the action is refused, store the reason for the next run of the page."""

    @wraps(action)
    def act(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            action(*args, **kwargs)
        except (ConsoleError, StorageError) as refusal:
            refuse(refusal)

    return act


def by_reviewer(action: Callable[Concatenate[Identity, P], None]) -> Callable[P, None]:
    """Like `in_words`, with the signed-in reviewer as first argument; show an error if the session has ended."""

    def act(*args: P.args, **kwargs: P.kwargs) -> None:
        if identity := current_identity():
            action(identity, *args, **kwargs)
        else:
            refuse_ended_session()

    return in_words(act)


def own_claim(session: Session, item: int, identity: Identity) -> tuple[Claim, tables.Run]:
    """Return the identity's claim on the item, and the item's run.

    Raise Unknown or Refused if the identity does not hold the claim. In a study, only participants can hold claims.
    """
    if identity.has(Role.PARTICIPANT):
        claim = steps.find_own_claim(session, _participant(session), item)
        return claim, session.get_one(tables.Run, claim.run_id)
    claim = decisions.get_claim(session, item, identity.name)
    run = session.get_one(tables.Run, claim.run_id)
    if run.study_id is not None:
        raise Refused(decisions.explain_not_claimed(identity.name, item))
    return claim, run


def get_open_claim(session: Session, item: int, identity: Identity) -> tuple[Claim, tables.Run]:
    """Like `own_claim`, for functions that change data: also raise Refused if the study is not running."""
    if identity.has(Role.PARTICIPANT):
        participant = _participant(session)
        steps.note_signal(participant)
        steps.refuse_late(session, participant)
    return own_claim(session, item, identity)


def _participant(session: Session) -> tables.Participant:
    """Return the participant with this tab's secret; raise Refused if there is none.

    Do not look up the participant by code, because the code may have belonged to another person before.
    """
    participant = joining.find_participant(session, st.session_state.get("me") or "")
    if participant is None:
        raise Refused(_(_WITHDRAWN))
    return participant


_WITHDRAWN = gettext_noop("You have withdrawn from the study, so this input was not recorded.")


def set_reviewed_runs(*run_ids: int | None) -> None:
    """Set the runs whose decisions can be shown and undone in this tab."""
    st.session_state["reviewed_runs"] = [run_id for run_id in run_ids if run_id is not None]


def name_item(item: int, *, here: bool = True) -> str:
    """Return the name of the item for a sentence; for a participant, omit the item's number."""
    if is_participant():
        return _("this item") if here else _("the previous item")
    return _("item {number}").format(number=item)


def is_participant() -> bool:
    """Return whether the reviewer of this tab is a participant of a study."""
    identity = current_identity()
    return identity is not None and identity.has(Role.PARTICIPANT)


def alias(item: int) -> str:
    """Return the item's name in the browser: its number, or a keyed digest for participants.

    Item numbers follow the order of creation and would reveal the origin of an item.
    """
    participant = st.session_state.get("me")
    if not participant or not item:
        return str(item)
    key = load_secret("item_names").encode()
    name = hmac.new(key, f"{participant} {item}".encode(), "sha256").hexdigest()[:16]
    st.session_state.setdefault("aliases", {})[name] = item
    return name


def find_item_by_alias(name: str) -> int | None:
    """Return the item with this alias in this tab, or None if the alias is unknown."""
    if st.session_state.get("me"):
        item: int | None = st.session_state.get("aliases", {}).get(name)
        return item
    return int(name) if name.isdigit() else None


def refuse_ended_session() -> None:
    """Store a message for the next run of the page: the session of this tab has ended."""
    over = _("Your session has ended, so nothing was recorded. Sign in again.")
    st.session_state["refusal"] = _(_WITHDRAWN) if st.session_state.get("me") else over


def refuse(refusal: Exception) -> None:
    """Store the reason of a refusal for the next run of the page."""
    st.session_state["refusal"] = refusal_words(refusal)


def list_reviewed_runs() -> Sequence[int]:
    """Return the runs whose decisions can be shown and undone in this tab."""
    run_ids: Sequence[int] = st.session_state.get("reviewed_runs", ())
    return run_ids


def list_undoable_decisions() -> list[tables.Decision]:
    """Return the latest decision of the signed-in reviewer in each reviewed run that the reviewer can still undo."""
    who = current_identity()
    with reading() as session:
        reviewed = (session.get_one(tables.Run, run_id) for run_id in (list_reviewed_runs() if who else ()))
        latest = [decisions.find_undelivered_decision(session, run, who.name if who else "") for run in reviewed]
    return [decision for decision in latest if decision is not None]
