"""Secrets are listed with their age and rotated; an old one works for the overlap, and none is shown twice."""

import json

import pytest
from sqlmodel import select
from standardwebhooks import Webhook

from console.auth import agents, people, sessions
from console.auth.kept_secrets import load_secret, path_of, rotate_secret
from console.cli import run_command
from console.database import database_url, now_ms, reading, writing
from console.review.notices import channels
from console.review.notices.channels import ChannelWish
from console.server import webhooks
from console.settings import settings
from storage.check import check
from storage.tables import Agent, Event

HOUR = 3_600_000


@pytest.fixture
def keys(capsys):
    """A function that runs `inferact keys ... --json` and returns what it prints."""

    def run(*words):
        assert run_command(["keys", *words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def works(token, after_ms=0):
    with reading() as session:
        return agents.find_by_token(session, token, now_ms() + after_ms) is not None


def test_a_replaced_token_works_for_the_overlap_and_a_second_rotation_ends_it(keys, data_dir):
    with writing() as session:
        first = agents.add(session, "bot", now_ms())
        agents.add(session, "other", now_ms())
    second = keys("rotate", "agent", "--name", "BOT", "--overlap", "2")["secrets"]["BOT"]
    assert [works(first), works(second), works(first, 3 * HOUR), works(second, 3 * HOUR)] == [True, True, False, True]
    with reading() as session:
        assert agents.find_by_token(session, first) is None  # without a time, only the present token counts
    listed = keys("list")
    assert [(row["kind"], row["name"], row["days"], row["old_until"] is not None) for row in listed] == [
        ("agent", "bot", 0, True),
        ("agent", "other", 0, False),
    ]
    third = keys("rotate", "agent", "--overlap", "0")["secrets"]
    assert sorted(third) == ["bot", "other"]
    assert [works(token) for token in (first, second, third["bot"])] == [False, False, True]
    whole = b"".join(path.read_bytes() for path in data_dir.glob("console.db*")).decode(errors="replace")
    assert not any(token in whole + str(keys("list")) for token in (first, second, *third.values()))
    assert check(database_url()) == []


def test_a_disabled_agent_s_replaced_token_does_not_work(keys):
    with writing() as session:
        first = agents.add(session, "bot", now_ms())
    keys("rotate", "agent")
    with writing() as session:
        agents.disable(session, "bot", now_ms())
    assert not works(first)
    assert keys("rotate", "agent")["secrets"] == {}


def test_the_age_of_a_token_is_counted_from_its_rotation(keys):
    with writing() as session:
        agents.add(session, "bot", now_ms() - 40 * 24 * HOUR)
    assert [row["days"] for row in keys("list")] == [40]
    keys("rotate", "agent")
    assert [row["days"] for row in keys("list")] == [0]
    with reading() as session:
        assert session.get_one(Agent, 1).token_ms is not None


def test_participants_stay_signed_in_over_a_rotation_for_its_overlap(keys):
    before = sessions.participant_cookie("secret of a link")
    old = load_secret("cookie.secret")
    assert keys("rotate", "cookie")["secrets"] == {}
    after = sessions.participant_cookie("secret of a link")
    assert [sessions.secret_of(cookie) for cookie in (before, after)] == ["secret of a link"] * 2
    assert load_secret("cookie.secret") != old
    rotate_secret("cookie.secret", now_ms() - 1)
    assert [sessions.secret_of(cookie) for cookie in (before, after)] == [None, None]
    assert {path_of(f"cookie.secret{end}").stat().st_mode & 0o777 for end in ("", ".old")} == {0o600}


def test_the_secret_of_a_notice_channel_is_replaced_and_both_sign_for_the_overlap(keys, monkeypatch):
    monkeypatch.setenv("INFERACT_NOTICE_HOSTS", "example.org")
    settings.cache_clear()
    with writing() as session:
        people.add_person(session, "Ann", [people.Role.REVIEWER], now_ms())
        row = channels.add_channel(session, "Ann", ChannelWish("webhook", "https://example.org/hook"), now_ms())
        number, old = row.id, row.secret
    new = keys("rotate", "channel", "--name", str(number), "--overlap", "2")["secrets"][str(number)]
    with reading() as session:
        row = channels.get_channel(session, number)
        assert channels.list_secrets(row, now_ms()) == (new, old)
        assert channels.list_secrets(row, now_ms() + 2 * HOUR) == (new,)
    (listed,) = (one for one in keys("list") if one["kind"] == "channel")
    assert (listed["name"], listed["old_until"] is not None) == (str(number), True)
    assert new not in json.dumps(keys("list"))
    assert list(keys("rotate", "channel")["secrets"]) == [str(number)]
    assert run_command(["keys", "rotate", "channel", "--name", "9"]) == 2
    assert run_command(["keys", "rotate", "channel", "--name", "x"]) == 2
    with reading() as session:
        kinds = [(event.kind, event.subject) for event in session.exec(select(Event)) if "rotated" in event.kind]
    assert kinds == [("secret rotated", f"webhook {number}")] * 2


def test_two_webhook_secrets_both_sign(keys, monkeypatch):
    new, old = (keys("rotate", "webhook")["secrets"]["INFERACT_WEBHOOK_SECRET"] for _ in range(2))
    monkeypatch.setenv("INFERACT_WEBHOOK_URL", "http://127.0.0.1/hook")
    monkeypatch.setenv("INFERACT_WEBHOOK_SECRET", f"{new} {old}")
    settings.cache_clear()
    headers = webhooks._headers(webhooks.receiver().secrets, "msg_1", b'{"a": 1}')
    for secret in (new, old):
        assert Webhook(secret).verify(b'{"a": 1}', headers) == {"a": 1}
    assert ("webhook", "INFERACT_WEBHOOK_SECRET") in [(row["kind"], row["name"]) for row in keys("list")]


@pytest.mark.parametrize("words", [("rotate", "nothing"), ("rotate", "cookie", "--name", "bot")])
def test_what_cannot_be_rotated_is_a_sentence(words, capsys):
    assert run_command(["keys", *words]) == 2
    assert "Traceback" not in capsys.readouterr().err
