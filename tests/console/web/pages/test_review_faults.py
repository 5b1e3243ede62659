"""The Review page while its database cannot be used: one true sentence, the words kept, and tried again it works."""

import sqlite3
from contextlib import closing

import pytest
from sqlmodel import select

from console.database import database_url, reading
from storage import tables
from storage.engine import Durability, borrow, engine, give_back

WORDS = "ask which kettle was meant"


@pytest.fixture
def reviewing(open_page, kettles):
    """The page with words typed; the item came up long enough ago to be decided."""
    at = open_page("review")
    at.session_state["shown_ms"] = 0
    words = next(area for area in at.text_area if area.label.startswith("Words to the agent"))
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
    assert "was removed; stop the console" in words(reviewing)
    assert WORDS in [shown.value for shown in reviewing.code]
    assert "Nothing to review yet" not in words(reviewing)
    assert not (data_dir / "console.db").exists()


def test_a_read_only_file_is_said_and_the_same_answer_is_taken_once_it_is_not(reviewing, words):
    opened = engine(database_url(), Durability.FULL)
    limit(opened, read_only=True)
    press(reviewing, "reject")
    assert "nothing of this was stored" in words(reviewing)
    assert decided() == []
    limit(opened, read_only=False)
    reviewing.run()
    words_there = next(area for area in reviewing.text_area if area.label.startswith("Words to the agent"))
    assert words_there.value == WORDS
    reviewing.session_state["shown_ms"] = 0
    press(reviewing, "reject")
    assert decided() == [WORDS]


def limit(opened, *, read_only):
    """Lets the connection that answers are written on write no more, or again."""
    connection = borrow(opened, waits=False)
    connection.execute(f"PRAGMA query_only={'ON' if read_only else 'OFF'}")
    give_back(opened, connection, waits=False)


def test_damage_is_said_and_not_taken_for_an_empty_queue(open_page, kettles, words, data_dir):
    at, path = open_page("inbox"), data_dir / "console.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    path.write_bytes(b"garbage" * 9_000)
    assert "stop the console" in words(at.run())
