"""Wrong tokens: counted by address, slowed after slips, forgiven after a right one and after ten minutes."""

import asyncio
import logging
import time

import pytest
from starlette.requests import Request

from console.server.sign_in import wrong_tokens


@pytest.fixture
def counted(caplog):
    """A function that counts a wrong token from an address and returns what is logged."""
    sent = []

    def count(address, what="invitation"):
        request = coming_from(address)
        sent.append(request)
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            wrong_tokens.count_wrong(request, what)
        return caplog.messages

    yield count
    for request in sent:
        wrong_tokens.forget(request)


def coming_from(address):
    return Request({"type": "http", "headers": [], "client": (address, 4711) if address else None})


def waits_s(address):
    begun = time.perf_counter()
    asyncio.run(wrong_tokens.slow(coming_from(address)))
    return time.perf_counter() - begun


def test_each_address_has_a_count_of_its_own_and_a_right_token_ends_it(counted):
    assert counted("192.0.2.1") == ["A wrong invitation from 192.0.2.1 (1 lately)."]
    assert counted("192.0.2.1", "study code") == ["A wrong study code from 192.0.2.1 (2 lately)."]
    assert counted("192.0.2.2") == ["A wrong invitation from 192.0.2.2 (1 lately)."]
    wrong_tokens.forget(coming_from("192.0.2.1"))
    assert counted("192.0.2.1") == ["A wrong invitation from 192.0.2.1 (1 lately)."]
    assert counted("192.0.2.2") == ["A wrong invitation from 192.0.2.2 (2 lately)."]
    assert counted("") == ["A wrong invitation from  (1 lately)."]


def test_forgiving_an_address_that_sent_nothing_wrong_is_nothing():
    wrong_tokens.forget(coming_from("192.0.2.3"))
    assert waits_s("192.0.2.3") < 0.2


def test_delay_doubles_from_the_third_and_stays_at_five_seconds():
    assert [wrong_tokens.delay_s(count) for count in range(10)] == [0, 0, 0, 0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0]


def test_third_wrong_token_slows_the_address_and_no_other(counted):
    for _ in range(2):
        counted("192.0.2.4")
    assert waits_s("192.0.2.4") < 0.2
    counted("192.0.2.4")
    assert 0.24 < waits_s("192.0.2.4") < 2
    assert waits_s("192.0.2.5") < 0.2
    for _ in range(4):
        wrong_tokens.count_wrong(coming_from("192.0.2.7"), "agent's token", "agent ")
    assert waits_s("192.0.2.7") < 0.2
    assert counted("192.0.2.7") == ["A wrong invitation from 192.0.2.7 (1 lately)."]


def test_after_ten_minutes_the_count_begins_anew(counted, monkeypatch):
    clock, later = time.monotonic, []
    monkeypatch.setattr(time, "monotonic", lambda: clock() + sum(later))
    for _ in range(4):
        counted("192.0.2.6")
    later.append(590)
    assert waits_s("192.0.2.6") > 0.45
    assert counted("192.0.2.6") == ["A wrong invitation from 192.0.2.6 (5 lately)."]
    later.append(600)
    assert waits_s("192.0.2.6") < 0.2
    assert counted("192.0.2.6") == ["A wrong invitation from 192.0.2.6 (1 lately)."]


def test_ten_thousand_addresses_are_kept_and_the_one_heard_of_longest_ago_goes(counted):
    logging.disable(logging.WARNING)
    try:
        for address in ("198.51.100.1", "198.51.100.2", *map(str, range(9_998)), "198.51.100.1"):
            wrong_tokens.count_wrong(coming_from(address), "invitation")
    finally:
        logging.disable(logging.NOTSET)
    assert counted("198.51.100.2") == ["A wrong invitation from 198.51.100.2 (2 lately)."]
    assert counted("198.51.100.1") == ["A wrong invitation from 198.51.100.1 (3 lately)."]
    assert counted("one more") == ["A wrong invitation from one more (1 lately)."]
    assert counted("0") == ["A wrong invitation from 0 (1 lately)."]
    for address in map(str, range(9_998)):
        wrong_tokens.forget(coming_from(address))
