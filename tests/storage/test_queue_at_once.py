"""Two servers at one item at the same time: the second sees what the first has done, not what it had read before."""

from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillWaiting
from contextlib import contextmanager, suppress

import pytest
from sqlmodel import select

from storage import tables
from storage.check import check
from storage.engine import Durability, reading, writing
from storage.queue.claims import ClaimRequest, lock_item
from storage.queue.claims import claim as claim_within
from storage.queue.transaction import Transaction
from tests.postgres import BOTH

pytestmark = BOTH

AT = {"run_id": 1, "trial": 0}
LEASE = 1_000


@pytest.fixture
def queue(url, stock):
    """A queue of three items."""
    return stock(url, 3)


@contextmanager
def meanwhile(queue, *calls):
    """A transaction that ends when the calls have begun in threads of their own, and a list of what they return."""
    found = []
    with ThreadPoolExecutor(len(calls)) as pool:
        with Transaction(queue.url, Durability.FULL) as db:
            yield db, found
            waiting = [pool.submit(call) for call in calls]
            for one in waiting:
                with suppress(StillWaiting):
                    one.result(0.3)
        found += [one.result() for one in waiting]


def test_a_claim_that_another_reviewer_takes_over_is_not_renewed(queue):
    mine = queue.claim(**AT, reviewer="ann", now_ms=0, lease_ms=LEASE)
    late = {"reviewer": "ann", "now_ms": LEASE + 1, "lease_ms": LEASE}
    with meanwhile(queue, lambda: queue.claim(**AT, **late)) as (db, found):
        taken = claim_within(db, ClaimRequest(1, 0, "ben", LEASE, LEASE, True, None, "", False))
    assert taken.item_id == mine.item_id != found[0].item_id
    assert check(queue.url) == []


def test_a_submission_that_arrives_twice_at_once_is_one_decision(queue, answer):
    mine = queue.claim(**AT, reviewer="ann", now_ms=0, lease_ms=LEASE)
    given = {"item_id": mine.item_id, "reviewer": "ann", "token": mine.token, "now_ms": 10, "undo_ms": 0}
    with meanwhile(queue, *[lambda: queue.decide(**given, **answer("once"))] * 2) as (db, found):
        lock_item(db, mine.item_id)
    assert found[0] == found[1]


def test_an_item_claimed_at_its_deadline_does_not_expire(queue):
    with writing(queue.url) as session:
        names = {"digest": "d", "token": "t", "heartbeat_ms": 0, "beats": False, "deadline_ms": LEASE}
        session.add(tables.Ask(run_id=1, trajectory_id=1, item_id=1, asked_ms=0, step=1, **names))
    with meanwhile(queue, lambda: queue.expire_overdue(run_id=1, now_ms=LEASE)) as (db, found):
        claim_within(db, ClaimRequest(1, 0, "ann", LEASE - 1, LEASE, True, 1, "", False))
    assert found == [0]
    with reading(queue.url) as session:
        assert session.exec(select(tables.Item.status).where(tables.Item.id == 1)).one() == "claimed"
