"""The page Notices: one's own channels, tested, muted and removed there, and the health that operators see."""

import json

import pytest
from sqlmodel import select

from console.auth import people
from console.auth.people import Role
from console.database import now_ms, reading, writing
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
        yield found


def own():
    with reading() as session:
        found = channels.list_channels(session, "Ada")
        session.expunge_all()
        return found


def press(at, label):
    return next(button for button in at.button if button.label == label).click().run()


def add(at, address):
    at.segmented_control(key="channel-kind").set_value("webhook").run()
    at.text_input(key="channel-address").input(address)
    return press(at, "Add channel")


def give_up(channel, item_id=7, reason="the receiver is gone (410)"):
    with writing() as session:
        outbox.add_messages(session, channel, outbox.ITEM_PENDING, [item_id], 0)
        rows = outbox.claim_messages(session, channel, now_ms(), 9)
        outbox.store_outcomes(session, [(row, f"given up: {reason}") for row in rows], now_ms())


def test_where_nothing_is_allowed_the_page_says_which_setting_allows_it(open_page, words):
    said = words(open_page("notices", role="reviewer"))
    assert "INFERACT_NOTICE_HOSTS" in said
    assert "Health" not in said


def test_a_channel_is_added_tested_changed_muted_and_removed(hook, open_page, words):
    at = add(open_page("notices", role="reviewer"), hook.url)
    (row,) = own()
    assert [code.value for code in at.code] == [row.secret]
    at = press(at, "Rotate secret")
    assert "For 24 hours the old secret signs each message, too." in words(at)
    (turned,) = own()
    assert ([code.value for code in at.code], turned.old_secret) == ([turned.secret], row.secret)
    at = press(at, "Send a test")
    assert not at.code
    assert "The test was sent" in words(at)
    assert json.loads(hook.got[0][2])["type"] == "notice.test"
    assert "less than a minute ago" in words(press(at, "Send a test"))
    at.multiselect(key=f"change-{row.id}-events").set_value(["item.pending"])
    at.checkbox(key=f"change-{row.id}-q").set_value(True)
    press(at, "Save changes")
    (row,) = own()
    assert (row.events, row.quiet) == ("item.pending", "22:00-07:00")
    assert "quiet 22:00–07:00" in words(at)
    press(at, "Mute channel")
    assert own()[0].muted
    press(at, "Unmute channel")
    assert not own()[0].muted
    press(at, "Remove channel")
    assert own() == []
    with reading() as session:
        kinds = [kind for kind in session.exec(select(tables.Event.kind)).all() if kind.startswith("notice")]
    changes = ("added", "changed", "muted", "unmuted", "removed")
    assert kinds == ["notice channel added", "notice tested", *(f"notice channel {kind}" for kind in changes[1:])]


def test_an_address_that_is_not_allowed_is_refused_and_kept_in_the_field(hook, open_page, words):
    at = add(open_page("notices", role="reviewer"), "https://evil.example/")
    assert "does not allow notices to evil.example" in words(at)
    assert at.text_input(key="channel-address").value == "https://evil.example/"
    assert own() == []


@pytest.mark.at_length
def test_a_test_that_fails_says_why(hook, open_page, words):
    hook.answers = [503]
    at = press(add(open_page("notices", role="reviewer"), hook.url), "Send a test")
    assert "The test was not delivered. The receiver answered 503, an error of its own." in words(at)


@pytest.mark.at_length
def test_two_channels_of_one_host_have_different_marks_and_each_shows_its_own_secret(hook, open_page, words):
    at = add(open_page("notices", role="reviewer"), f"{hook.url}/first")
    at = add(at, f"{hook.url}/second")
    first, second = own()
    assert [code.value for code in at.code] == [second.secret]
    said = words(at)
    assert f"channel {first.id}" in said
    assert f"channel {second.id}" in said
    assert "/first" not in said
    give_up(f"channel {first.id}", 7), give_up(f"channel {second.id}", 8)
    said = words(at.run())
    assert said.count("(channel ") == 2


def test_a_reviewer_sees_and_retries_only_the_own_messages(hook, open_page, words):
    at = add(open_page("notices", role="reviewer"), hook.url)
    with writing() as session:
        people.add_person(session, "Bob", [Role.REVIEWER], now_ms())
        other = channels.add_channel(session, "Bob", ChannelWish("webhook", f"{hook.url}/bob"), now_ms()).id
    give_up(f"channel {own()[0].id}"), give_up(f"channel {other}")
    give_up(f"channel {own()[0].id}", 6, "the item closed first")
    said = words(at.run())
    assert "The item closed before the message was delivered." in said
    assert "The receiver answered 410: this address no longer exists. Remove the channel." in said
    assert "Bob" not in said
    assert "Retry messages" not in [button.label for button in at.button], "a retry cannot help"
    give_up(mine := f"channel {own()[0].id}", 8, "connection refused")
    at.run()
    press(at, "Retry messages")
    with reading() as session:
        assert outbox.count_undelivered(session) == {mine: 2, f"channel {other}": 1}


def test_an_operator_sees_the_health_and_retries_all(hook, open_page, words):
    with writing() as session:
        people.add_person(session, "Bob", [Role.REVIEWER], now_ms())
        other = channels.add_channel(session, "Bob", ChannelWish("webhook", f"{hook.url}/very-secret"), now_ms()).id
    give_up(f"channel {other}")
    at = open_page("notices")
    said = words(at)
    assert "Bob, webhook http://127.0.0.1/…" in said
    assert "very-secret" not in said
    assert "1 no longer retried" in said
    assert "1 message will be sent again" in words(press(at, "Retry all messages"))
    with reading() as session:
        assert outbox.count_undelivered(session) == {}
