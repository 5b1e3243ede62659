"""The People page: who invites and disables whom, agents' tokens, and one's own sessions, each with its event."""

import re

import pytest

from console.auth import agents, invitations, people, sessions
from console.auth.invitations import read_invitation
from console.auth.people import Role, roles_of
from console.database import now_ms, reading, writing
from console.runs import audit_trail
from console.runs.audit_trail import AuditFilter
from tests.signing_in import invitation, signed_in
from tests.sweeps import sweep


def press(at, label):
    return next(button for button in at.button if button.label == label).click().run()


def send_invitation(at, name, roles=("reviewer",)):
    at.text_input[0].input(name)
    at.multiselect[0].set_value(list(roles))
    return press(at, "Invite person")


def take_out(at, what, name):
    at.selectbox(key=f"disable-{what}").set_value(name).run()
    return at.button(key=f"disable-{what}-sure").click().run()


def audit():
    with reading() as session:
        return [audit_trail.entry_sentence(one) for one in audit_trail.list_entries(session, AuditFilter())]


def secret(at):
    (found,) = at.code
    return found.value


def person(name):
    with reading() as session:
        found = people.find_person(session, name)
        return None if found is None else (found.roles, found.disabled_ms is not None)


@sweep("role", ["researcher", "admin"], kept=1)
def test_an_invitation_is_a_link_that_is_shown_once(open_page, words, role):
    at = send_invitation(open_page("people", role=role), "Rae")
    token = secret(at).partition("key=")[2]
    with reading() as session:
        found = read_invitation(session, token, now_ms())
    assert (found.name, found.roles) == ("Rae", {Role.REVIEWER})
    assert audit()[0] == "Ada invited “Rae”, in the browser."
    assert not at.run().code


def test_nobody_gives_a_role_that_they_lack_or_comes_in_as_somebody_else(open_page, words):
    signed_in("Rosa", "admin")
    signed_in("Sam", "reviewer")
    at = open_page("people")
    assert at.multiselect[0].options == ["reviewer", "researcher"]
    assert "Ask an admin for a new link" in words(send_invitation(at, "SAM"))
    assert not at.code
    assert "You cannot grant or revoke these roles, which you lack: admin." in words(take_out(at, "person", "Rosa"))
    assert person("Rosa") == ("admin,reviewer", False)


@sweep(("role", "name"), [("researcher", "Sam"), ("admin", "Rosa")], kept=1)
def test_who_is_disabled_is_out_at_once(open_page, words, role, name):
    token = signed_in(name, "reviewer" if role == "researcher" else "admin")
    at = take_out(open_page("people", role=role), "person", name)
    assert f"Disabled {name}." in words(at)
    assert f"{name} (disabled)" in words(at)
    assert person(name)[1]
    with reading() as session:
        assert sessions.identity_of(session, token, now_ms()) is None
    assert audit()[0] == f"Ada disabled “{name}”, in the browser."


def test_an_agent_gets_its_token_once_and_loses_it(open_page, words):
    at = open_page("people")
    assert "No agents yet" in words(at)
    at.text_input[1].input("support-bot")
    token = secret(press(at, "Add agent"))
    with reading() as session:
        assert agents.find_by_token(session, token).name == "support-bot"
    assert "can no longer request reviews" in words(take_out(at.run(), "agent", "support-bot"))
    with reading() as session:
        assert agents.find_by_token(session, token) is None
    assert audit()[:2] == [
        "Ada disabled the agent “support-bot”, in the browser.",
        "Ada gave the agent “support-bot” a token, in the browser.",
    ]


def test_a_reviewer_sees_and_ends_their_own_sessions_alone(open_page, words):
    other, mine = signed_in("Zoe", "reviewer"), signed_in("Ada", "reviewer")
    at = open_page("people", role="reviewer")
    assert [header.value for header in at.header] == ["Your sessions"]
    assert "Ada: unknown browser, unknown address" in words(at)
    assert "Zoe" not in words(at)
    with reading() as session:
        ended = sessions.identity_of(session, mine, now_ms()).session_id
        theirs = sessions.identity_of(session, other, now_ms()).session_id
    at.button(key=f"end-{ended}").click().run()
    with reading() as session:
        assert sessions.identity_of(session, mine, now_ms()) is None
        assert sessions.identity_of(session, other, now_ms()).session_id == theirs
    assert audit()[0] == "Ada ended a session of “Ada”, in the browser."


