"""Agents: a name and a token each, of which the database keeps the hash alone."""

import hashlib
import json

import pytest
from sqlmodel import select

from console.auth import agents
from console.auth.agents import KnownAgent
from console.cli import run_command
from console.database import reading, writing
from console.errors import BadInput, Refused, Unknown
from console.settings import settings
from storage.tables import Agent


@pytest.fixture
def command(capsys):
    """A function that runs `inferact agent ...` and returns what it prints."""

    def run(*words):
        assert run_command(["agent", *words]) == 0
        return capsys.readouterr().out.strip()

    return run


def known(token):
    with reading() as session:
        return agents.find_by_token(session, token)


def test_the_token_is_printed_once_and_only_its_hash_is_kept(command, data_dir):
    token = command("add", "support-bot")
    assert known(token) == KnownAgent(1, "support-bot")
    with reading() as session:
        (agent,) = session.exec(select(Agent)).all()
    assert agent.token_hash == hashlib.sha256(token.encode()).hexdigest()
    assert token not in command("list", "--json")
    assert token.encode() not in b"".join(path.read_bytes() for path in data_dir.iterdir())


def test_two_agents_have_two_tokens(command):
    tokens = {command("add", name) for name in ("a", "b")}
    assert len(tokens) == 2
    assert all(len(token) > 40 for token in tokens)


def test_a_wrong_token_is_nobody_s(command):
    token = command("add", "bot")
    assert [known(text) for text in ("", token[:-1], token + "x", "ü", token.upper())] == [None] * 5


def test_a_disabled_agent_s_token_is_nobody_s_and_its_name_stays_taken(command):
    token = command("add", "Bot")
    command("disable", "bot")
    assert known(token) is None
    assert [row["status"] for row in json.loads(command("list", "--json"))] == ["disabled"]
    with pytest.raises(Refused, match="is taken"), writing() as session:
        agents.add(session, "BOT", 1)


@pytest.mark.parametrize("name", ["bot", "BOT", "  Bot ", "api", "API"])
def test_a_name_is_given_once_whatever_its_case(command, name):
    command("add", "bot")
    with pytest.raises(Refused, match="is taken"), writing() as session:
        agents.add(session, name, 1)


@pytest.mark.parametrize("name", ["", "  ", "x" * 61, "a\x00b"])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(BadInput, match="printable"), writing() as session:
        agents.add(session, name, 1)


def test_an_agent_that_is_not_there_cannot_be_disabled(command):
    command("add", "bot")
    with pytest.raises(Unknown, match="Known: bot"), writing() as session:
        agents.disable(session, "boot", 1)


def test_the_token_of_the_settings_is_the_agent_called_api(monkeypatch):
    monkeypatch.setenv("INFERACT_API_TOKEN", "a-token-of-24-characters")
    settings.cache_clear()
    assert known("a-token-of-24-characters") == KnownAgent(None, "api")
    with pytest.raises(Refused, match="INFERACT_API_TOKEN"), writing() as session:
        agents.disable(session, "api", 1)


def test_an_agent_is_noted_as_heard_of_every_ten_seconds(command):
    agent = known(command("add", "bot"))
    with writing() as session:
        assert agents.is_seen_outdated(session, agent, 1_000)
        agents.note_seen(session, agent, 1_000)
    with reading() as session:
        assert [agents.is_seen_outdated(session, agent, at) for at in (1_001, 10_999, 11_000)] == [False, False, True]


def test_an_agent_s_clock_that_was_set_back_is_news_too_and_the_settings_token_never_is(command):
    agent = known(command("add", "x" * 60))
    with writing() as session:
        agents.note_seen(session, agent, 20_000)
    with reading() as session:
        assert [agents.is_seen_outdated(session, agent, at) for at in (10_000, 10_001)] == [True, False]
        assert not agents.is_seen_outdated(session, KnownAgent(None, "api"), 99_000)
        assert session.exec(select(Agent.seen_ms)).one() == 20_000


def test_agents_are_listed_by_name_and_disabled_once(command):
    for name in ("support", " Bot  one ", "audit"):
        command("add", name)
    with writing() as session:
        agents.disable(session, "BOT one", 5)
        agents.disable(session, "bot  ONE", 6)
    with reading() as session:
        assert [(one.name, one.disabled_ms) for one in agents.list_agents(session)] == [
            ("audit", None),
            ("Bot one", 5),
            ("support", None),
        ]
