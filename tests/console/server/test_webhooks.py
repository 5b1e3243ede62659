"""A decision on an agent's action reaches its receiver, signed; a receiver that fails is asked again."""

import asyncio
import base64
import hashlib
import hmac
import json
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import select

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.errors import BadInput
from console.gate import Gate
from console.review import decisions
from console.review.decisions import ReviewDecision
from console.runs import outbox
from console.server import webhooks
from console.settings import settings
from storage.tables import Ask, Outbox
from tests.receiver import receiving

SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes ...").decode()


@pytest.fixture
def receiver(monkeypatch):
    """A receiver that the settings name."""
    with receiving() as found:
        monkeypatch.setenv("INFERACT_WEBHOOK_URL", found.url)
        monkeypatch.setenv("INFERACT_WEBHOOK_SECRET", SECRET)
        settings.cache_clear()
        yield found


@pytest.fixture
def decided():
    """A function that has a question at the gate decided, and returns the decision."""
    gate = Gate("bot", "full-validation", undo_s=0)

    def decide(number=0, decision="reject", text="too dear", undo_ms=0):
        gate.ask("buy a kettle", [("find", "a kettle")], f"buy[{number}]", task_id=f"t{number}")
        queue = review_queue()
        with reading() as session:
            run = runs.get(session, "bot")
            session.expunge(run)
            run.undo_ms = undo_ms
            claim = decisions.claim_next_item(queue, session, run, "rita", now_ms(), settles=False)
            return decisions.submit(queue, run, claim, "rita", ReviewDecision(decision, text), now_ms())

    return decide


def send():
    return asyncio.run(webhooks.send_due())


def wait_over():
    """Lets the time until the next attempt go by."""
    with writing() as session:
        for row in session.exec(select(Outbox)):
            row.next_ms = min(row.next_ms, now_ms()) if row.next_ms < outbox._FAR_MS else row.next_ms
            session.add(row)


def rows():
    with reading() as session:
        return session.exec(select(Outbox)).all()


def test_a_decision_is_sent_signed_as_standard_webhooks_has_it(receiver, decided):
    decision = decided()
    assert send() == 1
    ((path, headers, body),) = receiver.got
    assert path == "/hook"
    headers = {name.lower(): value for name, value in headers.items()}
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 10
    document = json.loads(body)
    assert document["type"] == "decision.made"
    data = document["data"]
    assert (data["run"], data["task_id"], data["decision"], data["feedback"]) == ("bot", "t0", "reject", "too dear")
    assert (data["decision_id"], data["item_id"]) == (decision.id, decision.item_id)
    assert "rita" not in body.decode()


def test_a_decision_that_was_taken_is_not_sent_again(receiver, decided):
    decided()
    assert [send(), send(), send()] == [1, 0, 0]
    assert len(receiver.got) == 1


def test_a_receiver_that_fails_is_asked_again_with_the_same_id(receiver, decided):
    receiver.answers = [500, 302, 200]
    decided()
    for _ in range(3):
        send()
        wait_over()
    assert [path for path, _, _ in receiver.got] == ["/hook"] * 3
    assert len({headers["webhook-id"] for _, headers, _ in receiver.got}) == 1
    (row,) = rows()
    assert (row.attempts, row.failure) == (3, "")
    assert row.delivered_ms is not None


@pytest.mark.at_length
def test_between_attempts_there_is_time_and_then_an_end(receiver, decided):
    receiver.answers = [503]
    decided()
    send()
    (row,) = rows()
    assert now_ms() < row.next_ms <= now_ms() + outbox.RETRIES_S[0] * 1_000
    assert row.failure == "the receiver answered 503"
    for _ in range(len(outbox.RETRIES_S) + 3):
        wait_over()
        send()
    (row,) = rows()
    assert row.attempts == len(receiver.got) == len(outbox.RETRIES_S) + 1
    assert row.failure.startswith("given up: ")
    assert row.delivered_ms is None


def test_a_receiver_that_is_gone_is_left_alone(receiver, decided):
    receiver.answers = [410]
    decided()
    for _ in range(3):
        send()
        wait_over()
    assert len(receiver.got) == 1


def test_a_decision_that_can_be_taken_back_is_not_sent_yet(receiver, decided):
    decision = decided(undo_ms=60_000)
    assert send() == 0
    review_queue().undo(item_id=decision.item_id, reviewer="rita", now_ms=now_ms(), lease_ms=60_000)
    assert send() == 0
    assert receiver.got == []


