"""A check returns by its deadline, whatever the console does."""

import asyncio
import socket
import threading
import time

import pytest
from inferact_client import Gate
from inferact_client.talk import UNDO_S, Call, person_s, spare_s
from inferact_client.transport import Connection

from tests.benchmarks.deadlines import try_once
from tests.doors.faulty_console import FAULTS


@pytest.mark.at_length
def test_check_returns_by_its_deadline_and_allows_only_what_has_begun():
    async def work():
        kinds = [(fault, number) for fault in FAULTS for number in range(2)]
        return await asyncio.gather(*(try_once(fault, number, 0.8) for fault, number in kinds))

    tried = asyncio.run(work())
    # A loaded machine may wake a thread late; a reply that is waited for in full takes 35 s.
    assert max(late_s for late_s, _, _ in tried) < 1.0
    assert all(decision.begun or not decision.approved for _, _, decision in tried)
    assert all(decision.message for _, _, decision in tried if not decision.approved)


def test_lookup_of_a_name_that_hangs_does_not_hold_the_agent(monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(30) and [])
    began = time.monotonic()
    decision = Gate("lookup", url="http://console.example", token="t" * 32, deadline_s=0.5).check("task", [], "pay({})")
    took_s = time.monotonic() - began
    over.set()
    assert (decision.reason, took_s < 1.5) == ("unreachable", True)


@pytest.mark.parametrize("deadline_s", [40, 600, 1_800])
def test_decision_at_the_last_moment_can_be_undone_and_begun_before_the_deadline(deadline_s):
    assert spare_s(deadline_s) == 2
    assert person_s(deadline_s, None) + UNDO_S < deadline_s - spare_s(deadline_s)


def test_cancellation_that_comes_together_with_a_reply_is_not_lost():
    class Client:
        """An HTTP client whose reply arrives in the moment in which the agent is cancelled."""

        async def request(self, *_, **__):
            agent.cancel()
            return "a reply"

    async def work():
        nonlocal agent
        agent = asyncio.ensure_future(Connection("http://127.0.0.1:1", "t").asend(Client(), Call("GET", "checks"), 1e9))
        await agent

    agent = None
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(work())
