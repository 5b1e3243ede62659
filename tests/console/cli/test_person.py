"""`inferact person`, and who decides at the command line."""

import json
from contextlib import ExitStack, suppress

import pytest
from sqlmodel import select

from console.auth import invitations, sessions
from console.auth.people import Role
from console.cli import run_command
from console.cli.serve import create_link
from console.database import now_ms, reading, writing
from console.errors import Refused
from console.server.site import publish_address, site_at
from storage import tables
from tests.signing_in import signed_in


@pytest.fixture
def person(capsys):
    """A function from the arguments of `inferact person` to (the exit code, what was printed as JSON)."""

    def run(*arguments):
        capsys.readouterr()
        code = run_command(["person", *arguments, "--json"])
        out = capsys.readouterr().out
        return code, json.loads(out) if out else None

    return run


def whose(token):
    with reading() as session:
        found = sessions.identity_of(session, token, now_ms())
        return found and found.name


def test_a_link_is_for_one_person_with_the_roles_given(person):
    code, made = person("invite", "Ada", "--role", "researcher,admin", "--port", "8600")
    assert code == 0
    assert made["link"].startswith("http://127.0.0.1:8600/invite/")
    token = made["link"].rpartition("/")[2]
    with writing() as session:
        assert invitations.accept(session, token, "", now_ms()).name == "Ada"
    _, (ada,) = person("list")
    assert (ada["name"], ada["roles"], ada["disabled"]) == ("Ada", "admin,researcher,reviewer", None)
    assert person("invite", "Ada", "--role", "root")[0] == 2
    _, made = person("invite", "Bo", "--role", "researcher", "--role", "admin")
    with writing() as session:
        invitations.accept(session, made["link"].rpartition("/")[2], "", now_ms())
    assert person("list")[1][1]["roles"] == "admin,researcher,reviewer"


def test_links_carry_the_stated_address(person):
    _, made = person("invite", "Ada", "--host", "0.0.0.0", "--public-url", "https://console.example")
    assert made["link"].startswith("https://console.example/invite/")
    assert person("invite", "Ada", "--host", "0.0.0.0")[0] == 1


def test_links_carry_the_address_of_the_running_server(person, capsys):
    """They carried the usual port before, whatever the server listened on."""
    with publish_address(site_at("0.0.0.0", 8601, "https://console.example")):
        assert person("invite", "Ada")[1]["link"].startswith("https://console.example/invite/")
        assert person("invite", "Ada", "--port", "8602")[1]["link"].startswith("http://127.0.0.1:8602/invite/")
        assert "No server" not in capsys.readouterr().err
    assert person("invite", "Ada")[1]["link"].startswith("http://127.0.0.1:8501/invite/")
    assert run_command(["person", "invite", "Ada"]) == 0
    assert "No server of this data directory is running" in capsys.readouterr().err


def test_a_server_that_ends_leaves_the_address_of_a_later_one(person):
    with ExitStack() as later:
        with publish_address(site_at("127.0.0.1", 8601, None)):
            later.enter_context(publish_address(site_at("127.0.0.1", 8602, None)))
        assert person("invite", "Ada")[1]["link"].startswith("http://127.0.0.1:8602/invite/")


def test_a_reserved_name_is_refused_by_every_command(person, capsys):
    assert person("invite", "gate")[0] == 1
    with pytest.raises(Refused, match="The name Console is reserved"):
        create_link(site_at("127.0.0.1", 8501, None), "Console", None)
    assert person("invite", "Ada")[0] == 0
    assert run_command(["agent", "add", "ada"]) == 1
    assert run_command(["agent", "add", "bot"]) == 0
    assert run_command(["person", "invite", "Bot"]) == 1
    assert "The name bot is taken" in capsys.readouterr().err
    assert [one["name"] for one in person("list")[1]] == ["Ada"]


def test_sixteen_starts_leave_one_link_for_the_first_admin():
    everything = frozenset({Role.REVIEWER, Role.RESEARCHER, Role.ADMIN})
    links = [create_link(site_at("127.0.0.1", 8501, None), None, everything) for _ in range(16)]
    used = []
    for link in links:
        with writing() as session, suppress(Refused):
            used.append(invitations.accept(session, link.rpartition("/")[2], f"Ada {len(used)}", now_ms()).name)
    assert used == ["Ada 0"]
    with reading() as session:
        assert session.exec(select(tables.Invitation).where(tables.Invitation.used_ms.is_(None))).all() == []


def test_sessions_are_listed_and_ended_and_a_disabled_person_has_none(person):
    ada, grace = signed_in("Ada"), signed_in("Grace")
    _, rows = person("sessions")
    assert [row["name"] for row in rows] == ["Grace", "Ada"]
    assert person("end-session", str(rows[1]["id"]))[1]["name"] == "Ada"
    assert [whose(ada), whose(grace)] == [None, "Grace"]
    assert person("end-session", str(rows[1]["id"]))[0] == 2
    assert person("disable", "GRACE")[1] == {"name": "Grace", "disabled": True}
    assert whose(grace) is None
    assert person("sessions")[1] == []
    assert person("disable", "nobody")[0] == 2


def test_who_came_and_who_was_let_in_stands_in_the_audit(person):
    person("invite", "Ada", "--role", "admin")
    person("disable", "Ada")
    assert run_command(["agent", "add", "support-bot"]) == 0
    with reading() as session:
        written = [(event.kind, event.subject, event.door) for event in session.exec(select(tables.Event))]
    assert written == [
        ("person invited", "Ada", "cli"),
        ("person disabled", "Ada", "cli"),
        ("agent added", "support-bot", "cli"),
    ]


def test_groups_are_changed_and_listed(person, capsys):
    for name in ("Ada", "Bob"):
        person("invite", name)
    assert person("group", "finance", "--add", "ada", "--add", "Bob") == (
        0,
        {"group": "finance", "members": ["Ada", "Bob"]},
    )
    assert person("group", "Finance", "--remove", "Bob")[1]["members"] == ["Ada"]
    assert person("group") == (0, [{"group": "finance", "members": "Ada"}])
    assert person("group", "finance", "--add", "Cyd")[0] != 0
    assert run_command(["agent", "add", "bot", "--owner", "ada"]) == 0
    capsys.readouterr()
    assert run_command(["agent", "list", "--json"]) == 0
    assert [row["owner"] for row in json.loads(capsys.readouterr().out)] == ["Ada"]
