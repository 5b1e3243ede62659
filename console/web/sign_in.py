"""The identity of a visitor, looked up on the server at each run of a page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import streamlit as st

from console.auth import audit_log, invitations, sessions
from console.auth.audit_log import By, Door
from console.auth.people import MAX_NAME, Identity, Role
from console.auth.sessions import outside_id_of, participant_cookie_name, secret_of
from console.database import now_ms, reading, writing
from console.errors import ConsoleError
from console.language import _
from console.studies.sessions import joining
from console.web.widgets.browser import watch_session
from console.web.widgets.messages import show_problem

_Key = tuple[str | None, str | None]
_of_this_run: ContextVar[tuple[_Key, Identity | None] | None] = ContextVar("of_this_run", default=None)


@contextmanager
def provide_identity() -> Iterator[Identity | None]:
    """Look up the identity of this tab once and provide it during a run of the page.

    The action of a button, and a fragment that reruns alone, run outside this context and look up the identity again.
    """
    identity = _looked_up()
    kept = _of_this_run.set((_key(), identity))
    try:
        yield identity
    finally:
        _of_this_run.reset(kept)


def sign_in_or_stop() -> Identity:
    """Return the identity of this tab; if there is none, draw the sign-in page and stop."""
    identity = current_identity()
    if identity is None:
        _stay_out()
        st.stop()
    if identity.has(Role.PARTICIPANT):
        return identity
    watch_session()
    with st.container(key="ia-who", horizontal=True):
        st.button(
            _("{name} · Sign out").format(name=identity.name), key="sign-out", type="tertiary", on_click=_sign_out
        )
    return identity


def current_identity() -> Identity | None:
    """Return this tab's participant or person, else the participant of the browser's cookie, else None.

    The tab or the cookie holds a token. The token is looked up in the database once per run of the page.
    """
    kept = _of_this_run.get()
    return kept[1] if kept is not None and kept[0] == _key() else _looked_up()


def _key() -> _Key:
    """Return the tokens of this tab. The cookie is omitted because it cannot change during a run of the page."""
    return st.session_state.get("me"), st.session_state.get("session")


def _looked_up() -> Identity | None:
    secret = st.session_state.get("me")
    if secret:
        return _participant(secret)
    with reading() as session:
        identity = sessions.identity_of(session, session_token(), now_ms())
    return identity or _participant(participant_secret())


def by_browser() -> By:
    """Return the signed-in person and the address of this browser, for the audit log."""
    identity = current_identity()
    address = st.context.ip_address
    # A page driven by a script has no address.
    return By(identity.name if identity else "nobody", Door.BROWSER, address if isinstance(address, str) else "")


def session_token() -> str | None:
    """Return the token of the person's session from this tab or the cookie, or None.

    Under `streamlit run` no route can set a cookie, so the token is stored in the tab.
    """
    token: str | None = st.session_state.get("session")
    return token or _cookie(sessions.cookie_name(_port()))


def participant_secret() -> str | None:
    """Return the participant's secret in this tab or browser, or None; the secret may be invalid."""
    kept: str | None = st.session_state.get("me")
    return kept or secret_of(_cookie(participant_cookie_name(_port())))


def participant_outside_id() -> str:
    """Return the participant's id on the recruiting platform in this browser, or an empty string."""
    return outside_id_of(_cookie(participant_cookie_name(_port())))


def _cookie(name: str) -> str | None:
    value = st.context.cookies.get(name)
    # Without a browser, Streamlit returns a placeholder object.
    return value if isinstance(value, str) else None


def _port() -> int:
    return int(st.get_option("server.port"))


def _participant(secret: str | None) -> Identity | None:
    if secret is None:
        return None
    with reading() as session:
        participant = joining.find_participant(session, secret)
        if participant is None:
            return None
        return Identity(participant.code, frozenset({Role.PARTICIPANT}), participant.study_id)


def _sign_out() -> None:
    identity, by = current_identity(), by_browser()
    with writing() as session:
        sessions.end_session(session, session_token(), now_ms())
        if identity is not None:
            audit_log.record(session, None, "signed out", now_ms(), by=by, subject=identity.name)
    st.session_state.pop("session", None)


def _stay_out() -> None:
    watch_session()
    with st.container(key="ia-sign-in", width=420):
        st.title("InferAct Console")
        key = st.query_params.get("key")
        if refusal := st.session_state.pop("sign_in_refusal", None):
            show_problem(refusal)
        if key:
            _offer(key)
        else:
            st.write(
                _("You are not signed in. Open your invitation link. {command} prints the first link.").format(
                    command="`inferact serve`"
                )
            )


def _offer(key: str) -> None:
    try:
        with reading() as session:
            invited = invitations.read_invitation(session, key, now_ms())
    except ConsoleError as refusal:
        show_problem(str(refusal))
        return
    st.write(_("This link signs you in only in this tab. Your actions are recorded under your name."))
    if invited.name is None:
        st.text_input(
            _("Your name"), key="name", max_chars=MAX_NAME, placeholder=_("e.g. Ada"), autocomplete="nickname"
        )
    words = _("Continue as {name}").format(name=invited.name) if invited.name else _("Sign in")
    st.button(words, key="start", type="primary", width="stretch", on_click=_accept, args=(key,))


def _accept(key: str) -> None:
    try:
        with writing() as session:
            person = invitations.accept(session, key, st.session_state.get("name") or "", now_ms())
            st.session_state["session"] = sessions.open_session(session, person, now_ms(), browser="one tab")
            by = By(person.name, Door.BROWSER)
            audit_log.record(session, None, "signed in", now_ms(), by=by, subject=person.name)
    except ConsoleError as refusal:
        st.session_state["sign_in_refusal"] = str(refusal)
        return
    st.query_params.pop("key", None)
