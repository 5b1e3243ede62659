"""Signing in on the page: by name as a reviewer, by the key of the researcher's link as a researcher."""

from __future__ import annotations

import streamlit as st

from console.auth.origin import By, Door
from console.auth.sign_in import COOKIE, PARTICIPANT_COOKIE, Identity, Role, cookie_of, identify, identity_of, secret_of
from console.database import reading
from console.errors import BadInput
from console.studies.sessions import joining
from console.web.widgets.messages import show_problem
from console.web.widgets.sign_in_cookie import delete_cookie, set_cookie


def sign_in_or_stop() -> Identity:
    """The identity at this browser; where there is none, draws the sign-in and stops the page."""
    identity = current_identity()
    key = st.query_params.get("key")
    if identity is None or (key and identity.role is not Role.RESEARCHER):
        _forget_cookie()
        _ask(key)
        st.stop()
    if identity.role is Role.PARTICIPANT:
        return identity
    _keep(identity)
    with st.container(key="ia-who"):
        st.button(f"{identity.name} · sign out", key="sign-out", type="tertiary", on_click=_sign_out)
    return identity


def current_identity() -> Identity | None:
    """The identity of this session, or the one that the browser's cookies prove; a participant's comes last."""
    kept = st.session_state.get("identity")
    if kept:
        return Identity(kept["name"], Role(kept["role"]), kept.get("study_id"))
    if st.session_state.get("signed_out"):
        return None
    identity = identity_of(st.context.cookies.get(COOKIE)) or _participant(
        secret_of(st.context.cookies.get(PARTICIPANT_COOKIE))
    )
    if identity:
        sign_in_tab(identity)
    return identity


def by_browser() -> By:
    """Whoever is signed in at this browser, for the audit log."""
    identity = current_identity()
    address = st.context.ip_address
    # Without a browser, as when a script drives the page, there is no address.
    return By(identity.name if identity else "nobody", Door.BROWSER, address if isinstance(address, str) else "")


def sign_in_tab(identity: Identity) -> None:
    """Makes it the identity of this tab."""
    st.session_state["identity"] = {"name": identity.name, "role": str(identity.role), "study_id": identity.study_id}


def _participant(secret: str | None) -> Identity | None:
    if secret is None:
        return None
    with reading() as session:
        participant = joining.found(session, secret)
        return Identity(participant.code, Role.PARTICIPANT, participant.study_id) if participant else None


def _ask(key: str | None) -> None:
    with st.container(key="ia-sign-in", width=420):
        st.title("InferAct Console")
        if key:
            st.write("You hold the researcher's link: it opens every page. Your name goes beside what you do.")
        else:
            st.write(
                "Agents stop here before they do something that cannot be undone, and wait for a person. "
                "Your name goes beside your decisions."
            )
        with st.form("sign-in", border=False):
            st.text_input("Your name", key="name", max_chars=60, placeholder="e.g. Ada", autocomplete="nickname")
            st.form_submit_button("Start", type="primary", width="stretch", on_click=_sign_in, args=(key,))
        if refusal := st.session_state.pop("sign_in_refusal", None):
            show_problem(refusal)


def _sign_in(key: str | None) -> None:
    try:
        identity = identify(st.session_state["name"], key)
    except BadInput as refusal:
        st.session_state["sign_in_refusal"] = str(refusal)
        return
    sign_in_tab(identity)
    st.session_state["signed_out"] = False
    st.session_state["cookie_due"] = True
    st.query_params.pop("key", None)


def _sign_out() -> None:
    st.session_state.pop("identity", None)
    st.session_state["signed_out"] = True
    st.session_state["cookie_gone"] = True


def _keep(identity: Identity) -> None:
    if st.session_state.get("cookie_due"):
        set_cookie(COOKIE, cookie_of(identity))


def _forget_cookie() -> None:
    if st.session_state.get("cookie_gone"):
        delete_cookie(COOKIE)
