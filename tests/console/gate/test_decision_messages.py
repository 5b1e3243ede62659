"""The outbox of decisions: when one is due, held, tried again and given up, to the millisecond, on both databases."""

import json
import re
from dataclasses import replace

import pytest
from sqlalchemy import text
from sqlmodel import select

from console.database import reading, writing
from console.gate import decision_messages
from console.gate.checks import Wait
from console.runs import outbox
from storage import tables
from tests.postgres import BOTH_AT_LENGTH

URL = "https://receiver.example/hook"
CHANNEL = decision_messages.channel_of(URL)
WEEK_MS = 7 * 24 * 3_600_000

pytestmark = BOTH_AT_LENGTH


@pytest.fixture
def decided(make_gate, person, url):
    """A function that has a question decided and sets its times, in ms; it returns the decision's id."""
    gate = make_gate(policy="default: ask")

    def decide(decided_ms, deliverable_ms, deadline_ms=None, number=0):
        assert isinstance(gate.ask("pay the bill", [], f"pay[{number}]", task_id=f"t{number}", trial=3), Wait)
        row = person().answer("reject", "Not this one.")
        with writing(url) as session:
            decision = session.get_one(tables.Decision, row.id)
            decision.decided_ms, decision.deliverable_ms = decided_ms, deliverable_ms
            ask = session.exec(select(tables.Ask).where(tables.Ask.item_id == decision.item_id)).one()
            ask.deadline_ms = deadline_ms
        return row.id

    return decide


@pytest.fixture
def delivery(url):
    """A function that reads the only row of the outbox."""

    def read():
        with reading(url) as session:
            row = session.exec(select(tables.Outbox)).one()
            return row.attempts, row.next_ms, row.delivered_ms, row.failure

    return read


def taken(url, now_ms, limit=10):
    with writing(url) as session:
        return decision_messages.claim_messages(session, URL, now_ms, limit)


def settled(url, message, failure, now_ms):
    with writing(url) as session:
        outbox.store_outcomes(session, [(message.claimed, failure)], now_ms)


def test_a_decision_is_due_from_its_millisecond_on_and_for_a_week(decided, url):
    number = decided(1_000, 2_000)
    with reading(url) as session:
        found = [decision_messages.find_due(session, URL, 0, at).decision_ids for at in (1_999, 2_000, WEEK_MS + 1_999)]
        assert found == [(), (number,), (number,)]
        assert decision_messages.find_due(session, URL, 0, WEEK_MS + 2_000).decision_ids == ()
        assert decision_messages.find_due(session, URL, number, 2_000).decision_ids == (number,)
        assert decision_messages.find_due(session, URL, number + 1, 2_000).decision_ids == ()


def test_the_next_look_begins_before_the_first_decision_that_is_not_due_yet(decided, url):
    first, second = decided(1_000, 9_000), decided(1_000, 2_000, number=1)
    with reading(url) as session:
        assert decision_messages.find_due(session, URL, 0, 3_000) == decision_messages.DueDecisions(
            (second,), first - 500
        )
        assert decision_messages.find_due(session, URL, 0, 9_000) == decision_messages.DueDecisions(
            (first, second), second - 500
        )


def test_what_is_in_the_outbox_is_news_for_another_receiver_alone(decided, url):
    number = decided(1_000, 2_000)
    with writing(url) as session:
        decision_messages.add_to_outbox(session, URL, [number], 2_000)
        decision_messages.add_to_outbox(session, URL, [], 2_000)
        assert decision_messages.find_due(session, URL, 0, 3_000).decision_ids == ()
        assert decision_messages.find_due(session, f"{URL}/2", 0, 3_000).decision_ids == (number,)


def test_a_message_is_due_from_its_millisecond_on_and_held_for_a_minute(decided, url, delivery):
    number = decided(1_000, 2_000)
    with writing(url) as session:
        decision_messages.add_to_outbox(session, URL, [number], 5_000)
    assert delivery() == (0, 5_000, None, "")
    for at_ms, due in ((4_999, False), (5_000, True)):
        with reading(url) as session:
            assert outbox.has_due_message(session, CHANNEL, at_ms) is due
            assert not outbox.has_due_message(session, f"{CHANNEL}/2", at_ms)
    assert taken(url, 4_999) == []
    (message,) = taken(url, 5_000)
    assert (message.claimed.attempts, delivery()) == (1, (1, 65_000, None, ""))
    assert taken(url, 64_999) == []
    assert [again.claimed.attempts for again in taken(url, 65_000)] == [2]


def test_as_many_are_taken_as_are_asked_for_the_longest_due_first(decided, url):
    numbers = [decided(1_000, 2_000, number=n) for n in range(3)]
    with writing(url) as session:
        for number, at_ms in zip(numbers, (300, 100, 200), strict=True):
            decision_messages.add_to_outbox(session, URL, [number], at_ms)
    said = [json.loads(message.body)["data"]["decision_id"] for message in taken(url, 400, limit=2)]
    assert said == [numbers[1], numbers[2]]
    assert [json.loads(message.body)["data"]["decision_id"] for message in taken(url, 400, limit=2)] == [numbers[0]]


