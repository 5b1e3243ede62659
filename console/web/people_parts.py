"""The people section: who may come in, the agents that may ask, and the browsers in which somebody is signed in."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from urllib.parse import urlsplit

import streamlit as st

from console.auth import agents, invitations, people, sessions
from console.auth.identity import Identity, Role, roles_of, roles_text
from console.database import now_ms, reading, writing
from console.errors import Refused
from console.language import _
from console.runs import audit_log
from console.runs.export.formats.columns import iso
from console.web.flash import flash, guarded
from console.web.sign_in import current_identity
from console.web.widgets.markup import plain
from console.web.widgets.messages import show_empty_state

_GIVEN = "given_once"
_OFFERED = (Role.REVIEWER, Role.RESEARCHER, Role.ADMIN)


def show_people(identity: Identity) -> None:
    """Everybody who may come in, a form that makes a link for one more, and the end of it for one of them."""
    st.header("Who may come in", anchor=False)
    with reading() as session:
        known = people.every_person(session)
    rows = [{"name": one.name, "roles": one.roles.replace(",", ", "), "since": _day(one.created_ms),
             "disabled": _day(one.disabled_ms)} for one in known]  # fmt: skip
    st.dataframe(rows, key="people", hide_index=True, placeholder="–")
    _once("person")
    with st.form("invite", border=False, clear_on_submit=True):
        name, roles, send = st.columns([3, 3, 1], vertical_alignment="bottom")
        who = name.text_input("Name", max_chars=people.MAX_NAME)
        offered = [str(role) for role in _OFFERED if identity.has(Role.ADMIN) or role in identity.roles]
        given = roles.multiselect("Roles", offered, default=[str(Role.REVIEWER)])
        sent = send.form_submit_button("Invite", type="primary")
    if sent:
        guarded(_invite, who, given)
    _disabling("person", [one.name for one in known if one.disabled_ms is None], _disable)


def show_agents() -> None:
    """The agents that ask over HTTP, a form that gives one more its token, and the end of it for one of them."""
    st.header("Agents", anchor=False)
    with reading() as session:
        known = agents.every(session)
    if known:
        rows = [{"agent": one.name, "since": _day(one.created_ms), "last heard of": _day(one.seen_ms),
                 "disabled": _day(one.disabled_ms)} for one in known]  # fmt: skip
        st.dataframe(rows, key="agents", hide_index=True, placeholder="–")
    else:
        show_empty_state("No agent yet", "Give one its token here, or by command: inferact agent add NAME")
    _once("agent")
    with st.form("agent", border=False, clear_on_submit=True):
        name, send = st.columns([6, 1], vertical_alignment="bottom")
        called = name.text_input("Agent's name", max_chars=people.MAX_NAME)
        sent = send.form_submit_button("Add", type="primary")
    if sent:
        guarded(_add_agent, called)
    _disabling("agent", [one.name for one in known if one.disabled_ms is None], _disable_agent)


def show_sessions(identity: Identity) -> None:
    """The open sessions, one's own or for an admin everybody's, each with its end."""
    everybody = identity.has(Role.ADMIN)
    st.header(_("Sessions") if everybody else _("Your sessions"), anchor=False)
    with reading() as session:
        found = sessions.open_sessions(session, now_ms(), None if everybody else identity.name)
    for one in found:
        line, end = st.columns([6, 1], vertical_alignment="center")
        words = _("{name}: {browser}, {address}; last seen {day}")
        if one.id == identity.session_id:
            words = _("{name} (this one): {browser}, {address}; last seen {day}")
        browser, address = sessions.browser_in_words(one.browser), one.address or _("no address")
        said = words.format(name=one.name, browser=browser, address=address, day=_day(one.seen_ms))
        raw = escape(one.browser.encode("ascii", "replace").decode())
        line.html(f'<span title="{raw}">{plain(said)}</span>')
        end.button(_("End"), key=f"end-{one.id}", on_click=guarded, args=(_end_session, one.id))


def _disabling(what: str, names: list[str], disable: Callable[[str], None]) -> None:
    if not names:
        return
    with st.popover(f"Disable a{'n' if what == 'agent' else ''} {what} …", key=f"disabling-{what}"):
        chosen = st.selectbox("Who", names, index=None, key=f"disable-{what}", placeholder="choose")
        st.caption("At once. Their tokens and links open nothing any more; what they did stays.")
        if st.button("Disable", key=f"disable-{what}-sure", disabled=not chosen) and chosen:
            guarded(disable, chosen)


def _once(what: str) -> None:
    """The link or token that was just made: shown this once, for what is kept of it opens nothing."""
    if given := st.session_state.pop(f"{_GIVEN}_{what}", None):
        sentence, secret = given
        st.text(sentence)
        st.code(secret, language=None, wrap_lines=True)


def _invite(name: str, words: list[str]) -> None:
    roles = roles_of(",".join(words))
    with writing() as session:
        known = people.person_named(session, name)
        people.refuse_beyond(_present(), roles, known)
        token = invitations.invite(session, name, roles, _present().name, now_ms())
        written = people.person_of(session, name).name
        audit_log.record(session, None, "person invited", now_ms(), subject=written, after=roles_text(roles))
    sentence = f"For {written}, once, within {invitations.DAYS} days:"
    st.session_state[f"{_GIVEN}_person"] = sentence, _link(token)
    st.rerun()


def _disable(name: str) -> None:
    with writing() as session:
        person = people.person_of(session, name)
        people.refuse_beyond(_present(), roles_of(person.roles), None)
        people.disable(session, person, now_ms())
        audit_log.record(session, None, "person disabled", now_ms(), subject=person.name)
    flash((True, f"{name} cannot come in any more; open pages close in seconds."))
    st.rerun()


def _add_agent(name: str) -> None:
    with writing() as session:
        people.refuse_beyond(_present(), (), None)
        token = agents.add(session, name, now_ms())
        audit_log.record(session, None, "agent added", now_ms(), subject=name)
    st.session_state[f"{_GIVEN}_agent"] = f"The token of {name}, which is shown this once:", token
    st.rerun()


def _disable_agent(name: str) -> None:
    with writing() as session:
        people.refuse_beyond(_present(), (), None)
        agents.disable(session, name, now_ms())
        audit_log.record(session, None, "agent disabled", now_ms(), subject=name)
    flash((True, f"{name} may no longer ask."))
    st.rerun()


def _end_session(session_id: int) -> None:
    with writing() as session:
        name = sessions.end_session_of(session, session_id, _present(), now_ms())
        audit_log.record(session, None, "session ended", now_ms(), subject=name)


def _present() -> Identity:
    """Whoever is here at this moment; raises Refused for nobody."""
    identity = current_identity()
    if identity is None:
        raise Refused(_("Your session is over, so nothing of this was done."))
    return identity


def _link(token: str) -> str:
    here = urlsplit(st.context.url or "")
    # Under `streamlit run` no route of ours takes an invitation; there a tab opens by its key.
    path = f"/?key={token}" if "session" in st.session_state else f"/invite/{token}"
    return f"{here.scheme}://{here.netloc}{path}" if here.netloc else path


def _day(at_ms: int | None) -> str | None:
    return None if at_ms is None else iso(at_ms)[:16].replace("T", " ")
