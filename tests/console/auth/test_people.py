"""People, invitations and sessions: a name is one person's, a link opens once, a session ends when it should."""

import sqlite3
from contextlib import closing

import pytest

from console.auth import agents, invitations, people, sessions
from console.auth.people import Identity, Role, roles_of, roles_text
from console.database import now_ms, reading, writing
from console.errors import BadInput, Refused, Unknown
from console.settings import settings

HOUR_MS = 3_600_000


def invited(name=None, roles=None, at=None, **more):
    with writing() as session:
        return invitations.invite(session, name, roles, "tests", at or now_ms(), **more)


def accepted(token, name="", at=None):
    """The token of a session that the invitation opens."""
    with writing() as session:
        person = invitations.accept(session, token, name, at or now_ms())
        return sessions.open_session(session, person, at or now_ms())


def whose(token, at=None):
    with reading() as session:
        found = sessions.identity_of(session, token, at or now_ms())
        return found and found.name


@pytest.mark.parametrize("other", ["ADA LOVELACE", " ada  lovelace ", "Ada Lovelace", "ＡＤＡ Lovelace"])
def test_nobody_else_takes_a_name_however_it_is_written(other):
    accepted(invited(), "Ada Lovelace")
    token = invited()
    with pytest.raises(Refused, match="The name Ada Lovelace is taken"):
        accepted(token, other)
    assert whose(accepted(token, "Grace")) == "Grace"


def test_name_that_only_looks_like_another_persons_is_refused():
    accepted(invited(), "Ada")
    token = invited()
    for unseen in "\u034f\u1160\u17b5\u180b\u2800\u3164\ufe0f\uffa0\U000e0100":
        for name in (f"Ada{unseen}", unseen):
            with pytest.raises(Refused, match="an invisible character"):
                accepted(token, name)
    assert whose(accepted(token, "Ad\u00e1")) == "Ad\u00e1"


@pytest.mark.parametrize("name", ["", "   ", "a\x1b[31m", "x" * 61])
def test_a_name_can_be_read(name):
    token = invited()
    with pytest.raises(BadInput):
        accepted(token, name)
    assert whose(accepted(token, "x" * 60)) == "x" * 60


def test_an_invitation_opens_once_and_for_a_while():
    token = invited("Ada", [Role.RESEARCHER])
    assert whose(accepted(token)) == "Ada"
    with pytest.raises(Refused, match="has expired, or never existed"):
        accepted(token)
    late = invited("Ada", days=1)
    with pytest.raises(Refused, match="has expired, or never existed"):
        accepted(late, at=now_ms() + 24 * HOUR_MS)
    with pytest.raises(Refused, match="has expired, or never existed"):
        accepted("made-up")


def test_an_invitation_of_somebody_known_keeps_their_roles_and_ignores_a_name():
    accepted(invited("Ada", [Role.RESEARCHER]))
    assert whose(accepted(invited("ADA"), "Grace")) == "Ada"
    with reading() as session:
        (ada,) = people.list_people(session)
        assert roles_of(ada.roles) == {Role.REVIEWER, Role.RESEARCHER}


def test_a_session_expires_and_ends_at_sign_out():
    token = accepted(invited("Ada"))
    assert whose(token, now_ms() + 29 * 24 * HOUR_MS) == "Ada"
    assert whose(token, now_ms() + 30 * 24 * HOUR_MS) is None
    with writing() as session:
        sessions.end_session(session, token, now_ms())
    assert whose(token) is None
    assert whose(None) is None
    assert whose("made-up") is None


def test_a_disabled_person_loses_sessions_and_links_until_invited_again():
    one, other, link = accepted(invited("Ada")), accepted(invited("Ada")), invited("Ada")
    grace = accepted(invited("Grace"))
    with writing() as session:
        people.disable(session, people.get_person(session, "ada"), now_ms())
    assert [whose(one), whose(other), whose(grace)] == [None, None, "Grace"]
    with pytest.raises(Refused):
        accepted(link)
    fresh = accepted(invited("Ada"))
    assert [whose(one), whose(fresh)] == [None, "Ada"]