def test_each_failure_waits_longer_and_the_eighth_is_the_last(decided, url, delivery):
    number, at_ms, waits = decided(1_000, 2_000), 10_000, []
    with writing(url) as session:
        decision_messages.add_to_outbox(session, URL, [number], at_ms)
    for _ in range(7):
        (message,) = taken(url, at_ms)
        settled(url, message, "x" * 400, at_ms)
        attempts, next_ms, delivered, failure = delivery()
        assert (attempts, delivered, failure) == (len(waits) + 1, None, "x" * 300)
        waits.append((next_ms - at_ms) / 1_000)
        at_ms = next_ms
    assert waits == [1, 5, 30, 120, 600, 1_800, 3_600]
    (message,) = taken(url, at_ms)
    settled(url, message, "still away", at_ms)
    assert delivery()[2:] == (None, "given up: still away")
    assert taken(url, at_ms + 100 * 365 * 24 * 3_600_000) == []


def test_a_failure_that_gives_up_says_so_once(decided, url, delivery):
    number = decided(1_000, 2_000)
    with writing(url) as session:
        decision_messages.add_to_outbox(session, URL, [number], 0)
    (message,) = taken(url, 0)
    settled(url, message, f"{outbox.GIVEN_UP}it is gone", 1)
    assert delivery()[3] == "given up: it is gone"


def test_an_attempt_that_was_overtaken_says_nothing_any_more(decided, url, delivery):
    number = decided(1_000, 2_000)
    with writing(url) as session:
        decision_messages.add_to_outbox(session, URL, [number], 0)
    (slow,), (next_one,) = taken(url, 0), taken(url, 60_000)
    settled(url, slow, None, 60_001)
    assert delivery() == (2, 120_000, None, "")
    assert slow.message_id == next_one.message_id
    assert re.fullmatch("msg_[0-9a-f]{32}", slow.message_id)
    settled(url, replace(next_one), None, 60_002)
    assert delivery() == (2, 120_000, 60_002, "")
    with reading(url) as session:
        assert not outbox.has_due_message(session, CHANNEL, 120_000)


@pytest.mark.parametrize(("deadline_ms", "late"), [(1_722, True), (1_723, False), (None, False)])
def test_what_is_sent_says_all_of_the_decision(decided, url, deadline_ms, late):
    number = decided(1_723, 2_000, deadline_ms)
    with writing(url) as session:
        decision_messages.add_to_outbox(session, URL, [number], 0)
        decision = session.get_one(tables.Decision, number)
        token = session.exec(select(tables.Ask.token)).one()
        known = {"check_id": token, "item_id": decision.item_id, "action_digest": decision.action_digest}
    (message,) = taken(url, 0)
    assert json.loads(message.body) == {
        "type": "decision.made",
        "timestamp": "1970-01-01T00:00:01.723Z",
        "data": {
            **known,
            "run": "shop-bot",
            "task_id": "t0",
            "trial": 3,
            "decision_id": number,
            "revision": 1,
            "decision": "reject",
            "label": "misaligned",
            "feedback": "Not this one.",
            "edited_action": None,
            "reviews_required": 1,
            "late": late,
        },
    }


def test_the_view_shows_the_deliveries_as_the_table_did(decided, url):
    number = decided(1_000, 2_000)
    with writing(url) as session:
        decision_messages.add_to_outbox(session, URL, [number], 5_000)
        outbox.add_messages(session, "channel 1", outbox.ITEM_PENDING, [number], 5_000)
    with reading(url) as session:
        rows = session.execute(text("SELECT decision_id, url, attempts, next_ms, failure FROM webhook_delivery")).all()
    assert rows == [(number, URL, 0, 5_000, "")]


def test_a_dead_letter_is_listed_with_its_reason_and_tried_again(decided, url, delivery):
    number = decided(1_000, 2_000)
    with writing(url) as session:
        decision_messages.add_to_outbox(session, URL, [number], 0)
    (message,) = taken(url, 0)
    with reading(url) as session:
        assert outbox.list_undelivered(session) == []
    settled(url, message, f"{outbox.GIVEN_UP}it is gone", 1)
    with writing(url) as session:
        (dead,) = outbox.list_undelivered(session)
        assert (dead.event, dead.subject_id, dead.channel) == ("decision.made", number, CHANNEL)
        assert (dead.attempts, dead.next_ms, dead.reason) == (1, None, "given up: it is gone")
        assert outbox.count_undelivered(session) == {CHANNEL: 1}
        assert outbox.retry_messages(session, 7, [dead.message_id + 1]) == 0
        assert outbox.retry_messages(session, 7) == 1
        assert outbox.count_undelivered(session) == {}
    assert delivery() == (0, 7, None, "given up: it is gone")
    (again,) = taken(url, 7)
    settled(url, again, None, 8)
    assert delivery() == (1, 60_007, 8, "")


def test_a_message_that_is_not_needed_counts_for_nothing(decided, url):
    number = decided(1_000, 2_000)
    with writing(url) as session:
        decision_messages.add_to_outbox(session, URL, [number], 0)
    (message,) = taken(url, 0)
    settled(url, message, f"{outbox.NOT_NEEDED}closed first", 9_001)
    with reading(url) as session:
        assert outbox.list_undelivered(session) == []
        assert not outbox.has_due_message(session, CHANNEL, 100 * 365 * 24 * 3_600_000)
