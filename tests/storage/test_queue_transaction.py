"""Statements of the queue in a transaction of their own, and in a session's."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlmodel import select

from storage import tables
from storage.engine import reading, writing
from storage.errors import StorageError
from storage.queue import claims, statements
from storage.queue.transaction import Transaction
from storage.tables import ItemStatus

NAMES = "SELECT name FROM run ORDER BY id"


@pytest.fixture
def other():
    """Another run, not stored yet."""
    return tables.Run(name="other", kind="gate", environment="generic", created_ms=2)


def test_joined_statements_see_what_the_session_has_pending_and_are_gone_with_it(url, stock, other):
    stock(url, 1)

    def change_and_fail(session):
        session.add(other)
        db = Transaction.joined(session)
        assert db.rows(NAMES) == [("shop",), ("other",)]
        claims.withdraw_items(db, [1], ItemStatus.CANCELLED, 5)
        raise KeyError("changed my mind")

    with pytest.raises(KeyError, match="changed my mind"), writing(url) as session:
        change_and_fail(session)
    with reading(url) as session:
        assert session.exec(select(tables.Run.name)).all() == ["shop"]
        assert session.get_one(tables.Item, 1).status == "pending"


def test_joined_statements_are_committed_with_the_session(url, stock, other):
    stock(url, 1)
    with writing(url) as session:
        claims.withdraw_items(Transaction.joined(session), [1], ItemStatus.CANCELLED, 5)
        session.add(other)
    with reading(url) as session:
        assert Transaction.joined(session).rows(NAMES) == [("shop",), ("other",)]
        assert session.get_one(tables.Item, 1).status == "cancelled"


def test_joined_statements_cannot_begin_or_commit(url):
    with writing(url) as session, pytest.raises(StorageError, match="Remove the `with`"), Transaction.joined(session):
        pytest.fail("it was entered")


def test_a_transaction_begins_as_soon_as_another_writer_is_done(url, stock):
    stock(url, 1)

    def rename():
        with Transaction(url) as db:
            return time.monotonic(), db.run("UPDATE run SET name = 'second' WHERE name = :old", old="first")

    with ThreadPoolExecutor() as pool:
        with writing(url) as session:
            session.get_one(tables.Run, 1).name = "first"
            session.flush()
            waiting = pool.submit(rename)
            time.sleep(0.3)
            released = time.monotonic()
        began, changed = waiting.result(timeout=10)
    assert (began > released, changed) == (True, 1)


def test_a_reading_transaction_waits_for_no_writer(url, stock):
    stock(url, 1)
    with writing(url) as session:
        session.get_one(tables.Run, 1).name = "unfinished"
        session.flush()
        with Transaction(url, sqlite_begin="DEFERRED") as db:
            assert db.rows(NAMES) == [("shop",)]


@pytest.mark.parametrize(("status", "is_free"), [("claimed", False), ("decided", False), ("lapsed", True)])
def test_a_place_that_is_held_or_answered_is_not_taken_again(url, stock, status, is_free):
    stock(url, 1).claim(run_id=1, trial=0, reviewer="ann", now_ms=0, lease_ms=1_000)
    seat = {"item_id": 1, "budget_id": 1, "reviewer": "ann", "token": "another window", "units": 1}
    with writing(url) as session:
        db = Transaction.joined(session)
        db.run("UPDATE slot SET status = :status WHERE id = 1", status=status)
        assert (db.row(statements.CLAIM_SLOT, **seat, now_ms=1, until_ms=2) is not None) is is_free
