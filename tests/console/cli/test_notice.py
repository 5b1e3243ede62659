"""The commands about notices: channels are listed without secrets, tested, and what failed is sent again."""

import json

import pytest
from sqlmodel import select

from console.auth import people
from console.auth.people import Role
from console.cli import run_command
from console.database import now_ms, writing
from console.review.notices import channels
from console.review.notices.channels import ChannelWish
from console.runs import outbox
from console.settings import settings
from storage import tables
from tests.receiver import receiving


@pytest.fixture
def hook(monkeypatch):
    with receiving() as found:
        monkeypatch.setenv("INFERACT_NOTICE_HOSTS", found.url.split("/")[2])
        settings.cache_clear()
        with writing() as session:
            people.add_person(session, "Ann", [Role.REVIEWER], now_ms())
            channels.add_channel(session, "Ann", ChannelWish("webhook", f"{found.url}/very-secret"), now_ms())
        yield found


@pytest.fixture
def dead(hook):
    """A message that was given up."""
    with writing() as session:
        outbox.add_messages(session, "channel 1", outbox.ITEM_PENDING, [7], 0)
        (row,) = outbox.claim_messages(session, "channel 1", now_ms(), 1)
        outbox.store_outcomes(session, [(row, f"{outbox.GIVEN_UP}the receiver is gone (410)")], now_ms())


def said(capsys, *words):
    code = run_command([*words])
    out, err = capsys.readouterr()
    return code, out, err


def test_channels_are_listed_without_their_secrets(hook, capsys):
    code, out, _ = said(capsys, "notice", "list", "--json")
    assert code == 0
    (row,) = json.loads(out)
    assert (row["id"], row["person"], row["kind"], row["muted"]) == (1, "Ann", "webhook", False)
    assert row["address"] == "http://127.0.0.1/…"
    assert "very-secret" not in out


def test_a_test_that_fails_says_why(hook, capsys):
    hook.answers = [503, 200]
    code, _, err = said(capsys, "notice", "test", "1")
    assert (code, err) == (
        1,
        "The test to channel 1 was not delivered: the receiver answered 503. Correct the channel, then test it "
        "again.\n",
    )
    assert said(capsys, "notice", "test", "1")[:2] == (0, "The test to channel 1 was delivered.\n")
    assert "less than a minute ago" in said(capsys, "notice", "test", "1")[2]
    assert [json.loads(body)["type"] for _, _, body in hook.got] == ["notice.test", "notice.test"]


def test_the_doctor_names_a_channel_whose_messages_are_not_delivered(dead, capsys):
    code, out, err = said(capsys, "doctor", "--json")
    assert code == 1
    told = (
        "Ann, webhook http://127.0.0.1/… (channel 1): 1 not delivered; the receiver is gone (410). Correct the "
        "channel, then run: "
    )
    assert json.loads(out)["undelivered"] == [f"{told}inferact notice retry"]
    assert told in err


def test_the_doctor_names_a_setting_that_is_invalid(dead, capsys, monkeypatch):
    monkeypatch.setenv("INFERACT_SMTP_URL", "smtp://mail.example")
    settings.cache_clear()
    code, _, err = said(capsys, "doctor")
    assert code == 1
    assert "INFERACT_SMTP_URL needs INFERACT_MAIL_FROM" in err


def test_what_was_given_up_is_listed_and_sent_again(dead, capsys):
    (row,) = json.loads(said(capsys, "notice", "list", "--undelivered", "--json")[1])
    assert row["reason"] == "given up: the receiver is gone (410)"
    assert (row["channel"], row["about"], row["attempts"], row["next"]) == (
        "Ann, webhook http://127.0.0.1/… (channel 1)", "item.pending", 1, None)  # fmt: skip
    assert said(capsys, "notice", "retry", "99")[1] == "0 messages will be sent again.\n"
    assert said(capsys, "notice", "retry", str(row["id"]))[1] == "1 message will be sent again.\n"
    with writing() as session:
        assert outbox.count_undelivered(session) == {}
        assert "notices retried" in session.exec(select(tables.Event.kind)).all()
