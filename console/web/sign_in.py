"""Who is at a page: looked up on the server at each run of a script, whatever the tab or a cookie says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import streamlit as st

from console.auth import invitations, sessions
from console.auth.identity import Identity, Role, participant_identity
from console.auth.origin import By, Door
from console.auth.participant_cookie import outside_id_of, participant_cookie_name, secret_of
from console.auth.people import MAX_NAME
from console.database import now_ms, reading, writing
from console.errors import ConsoleError
from console.language import _
from console.runs import audit_log
from console.studies.sessions import joining
from console.web.widgets.messages import show_problem
from console.web.widgets.session_watch import watch_session

_Key = tuple[str | None, str | None]
_of_this_run: ContextVar[tuple[_Key, Identity | None] | None] = ContextVar("of_this_run", default=None)


@contextmanager
def identified() -> Iterator[Identity | None]:
    """The identity at this tab, looked up once for all that is drawn within.

    A button's action, and a fragment that runs by itself, run outside of it and look again.
    """
    identity = _looked_up()
    kept = _of_this_run.set((_key(), identity))
    try:
        yield identity
    finally:
        _of_this_run.reset(kept)


def sign_in_or_stop() -> Identity:
    """The identity at this tab; where there is none, says how one comes in and stops the page."""
    identity = current_identity()
    if identity is None:
        _stay_out()
        st.stop()
    if identity.has(Role.PARTICIPANT):
        return identity
    watch_session()
    with st.container(key="ia-who", horizontal=True):
        st.button(
            _("{name} · sign out").format(name=identity.name), key="sign-out", type="tertiary", on_click=_sign_out
        )
    return identity


def current_identity() -> Identity | None:
    """Whose this tab is at this moment: a participant's that it was opened as, a person's, or a participant's cookie's.

    Neither the tab nor the cookie is believed; both hold a token that is looked up in the database, at each call or
    once for all that `identified` draws, as long as the tab holds the same one.
    """
    kept = _of_this_run.get()
    return kept[1] if kept is not None and kept[0] == _key() else _looked_up()


def _key() -> _Key:
    """What the tab itself holds; a cookie does not change while a page is drawn."""
    return st.session_state.get("me"), st.session_state.get("session")


def _looked_up() -> Identity | None:
    secret = st.session_state.get("me")
    if secret:
        return _participant(secret)
    with reading() as session:
        identity = sessions.identity_of(session, session_token(), now_ms())
    return identity or _participant(participant_secret())


def by_browser() -> By:
    """Whoever is signed in at this browser, for the audit log."""
    identity = current_identity()
    address = st.context.ip_address
    # Without a browser, as when a script drives the page, there is no address.
    return By(identity.name if identity else "nobody", Door.BROWSER, address if isinstance(address, str) else "")


def session_token() -> str | None:
    """The token of the person's session, from the browser's cookie.

    A tab that a link opened under `streamlit run`, where no route can set a cookie, has its token in its own state.
    """
    token: str | None = st.session_state.get("session")
    return token or _cookie(sessions.cookie_name(_port()))


def participant_secret() -> str | None:
    """The secret of the participant whose tab or browser this is, or None; whether it still opens anything is open."""
    kept: str | None = st.session_state.get("me")
    return kept or secret_of(_cookie(participant_cookie_name(_port())))


def participant_outside_id() -> str:
    """The id by which the platform knows whoever came from there in this browser, empty where there is none."""
    return outside_id_of(_cookie(participant_cookie_name(_port())))


def _cookie(name: str) -> str | None:
    value = st.context.cookies.get(name)
    # Where no browser is, Streamlit's own stand-in for one answers.
    return value if isinstance(value, str) else None


def _port() -> int:
    return int(st.get_option("server.port"))


def _participant(secret: str | None) -> Identity | None:
    if secret is None:
        return None
    with reading() as session:
        participant = joining.found(session, secret)
        return participant_identity(participant.code, participant.study_id) if participant else None


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
                _("You are not signed in. Open the link that you were given; {command} prints the first one.").format(
                    command="`inferact serve`"
                )
            )


def _offer(key: str) -> None:
    """The way in by an invitation's key for this tab alone, where the pages are served without our own routes."""
    try:
        with reading() as session:
            invited = invitations.invited(session, key, now_ms())
    except ConsoleError as refusal:
        show_problem(str(refusal))
        return
    st.write(_("This link opens the console in this tab. Your name goes beside what you do."))
    if invited.name is None:
        st.text_input(
            _("Your name"), key="name", max_chars=MAX_NAME, placeholder=_("e.g. Ada"), autocomplete="nickname"
        )
    words = _("Go on as {name}").format(name=invited.name) if invited.name else _("Start")
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