def test_a_session_is_ended_by_its_owner_or_an_admin_and_nobody_else():
    accepted(invited("Ada"))
    ada, grace, root = accepted(invited("Ada")), accepted(invited("Grace")), accepted(invited("Rosa", [Role.ADMIN]))
    with reading() as session:
        identities = {
            name: sessions.identity_of(session, token, now_ms())
            for name, token in (("ada", ada), ("grace", grace), ("root", root))
        }
        mine = sessions.open_sessions(session, now_ms(), "Ada")
        assert len(mine) == 2
        assert len(sessions.open_sessions(session, now_ms())) == 4

    def end(number, by):
        with writing() as session:
            return sessions.end_session_of(session, number, identities[by], now_ms())

    with pytest.raises(Refused, match="owner of a session"):
        end(mine[0].id, "grace")
    assert end(mine[0].id, "ada") == "Ada"
    assert whose(ada) is None
    assert end(mine[1].id, "root") == "Ada"
    with pytest.raises(Unknown):
        end(mine[1].id, "root")


def test_the_database_holds_no_token():
    link = invited("Ada")
    token = accepted(link)
    with closing(sqlite3.connect(settings().database_url.removeprefix("sqlite:///"))) as connection:
        dump = "\n".join(connection.iterdump())
    assert "Ada" in dump
    assert link not in dump
    assert token not in dump


def test_a_word_that_is_no_role_is_refused():
    with pytest.raises(BadInput, match="'root' is not a role"):
        roles_of("reviewer,root")
    with pytest.raises(BadInput, match="participant"):
        roles_of("participant")


@pytest.mark.parametrize("name", ["admin", "Researcher", "ＲＥＶＩＥＷＥＲ", "participant"])
def test_nobody_is_called_like_a_role(name):
    with writing() as session, pytest.raises(Refused, match="name of a role"):
        people.add_person(session, name, [Role.REVIEWER], now_ms())


@pytest.mark.parametrize(
    "name", ["gate", "Console", "ＲＯＯＴ", "system", "agent", "import", "api", "others", "role:admin", "Group:finance"]
)
def test_nobody_is_called_like_a_part_of_the_console(name):
    with pytest.raises(Refused, match="reserved"):
        invited(name)
    token = invited()
    with pytest.raises(Refused, match="reserved"):
        accepted(token, name)
    assert whose(accepted(token, "Ada")) == "Ada"
    with writing() as session, pytest.raises(Refused, match=r"reserved|taken"):
        agents.add(session, name, now_ms())


def test_a_person_and_an_agent_never_share_a_name():
    with writing() as session:
        agents.add(session, "Straße bot", now_ms())
    token = invited()
    with pytest.raises(Refused, match="taken"):
        accepted(token, "STRASSE\u3000BOT")
    with pytest.raises(Refused, match="taken"):
        invited("strasse bot")
    accepted(token, "Ada")
    with writing() as session, pytest.raises(Refused, match="taken"):
        agents.add(session, "ＡDA", now_ms())


@pytest.mark.parametrize("name", ["boss@example.org", "boss\uff20example.org"])
def test_nobody_takes_the_address_by_which_an_organisation_lets_somebody_else_in(name):
    token = invited()
    with pytest.raises(Refused, match="e-mail address"):
        accepted(token, name)
    assert whose(accepted(token, "Boss")) == "Boss"
    assert whose(accepted(invited("boss@example.org"))) == "boss@example.org"


def test_who_is_disabled_does_not_come_back_by_a_link_that_they_gave_out():
    accepted(invited("Mallory", [Role.RESEARCHER]))
    with writing() as session:
        theirs = [invitations.invite(session, name, None, "Mallory", now_ms()) for name in ("Mallory II", None)]
        others = invitations.invite(session, "Grace", None, "Ada", now_ms())
        people.disable(session, people.get_person(session, "Mallory"), now_ms())
    for token in theirs:
        with pytest.raises(Refused, match="has expired, or never existed"):
            accepted(token, "Mallory III")
    assert whose(accepted(others)) == "Grace"


