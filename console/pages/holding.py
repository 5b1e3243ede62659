"""Whose item it is that a button of a page of review was drawn for, and whether anything may still be done to it."""

from __future__ import annotations

import streamlit as st
from sqlmodel import Session

from console.auth.sign_in import Identity, Role
from console.errors import Refused
from console.review import decisions
from console.studies.sessions import joining, steps
from storage import tables
from storage.queue import Claim


def held(session: Session, item: int, hat: Identity) -> tuple[Claim, tables.Run]:
    """The hat's claim and its run; a participant's item is theirs alone, whatever others are called.

    Raises Unknown and Refused.
    """
    if hat.role is Role.PARTICIPANT:
        claim = steps.own_claim(session, _participant(session), item)
        return claim, session.get_one(tables.Run, claim.run_id)
    claim = decisions.claim_of(session, item, hat.name)
    run = session.get_one(tables.Run, claim.run_id)
    if run.study_id is not None:
        raise Refused(f"{hat.name} has not claimed item {item}; claim it first.")
    return claim, run


def changeable(session: Session, item: int, hat: Identity) -> tuple[Claim, tables.Run]:
    """The same, for what changes something: raises Refused, too, where a study does not go on by now."""
    if hat.role is Role.PARTICIPANT:
        steps.refuse_late(session, _participant(session))
    return held(session, item, hat)


def _participant(session: Session) -> tables.Participant:
    """Who has this tab, found by their secret: a code can have been somebody else's before."""
    found = joining.found(session, st.session_state.get("me") or "")
    if found is None:
        raise Refused("You have withdrawn from the study meanwhile, so nothing of this was recorded.")
    return found