@pytest.mark.at_length
def test_what_becomes_due_later_is_found_though_others_came_after_it(receiver, decided):
    decided(0, undo_ms=700)
    decided(1)

    async def keep():
        await asyncio.wait_for(webhooks.keep_sending(0.05), 2.5)

    with pytest.raises(TimeoutError):
        asyncio.run(keep())
    assert [json.loads(body)["data"]["task_id"] for _, _, body in receiver.got] == ["t1", "t0"]


def test_a_decision_after_the_deadline_says_that_it_counts_for_nothing(receiver, decided):
    for number, late_ms in enumerate((-60_000, 1)):
        row = decided(number)
        with writing() as session:
            ask = session.exec(select(Ask).where(Ask.item_id == row.item_id)).one()
            ask.deadline_ms = row.decided_ms - late_ms
        assert send() == 1
    assert [json.loads(body)["data"]["late"] for _, _, body in receiver.got] == [False, True]


def test_a_slow_receiver_keeps_nobody_from_deciding(receiver, decided):
    receiver.answering.clear()
    decided(0)
    sending = threading.Thread(target=send)
    sending.start()
    while not receiver.got:
        time.sleep(0.01)
    decided(1)
    assert sending.is_alive()
    receiver.answering.set()
    sending.join()
    assert [row.delivered_ms is not None for row in rows()] == [True]


def test_a_dead_receiver_is_noted_and_raises_nothing(receiver, decided):
    receiver.server.shutdown()
    receiver.server.server_close()
    decided()
    assert send() == 0
    (row,) = rows()
    assert row.failure == "connection refused"


@pytest.mark.at_length
def test_two_senders_send_once(receiver, decided):
    for number in range(6):
        decided(number)
    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    send()
    sent = [headers["webhook-id"] for _, headers, _ in receiver.got]
    assert len(sent) == len(set(sent)) == 6


def test_the_secret_is_nowhere_to_be_read(receiver, decided, data_dir, caplog):
    receiver.answers = [500]
    decided()
    send()
    key = SECRET.removeprefix("whsec_")
    assert key not in caplog.text
    assert key not in repr(settings()) + repr(webhooks.receiver())
    assert all(key.encode() not in path.read_bytes() for path in data_dir.iterdir())


@pytest.mark.parametrize(
    ("url", "secret", "said"),
    [
        ("http://127.0.0.1/hook", None, "needs INFERACT_WEBHOOK_SECRET"),
        ("ftp://127.0.0.1/hook", SECRET, "not an http or https"),
        ("/hook", SECRET, "not an http or https"),
        ("http://127.0.0.1/hook", "pa55word", "too short"),
        ("http://127.0.0.1/hook", "whsec_%%%", "is not base64"),
    ],
)
def test_a_receiver_that_cannot_be_used_is_refused_without_its_secret(monkeypatch, url, secret, said):
    monkeypatch.setenv("INFERACT_WEBHOOK_URL", url)
    if secret:
        monkeypatch.setenv("INFERACT_WEBHOOK_SECRET", secret)
    settings.cache_clear()
    with pytest.raises(BadInput, match=said) as refusal:
        webhooks.receiver()
    assert not secret or secret not in str(refusal.value)


def test_without_a_receiver_nothing_is_kept(decided):
    decided()
    assert send() == 0
    assert rows() == []
    asyncio.run(webhooks.keep_sending())


@given(st.binary(min_size=1), st.text(min_size=1, max_size=40), st.integers(0, 2**33), st.text())
def test_any_change_changes_the_signature(secret, message_id, timestamp_s, text):
    body = text.encode()
    right = webhooks.signature(secret, message_id, timestamp_s, body)
    expected = hmac.new(secret, f"{message_id}.{timestamp_s}.{text}".encode(), hashlib.sha256).digest()
    assert right == f"v1,{base64.b64encode(expected).decode()}"
    assert right.startswith("v1,")
    assert len(base64.b64decode(right[3:])) == 32
    assert right != webhooks.signature(secret, message_id, timestamp_s, body + b" ")
    assert right != webhooks.signature(secret, message_id, timestamp_s + 1, body)
    assert right != webhooks.signature(secret, message_id + "x", timestamp_s, body)