def test_an_admin_is_there_once_invited_and_until_disabled():
    def is_there():
        with reading() as session:
            return people.has_admin(session)

    assert not is_there()
    invited("Rita", [Role.RESEARCHER])
    assert not is_there()
    invited("Ada", [Role.ADMIN])
    assert is_there()
    with writing() as session:
        people.disable(session, people.get_person(session, "Ada"), now_ms())
    assert not is_there()


def test_a_session_in_use_is_noted_every_five_minutes():
    token, start = accepted(invited("Ada")), now_ms()
    for minutes, stale in ((0, False), (4, False), (6, True)):
        with reading() as session:
            assert sessions.is_stale(session, token, start + minutes * 60_000) is stale
    with writing() as session:
        sessions.mark_seen(session, token, start + 6 * 60_000)
    with reading() as session:
        assert not sessions.is_stale(session, token, start + 10 * 60_000)
        assert not sessions.is_stale(session, "made up", start + HOUR_MS)
        assert [one.seen_ms for one in sessions.open_sessions(session, start)] == [start + 6 * 60_000]


def test_an_invitation_ends_at_its_millisecond_and_says_whose_it_is_until_then():
    known, open_to_all = invited("Ada", at=1_000, days=0.5), invited(None, [Role.RESEARCHER], at=1_000)
    half_a_day, week = 12 * HOUR_MS + 1_000, 7 * 24 * HOUR_MS + 1_000
    with reading() as session:
        said = invitations.read_invitation(session, known, half_a_day - 1)
        assert (said.name, said.roles) == ("Ada", {Role.REVIEWER})
        said = invitations.read_invitation(session, open_to_all, week - 1)
        assert (said.name, said.roles) == (None, {Role.REVIEWER, Role.RESEARCHER})
        for token, at in ((known, half_a_day), (open_to_all, week)):
            with pytest.raises(Refused, match="has expired, or never existed"):
                invitations.read_invitation(session, token, at)
    with pytest.raises(Refused, match="has expired, or never existed"):
        accepted(open_to_all, "Grace", at=week)
    assert whose(accepted(open_to_all, "Grace", at=week - 1), week) == "Grace"
    with reading() as session:
        assert people.get_person(session, "grace").roles == "researcher,reviewer"


def test_an_invitation_with_roles_changes_those_of_somebody_known():
    accepted(invited("Ada", [Role.RESEARCHER]))
    with reading() as session:
        assert roles_of(people.get_person(session, "Ada").roles) == {Role.REVIEWER, Role.RESEARCHER}
    link = invited("Ada", [Role.ADMIN])
    with reading() as session:
        assert people.get_person(session, "Ada").roles == "admin,reviewer"
        assert invitations.read_invitation(session, link, now_ms()).roles == {Role.REVIEWER, Role.ADMIN}


def test_people_are_listed_by_name_and_somebody_unknown_is_named_with_them():
    for name in ("grace", "Ada", "Eve"):
        accepted(invited(name))
    with reading() as session:
        assert [one.name for one in people.list_people(session)] == ["Ada", "Eve", "grace"]
        assert people.find_person(session, "Bob") is None
        with pytest.raises(Unknown, match=r"(?s)Bob .*Known: Ada, Eve, grace|No person named 'Bob B'.*Ada, Eve, grace"):
            people.get_person(session, " Bob  B ")


def test_who_reviews_at_the_command_line_is_made_once_and_kept_out_once_disabled():
    with writing() as session:
        person, new = people.resolve_reviewer(session, " Ada ", 5)
        assert (person.name, person.roles, person.created_ms, new) == ("Ada", "reviewer", 5, True)
    with writing() as session:
        person, new = people.resolve_reviewer(session, "ADA", 6)
        assert (person.name, person.created_ms, new) == ("Ada", 5, False)
        people.disable(session, person, 7)
        people.disable(session, person, 8)
        assert person.disabled_ms == 7
        with pytest.raises(Refused, match="Ada is disabled"):
            people.resolve_reviewer(session, "ada", 9)


RESEARCHER = Identity("Rita", frozenset({Role.REVIEWER, Role.RESEARCHER}))


