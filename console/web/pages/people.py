"""People: the people and agents with access, and the open sessions, for everyone who is signed in."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from urllib.parse import urlsplit

import streamlit as st

from console.auth import agents, audit_log, invitations, people, sessions
from console.auth.people import Identity, Role, roles_of, roles_text
from console.database import now_ms, reading, writing
from console.errors import Refused
from console.language import _, gettext_noop, ngettext
from console.runs import iso
from console.web.flash import finish, refusals_shown, show_messages
from console.web.sign_in import current_identity
from console.web.widgets.markup import plain
from console.web.widgets.tables import show_rows
from storage import tables

_GIVEN = "given_once"
_DISABLED = gettext_noop("Disabled (UTC)")
_OFFERED = (Role.REVIEWER, Role.RESEARCHER, Role.ADMIN)


def show_people(identity: Identity) -> None:
    """Draw the people with access, and the forms that invite and disable a person."""
    st.header(_("Accounts"), anchor=False)
    with reading() as session:
        known, sent_to = people.list_people(session), invitations.list_last_invitations(session)
        rows = []
        for one in known:
            called = one.name if one.disabled_ms is None else _("{name} (disabled)").format(name=one.name)
            granted, invited = ", ".join(map(_, one.roles.split(","))), _tell_invitation(sent_to.get(one.id or 0))
            rows.append((called, granted, invited, _day(one.created_ms), _day(one.disabled_ms)))
    heads = (_("Name"), _("Roles"), _("Invitation"), _("Since (UTC)"), _(_DISABLED))
    _show_table(_("Accounts"), [dict(zip(heads, row, strict=True)) for row in rows])
    _show_new_access("person")
    with st.form("invite", border=False, clear_on_submit=True):
        name, roles, send = st.columns([2, 2, 1], vertical_alignment="bottom")
        who = name.text_input(_("Name of the new person"), max_chars=people.MAX_NAME)
        offered = [str(role) for role in _OFFERED if identity.has(Role.ADMIN) or role in identity.roles]
        given = roles.multiselect(_("Roles"), offered, [str(Role.REVIEWER)], format_func=_, placeholder=_("Choose"))
        sent = send.form_submit_button(_("Invite person"), type="primary")
    if sent:
        with refusals_shown():
            _invite(who, given)
    _disabling("person", [one.name for one in known if one.disabled_ms is None], _disable)


def _tell_invitation(one: tables.Invitation | None) -> str:
    """Return the state of the invitation: used, expired, or open until its last minute."""
    if one is None or one.used_ms is not None:
        return _("used {day}").format(day=_day(one.used_ms)[:10]) if one else ""
    words = _("expired {day}") if one.expires_ms <= now_ms() else _("open until {day}")
    return words.format(day=_day(one.expires_ms)[:10])


def show_agents() -> None:
    """Draw the agents with a token, and the forms that add and disable an agent."""
    st.header(_("Agents"), anchor=False)
    with reading() as session:
        known = agents.list_agents(session)
    if known:
        heads = (_("Agent"), _("Since (UTC)"), _("Last seen (UTC)"), _(_DISABLED))
        rows = [(one.name, *map(_day, (one.created_ms, one.seen_ms, one.disabled_ms))) for one in known]
        _show_table(_("Agents"), [dict(zip(heads, row, strict=True)) for row in rows])
    else:
        st.caption(_("No agents yet. Add an agent to get its token, or run `inferact agent add NAME`."))
    _show_new_access("agent")
    with st.form("agent", border=False, clear_on_submit=True):
        name, send = st.columns([2, 3], vertical_alignment="bottom")
        called = name.text_input(_("Name of the new agent"), max_chars=people.MAX_NAME)
        sent = send.form_submit_button(_("Add agent"), type="primary")
    if sent:
        with refusals_shown():
            _add_agent(called)
    _disabling("agent", [one.name for one in known if one.disabled_ms is None], _disable_agent)


def show_groups() -> None:
    """Draw the groups of people, which rules of a policy can name, and the form that changes a group."""
    st.header(_("Groups"), anchor=False)
    with reading() as session:
        known = people.list_groups(session)
        names = [one.name for one in people.list_people(session) if one.disabled_ms is None]
    if known:
        rows = [{"group": group, "members": ", ".join(members)} for group, members in known.items()]
        show_rows(rows, {"group": _("Group"), "members": _("Members")}, label=_("Groups"))
    else:
        st.caption(_("No groups yet. A rule of a policy names a group as `who: group:NAME`."))
    name, who, send = st.columns([2, 2, 1], vertical_alignment="bottom")
    called = name.selectbox(
        _("Group"),
        [*known],
        None,
        key="group_name",
        placeholder=_("Choose or type a name"),
        accept_new_options=True,
    )
    present = known.get(called or "", [])
    offered, key = list(dict.fromkeys([*names, *present])), f"members-{called}"
    members = who.multiselect(_("Members"), offered, present, key=key, placeholder=_("Choose"))
    with send.container(horizontal=True), refusals_shown():
        if st.button(_("Save group"), type="primary", disabled=not (called and members)) and called:
            _save_group(called, members)
        if called in known and st.button(_("Delete group")):
            _save_group(called, [])


def show_sessions(identity: Identity) -> None:
    """Draw the open sessions, each with a button that ends the session; admins see all sessions, others their own."""
    everybody = identity.has(Role.ADMIN)
    st.header(_("Sessions") if everybody else _("Your sessions"), anchor=False)
    with reading() as session:
        found = sessions.open_sessions(session, now_ms(), None if everybody else identity.name)
    for one in sorted(found, key=lambda one: one.id != identity.session_id):
        line = st.container(horizontal=True, vertical_alignment="center", key=f"session-{one.id}")
        words = _("{name}: {browser}, {address}; last seen {day} UTC")
        if one.id == identity.session_id:
            words = _("{name} (this browser): {browser}, {address}; last seen {day} UTC")
        browser, address = sessions.browser_in_words(one.browser), one.address or _("unknown address")
        day = f'<span class="ia-one-line">{_day(one.seen_ms)}</span>'
        said = plain(words).format(name=plain(one.name), browser=plain(browser), address=plain(address), day=day)
        raw = escape(one.browser.encode("ascii", "replace").decode())
        line.html(f'<span title="{raw}">{said}</span>')
        line.button(_("End session"), key=f"end-{one.id}", on_click=_end_session, args=(one.id,))


def _show_table(label: str, rows: list[dict[str, str]]) -> None:
    """Draw the rows; leave out the column of disabled rows if no row is disabled."""
    order = [name for name in rows[0] if name != _(_DISABLED) or any(row[name] for row in rows)]
    show_rows(rows, dict(zip(order, order, strict=True)), label=label)


def _disabling(what: str, names: list[str], disable: Callable[[str], None]) -> None:
    if not names:
        return
    with st.popover(_("Disable person…") if what == "person" else _("Disable agent…"), key=f"disabling-{what}"):
        chosen = st.selectbox(_("Who"), names, index=None, key=f"disable-{what}", placeholder=_("Choose"))
        st.caption(
            _("Disabling a person or an agent ends all their sessions and tokens immediately. Recorded actions stay.")
        )
        if st.button(_("Disable"), key=f"disable-{what}-sure", disabled=not chosen) and chosen:
            with refusals_shown():
                disable(chosen)


def _show_new_access(what: str) -> None:
    """Draw the link or token that was just created. Only its digest is stored, so the link or token is shown once."""
    if given := st.session_state.pop(f"{_GIVEN}_{what}", None):
        sentence, secret = given
        st.text(sentence)
        st.code(secret, language=None, wrap_lines=True)


def _invite(name: str, words: list[str]) -> None:
    roles = roles_of(",".join(words))
    with writing() as session:
        known = people.find_person(session, name)
        people.refuse_beyond(_present(), roles, known)
        token = invitations.invite(session, name, roles, _present().name, now_ms())
        written = people.get_person(session, name).name
        audit_log.record(session, None, "person invited", now_ms(), subject=written, after=roles_text(roles))
    sentence = _("This invitation link for {name} works once, within {days} days:")
    st.session_state[f"{_GIVEN}_person"] = sentence.format(name=written, days=invitations.DAYS), _link(token)
    st.rerun()


def _disable(name: str) -> None:
    with writing() as session:
        person = people.get_person(session, name)
        people.refuse_beyond(_present(), roles_of(person.roles), None)
        people.disable(session, person, now_ms())
        audit_log.record(session, None, "person disabled", now_ms(), subject=person.name)
    finish(_("Disabled {name}. The person's open pages close within seconds.").format(name=name))


def _save_group(name: str, members: list[str]) -> None:
    with writing() as session:
        people.refuse_beyond(_present(), (Role.ADMIN,), None)
        before = people.list_members(session, name)
        gone = [one for one in before if one not in members]
        people.change_group(session, name, now_ms(), add=members, remove=gone)
    count = len(members)
    saved = ngettext("Saved group {name} with {count} member.", "Saved group {name} with {count} members.", count)
    finish((saved if members else _("Deleted group {name}.")).format(name=name, count=count))


def _add_agent(name: str) -> None:
    with writing() as session:
        people.refuse_beyond(_present(), (), None)
        token = agents.add(session, name, now_ms(), _present().name)
        audit_log.record(session, None, "agent added", now_ms(), subject=name)
    st.session_state[f"{_GIVEN}_agent"] = (
        _("This is the token of {name}. Copy the token now; it is shown only once.").format(name=name),
        token,
    )
    st.rerun()


def _disable_agent(name: str) -> None:
    with writing() as session:
        people.refuse_beyond(_present(), (), None)
        agents.disable(session, name, now_ms())
        audit_log.record(session, None, "agent disabled", now_ms(), subject=name)
    finish(_("Disabled {name}. The agent can no longer request reviews.").format(name=name))


def _end_session(session_id: int) -> None:
    with refusals_shown(), writing() as session:
        name = sessions.end_session_of(session, session_id, _present(), now_ms())
        audit_log.record(session, None, "session ended", now_ms(), subject=name)


def _present() -> Identity:
    """Return the signed-in identity; raise Refused if the session has ended."""
    identity = current_identity()
    if identity is None:
        raise Refused(_("Your session has ended, so nothing was changed. Sign in again."))
    return identity


def _link(token: str) -> str:
    here = urlsplit(st.context.url or "")
    # `streamlit run` serves no route for invitations, so the page itself takes the key.
    path = f"/?key={token}" if "session" in st.session_state else f"/invite/{token}"
    return f"{here.scheme}://{here.netloc}{here.path.rpartition('/')[0]}{path}" if here.netloc else path


def _day(at_ms: int | None) -> str:
    return "" if at_ms is None else iso(at_ms)[:16].replace("T", " ")


identity = current_identity()
if identity is None:
    st.stop()
st.title(_("People"))
show_messages()
if identity.has(Role.RESEARCHER) or identity.has(Role.ADMIN):
    show_people(identity)
    show_agents()
if identity.has(Role.ADMIN):
    show_groups()
show_sessions(identity)