def test_a_session_names_its_browser_in_words_with_what_it_sent_beside_it(open_page, words):
    agent = 'Mozilla/5.0 (X11; Linux x86_64) Chrome/131.0 Safari/537.36 "><b>x</b>'
    with writing() as session:
        ada = invitations.accept(session, invitation("Ada", "researcher"), "", now_ms())
        sessions.open_session(session, ada, now_ms(), browser=agent, address="10.0.0.9")
    said = words(open_page("people"))
    day = r'<span class="ia-one-line">\d{4}-\d\d-\d\d \d\d:\d\d</span>'
    assert re.search(rf"Ada: Chrome on Linux, 10\.0\.0\.9; last seen {day} UTC<", said)
    assert 'title="Mozilla/5.0 (X11; Linux x86_64) Chrome/131.0 Safari/537.36 &quot;&gt;&lt;b&gt;x&lt;/b&gt;"' in said


def test_an_admin_ends_anybodys_session(open_page):
    token = signed_in("Zoe", "reviewer")
    with reading() as session:
        number = sessions.identity_of(session, token, now_ms()).session_id
    open_page("people", role="admin").button(key=f"end-{number}").click().run()
    with reading() as session:
        assert sessions.identity_of(session, token, now_ms()) is None


def test_a_role_that_was_taken_away_meanwhile_counts(open_page, words):
    at = open_page("people")
    at.text_input[0].input("Rae")
    with writing() as session:
        ada = people.get_person(session, "Ada")
        ada.roles = "reviewer"
        session.add(ada)
    assert "Invite person" not in [button.label for button in press(at, "Invite person").button]
    assert (person("Rae"), roles_of("reviewer")) == (None, {Role.REVIEWER})


def test_nobody_is_offered_to_disable_an_agent_where_there_is_none(open_page):
    at = open_page("people", role="admin")
    assert "disable-person" in [box.key for box in at.selectbox]
    assert "disable-agent" not in [box.key for box in at.selectbox]


@pytest.mark.at_length
def test_only_an_admin_edits_groups_and_deletes_them(open_page):
    for name in ("Rosa", "Sam"):
        signed_in(name, "reviewer")
    assert "Groups" not in [header.value for header in open_page("people").header]

    def members(at):
        return next(field for field in at.multiselect if field.label == "Members")

    at = open_page("people", role="admin")
    # Without words of our own, Streamlit asks in English on a German page.
    assert [field.proto.placeholder for field in at.multiselect] == ["Choose", "Choose"]
    with writing() as session:
        people.change_group(session, "finance", now_ms(), add=["Rosa"])
    at = at.run()
    at.selectbox(key="group_name").select("finance").run()
    assert members(at).value == ["Rosa"]
    members(at).set_value(["Rosa", "Sam"]).run()
    at = press(at, "Save group")
    with reading() as session:
        assert people.list_groups(session) == {"finance": ["Rosa", "Sam"]}
    assert "“finance”" in audit()[0]
    press(at, "Delete group")
    with reading() as session:
        assert people.list_groups(session) == {}


def test_the_state_of_each_invitation_is_listed(open_page, words):
    signed_in("Rosa", "reviewer")
    with writing() as session:
        invitations.invite(session, "Sam", None, "Ada", now_ms())
        invitations.invite(session, "Tom", None, "Ada", now_ms() - 30 * 86_400_000)
    html = words(open_page("people", role="admin"))
    for name, state in (("Rosa", "used"), ("Sam", "open until"), ("Tom", "expired")):
        assert f'<th scope="row">{name}</th><td>reviewer</td><td>{state} 20' in html


def test_who_adds_an_agent_on_the_page_is_its_owner(open_page):
    at = open_page("people", role="admin")
    next(field for field in at.text_input if field.label == "Name of the new agent").input("bot")
    press(at, "Add agent")
    with reading() as session:
        assert [agents.owner_of(session, agent.id) for agent in agents.list_agents(session)] == ["Ada"]
