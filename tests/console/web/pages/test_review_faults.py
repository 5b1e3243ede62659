"""The Review page while its database cannot be used: one true sentence, the words kept, and tried again it works."""

import sqlite3
import time
from contextlib import closing

import pytest
from sqlmodel import select

from console.database import database_url, reading
from storage import tables
from storage.engine import Durability, borrow, engine, give_back
from tests.sweeps import sweep

WORDS = "ask which kettle was meant"


@pytest.fixture
def reviewing(open_page, kettles):
    """The page with words typed; the item came up long enough ago to be decided."""
    at = open_page("review")
    at.session_state["shown_ms"] = 0
    words = next(area for area in at.text_area if area.label.startswith("Feedback"))
    words.set_value(WORDS)
    return at


def press(at, start):
    next(button for button in at.button if (button.key or "").startswith(start)).click().run()


def decided():
    with reading() as session:
        return [row.feedback_text for row in session.exec(select(tables.Decision))]


def test_a_removed_file_is_said_and_the_words_stay(reviewing, words, data_dir):
    (data_dir / "console.db").unlink()
    press(reviewing, "reject")
    assert "was removed. Stop the console" in words(reviewing)
    assert WORDS in [shown.value for shown in reviewing.code]
    assert "Nothing to review yet" not in words(reviewing)
    assert not (data_dir / "console.db").exists()


LIMITS = {
    "cannot be written": ("query_only=ON", "query_only=OFF"),
    "The disk is full": ("max_page_count=1", "max_page_count=1000000"),
}


@sweep("sentence", LIMITS, kept=1)
def test_a_fault_is_said_and_the_same_answer_is_taken_once_it_is_over(reviewing, words, sentence):
    fault, cure = LIMITS[sentence]
    # More than the pages of the file have room for.
    written = WORDS * 500
    next(area for area in reviewing.text_area if area.label.startswith("Feedback")).set_value(written)
    limit(fault)
    press(reviewing, "reject")
    assert f"{sentence}, so the change was not stored" in words(reviewing)
    assert decided() == []
    limit(cure)
    send_again(reviewing, written)
    assert decided() == [written]


@pytest.mark.at_length
def test_a_file_locked_for_a_minute_is_said_and_the_same_answer_is_taken_once_it_is_not(reviewing, words, data_dir):
    reviewing.default_timeout = 200
    with closing(sqlite3.connect(data_dir / "console.db", isolation_level=None, check_same_thread=False)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        until = time.monotonic() + 60
        while time.monotonic() < until:
            press(reviewing, "reject")
            assert "busy" in words(reviewing)
            assert "Try again in a moment" in words(reviewing)
            reviewing.session_state["shown_ms"] = 0
        holder.execute("ROLLBACK")
    assert decided() == []
    send_again(reviewing, WORDS)
    assert decided() == [WORDS]


def send_again(at, written):
    """The words are still there, and the same key sends them."""
    at.run()
    assert next(area for area in at.text_area if area.label.startswith("Feedback")).value == written
    at.session_state["shown_ms"] = 0
    press(at, "reject")


def limit(pragma):
    """Limits the connection that answers are written on, or lets it write again."""
    opened = engine(database_url(), Durability.FULL)
    connection = borrow(opened, waits=False)
    connection.execute(f"PRAGMA {pragma}")
    give_back(opened, connection, waits=False)


def test_damage_is_said_and_not_taken_for_an_empty_queue(open_page, kettles, words, data_dir):
    at, path = open_page("inbox"), data_dir / "console.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    path.write_bytes(b"garbage" * 9_000)
    assert "Stop the console" in words(at.run())
