"""Every kind of damage is found and said in words."""

import sqlite3
import time
from contextlib import closing

import pytest

from storage.check import check
from storage.errors import StorageError
from storage.migrations import head
from storage.transfer import copy_database
from tests.sweeps import sweep

YEAR_AHEAD = (int(time.time()) + 365 * 24 * 3_600) * 1_000
DAMAGE = [
    ("UPDATE budget SET used = 3", "Budget 1: 3 used, but its ledger adds up to 2."),
    ("UPDATE slot SET units = 0 WHERE id = 1", "Budget 1: 2 used, but its claims and decisions cost 1."),
    ("UPDATE budget SET halted = 1", "Budget 1: 1 halted items counted, but 0 are claimed or decided."),
    ("DELETE FROM ledger WHERE slot_id = 1", "Review slot 1: its ledger adds up to 0, but its status is decided."),
    (
        "UPDATE item SET reviews_required = 2 WHERE id = 1",
        "Item 1: 0 slots open and 1 taken, but 2 reviews are required.",
    ),
    (
        "UPDATE item SET status = 'pending' WHERE id = 1",
        "Item 1 is pending, but 0 slots are open and 0 claims are live.",
    ),
    (
        f"UPDATE slot SET lease_until_ms = {YEAR_AHEAD} WHERE status = 'claimed'",
        "Review slot 2 has a lease that ends too late, since the clock was wrong. Run `inferact worker` to free it.",
    ),
    (
        "INSERT INTO ask (run_id, digest, trajectory_id, item_id, asked_ms, heartbeat_ms, deadline_ms, token, step, "
        f"asker, beats) VALUES (1, 'd', 3, 3, 0, 0, {YEAR_AHEAD}, 't', 0, '', 0)",
        "Item 3 has a deadline that is too late, since the clock was wrong. Run `inferact worker` to expire it.",
    ),
    ("UPDATE decision SET claimed_ms = decided_ms + 1", "Decision 1 was made before its claim."),
    ("UPDATE decision SET superseded = 1", "Review slot 1 is decided and has 0 current decisions."),
    ("UPDATE decision SET superseded = 1, delivered_ms = 1", "Decision 1 was delivered, although it was undone."),
    ("UPDATE item SET status = 'delivered' WHERE id = 1", "Item 1 is delivered, but decision 1 is not."),
    ("DELETE FROM trajectory_body WHERE trajectory_id = 2", "Trajectory 2 has lost its text."),
    ("UPDATE item SET trajectory_id = 99 WHERE id = 3", "Row 3 of table item references a missing trajectory."),
]


@pytest.fixture
def worked(url, stock, answer):
    """A database with one decision and one live claim."""
    queue, at = stock(url, 3, cap=5), {"run_id": 1, "trial": 0, "now_ms": 0, "lease_ms": 1_000}
    mine = queue.claim(reviewer="ann", **at)
    queue.decide(item_id=1, reviewer="ann", token=mine.token, now_ms=1, undo_ms=0, **answer("k"))
    queue.claim(reviewer="bob", **at)
    return url


def change(url, statement):
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        connection.execute(statement)
        connection.commit()


def test_a_sound_database_has_no_problems(worked):
    assert check(worked) == []


# Numbered, since a statement that holds the time has another name in each worker.
@sweep(("statement", "sentence"), DAMAGE, ids=range(len(DAMAGE)), kept=5)
def test_damage_is_named(worked, statement, sentence):
    change(worked, statement)
    assert sentence in check(worked)


def test_a_long_list_is_cut(url, stock):
    stock(url, 30)
    change(url, "DELETE FROM trajectory_body")
    problems = check(url)
    assert len(problems) == 21
    assert problems[-1] == "... and 10 more of this kind."


def test_a_database_of_an_earlier_schema_is_named_and_not_copied(url, tmp_path):
    change(url, "UPDATE alembic_version SET version_num = '0028'")
    said = "The tables are of schema 0028, this console is of 0029. Run `inferact db upgrade`."
    assert check(url) == [said.replace("0029", head())]
    with pytest.raises(StorageError, match=r"is not up to date\. Run inferact db upgrade there first"):
        copy_database(url, f"sqlite:///{tmp_path / 'target.db'}")
    with pytest.raises(StorageError, match="does not exist"):
        copy_database(f"sqlite:///{tmp_path / 'none.db'}", url)


def test_a_halted_item_that_is_claimed_is_counted(url, stock):
    queue, at = stock(url, 1, cap=5, halted=1), {"run_id": 1, "trial": 0, "now_ms": 0, "lease_ms": 1_000}
    for reviewer in ("ann", "bob"):
        assert queue.claim(reviewer=reviewer, **at)
    assert check(url) == []
    change(url, "UPDATE budget SET halted = 0")
    assert check(url) == ["Budget 1: 0 halted items counted, but 1 are claimed or decided."]


def test_a_missing_database_is_named(tmp_path):
    url = f"sqlite:///{tmp_path / 'console.db'}"
    assert check(url)[0].startswith(f"The database {tmp_path / 'console.db'} does not exist. ")