def test_nobody_hands_out_a_role_that_they_do_not_have():
    with writing() as session:
        ada = people.add_person(session, "Ada", [Role.REVIEWER], 0)
    people.refuse_beyond(RESEARCHER, [Role.REVIEWER, Role.RESEARCHER], None)
    people.refuse_beyond(Identity("Rosa", frozenset({Role.ADMIN})), [Role.ADMIN], ada)
    with pytest.raises(Refused, match="cannot grant or revoke these roles, which you lack: admin"):
        people.refuse_beyond(RESEARCHER, [Role.ADMIN, Role.REVIEWER], None)
    with pytest.raises(Refused, match="Ada already has access"):
        people.refuse_beyond(RESEARCHER, [Role.REVIEWER], ada)
    with pytest.raises(Refused, match="Only researchers and admins"):
        people.refuse_beyond(Identity("Ann", frozenset({Role.REVIEWER})), [Role.REVIEWER], None)
    assert roles_text([Role.REVIEWER, Role.ADMIN]) == "admin,reviewer"
    assert roles_of(" Admin ,, ") == {Role.REVIEWER, Role.ADMIN}


def test_a_session_keeps_two_hundred_characters_of_browser_and_address_and_ends_once():
    with writing() as session:
        ada = people.add_person(session, "Ada", [Role.REVIEWER], 0)
        token = sessions.open_session(session, ada, 1_000, browser="b" * 201, address="a" * 201)
        sessions.open_session(session, ada, 1_001, browser="c")
    with reading() as session:
        later, first = sessions.open_sessions(session, 1_002)
        assert (first.browser, first.address, first.created_ms, first.seen_ms) == ("b" * 200, "a" * 200, 1_000, 1_000)
        assert (later.browser, later.address, first.name) == ("c", "", "Ada")
        assert first.expires_ms == 1_000 + 30 * 24 * HOUR_MS
        identity = sessions.identity_of(session, token, first.expires_ms - 1)
        assert (identity.name, identity.session_id, identity.study_id) == ("Ada", first.id, None)
        assert sessions.identity_of(session, token, first.expires_ms) is None
        assert [one.id for one in sessions.open_sessions(session, first.expires_ms)] == [later.id]
        assert [sessions.is_stale(session, token, at) for at in (301_000, 301_001)] == [False, True]
    with writing() as session:
        assert sessions.end_session_of(session, first.id, None, 2_000) == "Ada"
        sessions.end_session(session, token, 3_000)
        sessions.end_session(session, None, 3_000)
    with closing(sqlite3.connect(settings().database_url.removeprefix("sqlite:///"))) as connection:
        assert connection.execute("SELECT ended_ms FROM person_session ORDER BY id").fetchall() == [(2_000,), (None,)]


def test_a_link_that_outlived_its_person_does_not_let_them_in():
    link = invited("Ada")
    with writing() as session:
        people.get_person(session, "Ada").disabled_ms = 5
    with pytest.raises(Refused, match="Ada is disabled"):
        accepted(link)


EVERYTHING = [Role.REVIEWER, Role.RESEARCHER, Role.ADMIN]


def test_one_link_for_the_first_admin_works_at_a_time():
    """Sixteen starts left sixteen links, and the first one still made an admin."""
    links = [invited(None, EVERYTHING) for _ in range(16)]
    for old in links[:-1]:
        with pytest.raises(Refused, match="was used"):
            accepted(old, "Mallory")
    assert whose(accepted(links[-1], "Ada")) == "Ada"


def test_links_for_the_first_admin_end_with_the_first_admin():
    link, reviewers = invited(None, EVERYTHING), invited(None, [Role.REVIEWER])
    invited("Ada", [Role.ADMIN])
    with writing() as session:
        people.disable(session, people.get_person(session, "Ada"), now_ms())
    with pytest.raises(Refused, match="was used"):
        accepted(link, "Mallory")
    assert whose(accepted(reviewers, "Bo")) == "Bo"
    raised = invited("Bo", EVERYTHING)
    assert whose(accepted(raised)) == "Bo"
