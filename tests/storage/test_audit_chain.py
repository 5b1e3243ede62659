"""The audit chain: whatever is changed, removed, put elsewhere or added behind its back is named."""

import re
import sqlite3
import threading
import time
from contextlib import closing

import pytest
from sqlalchemy import text

from storage import audit_chain, tables
from storage.check import chain_end, check, count_unsealed, parse_heads, seal_chains
from storage.engine import writing
from storage.errors import StorageError
from storage.linked_rows import _sqlite_triggers, parts_digest
from tests.postgres import BOTH
from tests.sweeps import sweep

CONTENT = {"run_id": None, "at_ms": 1, "actor": "Ada", "subject": "shop", "detail": "{}"} | {
    "door": "cli",
    "place": "here",
    "before": "5",
    "after": "9",
}


def add(url, kind, erases=(), run_id=None):
    with writing(url) as session:
        return audit_chain.append(session.connection(), CONTENT | {"kind": kind, "run_id": run_id}, erases)


@pytest.fixture
def chained(url):
    """A database with four events."""
    for kind in ("first", "second", "third", "fourth"):
        add(url, kind)
    return url


def change(url, *statements):
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_a_chain_that_nobody_touched_is_sound(chained):
    assert check(chained) == []
    events, end = chain_end(chained)
    assert (events, len(end)) == (4, 64)


@sweep("column", ["actor", "door", "place", "before", "after", "subject", "detail", "kind"])
def test_an_event_whose_content_was_changed_is_named(chained, column):
    change(chained, f"UPDATE event SET {column} = 'x' WHERE id = 2")
    assert check(chained) == ["Audit: event 2 (second) was changed."]


def test_an_event_whose_time_was_changed_is_named(chained):
    change(chained, "UPDATE event SET at_ms = 7 WHERE id = 3")
    assert check(chained) == ["Audit: event 3 (third) was changed."]


def test_the_first_of_several_is_named(chained):
    change(chained, "UPDATE event SET actor = 'Eve' WHERE id > 1")
    assert check(chained) == ["Audit: event 2 (second) was changed."]


def test_a_link_that_was_changed_is_named(chained):
    change(chained, "UPDATE event_link SET content_digest = 'x' WHERE event_id = 2")
    assert check(chained) == ["Audit: the link of event 2 (second) was changed."]


def test_an_event_that_was_removed_is_named(chained):
    change(chained, "DELETE FROM event WHERE id = 2")
    assert check(chained) == ["Audit: event 2 (second) was removed."]


def test_an_event_that_was_removed_with_its_link_is_noticed(chained):
    change(chained, "DELETE FROM event WHERE id = 2", "DELETE FROM event_link WHERE event_id = 2")
    (problem,) = check(chained)
    assert problem.startswith("Audit: event 3 (third) does not follow event 1 (first)")


@pytest.mark.parametrize("last", [4, 3])
def test_the_last_events_are_missed_too(chained, last):
    change(chained, f"DELETE FROM event WHERE id >= {last}", f"DELETE FROM event_link WHERE event_id >= {last}")
    assert check(chained) == ["Audit: the chain ends early; the last event, 4, was removed."]


def test_events_in_another_order_are_named(chained):
    ids = ("event", "id"), ("event_link", "event_id"), ("event_link", "place")
    swap = [
        f"UPDATE {table} SET {column} = CASE {column} WHEN -2 THEN 3 ELSE 2 END WHERE {column} IN (-2, -3)"
        for table, column in ids
    ]
    aside = [f"UPDATE {table} SET {column} = -{column} WHERE {column} IN (2, 3)" for table, column in ids]
    change(chained, *aside, *swap)
    (problem,) = check(chained)
    assert problem.startswith("Audit: event 2 (third) does not follow event 1 (first)")


def test_an_event_that_was_added_past_the_chain_is_named(chained):
    change(chained, "INSERT INTO event (at_ms, actor, kind, subject, detail) VALUES (1, 'Eve', 'fifth', '', '{}')")
    assert check(chained) == ["Audit: event 5 (fifth) was added outside the chain."]


def test_an_end_that_is_gone_is_named(chained):
    change(chained, "DELETE FROM chain_end")
    assert check(chained) == ["The end of the audit chain is missing."]
    with pytest.raises(StorageError, match="restore a backup"):
        add(chained, "fifth")


def test_erased_content_leaves_a_link_that_still_verifies(chained):
    add(chained, "content erased", erases=[2, 3])
    assert check(chained) == []
    with writing(chained) as session:
        assert session.connection().execute(text("SELECT kind FROM event ORDER BY id")).scalars().all() == [
            "first",
            "fourth",
            "content erased",
        ]
    change(chained, "DELETE FROM event WHERE id = 4")
    assert check(chained) == ["Audit: event 4 (fourth) was removed."]


def test_an_id_whose_content_was_erased_is_never_given_again(chained):
    assert add(chained, "content erased", erases=[4]) == 5
    add(chained, "content erased", erases=[5])
    assert add(chained, "next") == 7
    assert check(chained) == []


def test_something_in_the_place_of_erased_content_is_named(chained):
    add(chained, "content erased", erases=[2])
    change(
        chained, "INSERT INTO event (id, at_ms, actor, kind, subject, detail) VALUES (2, 1, 'Eve', 'second', '', '')"
    )
    assert check(chained) == ["Audit: event 2 (second) was erased, but has content again."]


def test_an_event_and_its_link_are_written_or_neither(url):
    def fail():
        with writing(url) as session:
            audit_chain.append(session.connection(), CONTENT | {"kind": "one"})
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    assert (check(url), chain_end(url)) == ([], (0, ""))


@BOTH
def test_writers_at_once_make_a_chain_for_each_run(url):
    with writing(url) as session:
        for run_id in (1, 2):
            session.add(tables.Run(id=run_id, name=f"r{run_id}", kind="gate", environment="generic", created_ms=1))

    def write(turns):
        for first, second in turns:
            with writing(url) as session:
                for run_id in (first, second):
                    audit_chain.append(session.connection(), CONTENT | {"kind": "one", "run_id": run_id})

    # Two that write into the same chains in another order do not wait for each other forever.
    turns = [(None, 1), (1, None), (1, 2), (2, 1)]
    writers = [threading.Thread(target=write, args=([pair] * 8,)) for pair in turns]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert (check(url), chain_end(url)[0], count_unsealed(url)) == ([], 66, 50)
    seal_chains(url)
    assert (check(url, [chain_end(url)]), count_unsealed(url)) == ([], 0)


@pytest.mark.parametrize("cut", [1, 4])
def test_a_head_kept_elsewhere_shows_a_cut_tail_and_an_emptied_chain(chained, cut):
    head = chain_end(chained)
    add(chained, "fifth")
    assert check(chained, [head, chain_end(chained), (0, "")]) == []
    with closing(sqlite3.connect(chained.removeprefix("sqlite:///"))) as connection:
        last = connection.execute("SELECT hash FROM event_link WHERE event_id = ?", (4 - cut,)).fetchone()
    end = f"UPDATE chain_end SET event_id = {4 - cut}, events = {4 - cut}, hash = '{last[0] if last else ''}'"
    change(
        chained, f"DELETE FROM event WHERE id > {4 - cut}", f"DELETE FROM event_link WHERE event_id > {4 - cut}", end
    )
    assert check(chained) == []
    (problem,) = check(chained, [head])
    assert problem.startswith(f"Audit: the chain had 4 events and the hash {head[1][:16]}; it is shorter now")


def test_a_head_kept_elsewhere_shows_a_chain_written_anew(chained, url):
    head = chain_end(chained)
    change(chained, "DELETE FROM event", "DELETE FROM event_link")
    change(chained, "UPDATE chain_end SET event_id = 0, events = 0, hash = ''")
    for kind in ("one", "two", "three", "four", "five"):
        add(url, kind)
    assert check(url) == []
    assert "it has another event there" in check(url, [head])[0]


@pytest.fixture
def two_runs(chained):
    """A database with events of access and of two runs, sealed after the second event of each run."""
    with writing(chained) as session:
        session.add_all(
            tables.Run(id=n, name=f"r{n}", kind="gate", environment="generic", created_ms=1) for n in (1, 2)
        )
    for turn in range(3):
        if turn == 2:
            seal_chains(chained)
        for run_id in (1, 2):
            add(chained, f"turn {turn}", run_id=run_id)
    return chained


def ends(url):
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        return connection.execute("SELECT id, events, sealed FROM chain_end ORDER BY id").fetchall()


def cut(url, run_id, left):
    """Cut the chain of a run after its first links, as somebody who can write the file would."""
    end = f"(SELECT %s FROM event_link WHERE chain = {run_id} AND place = {left})"
    gone = f"SELECT event_id FROM event_link WHERE chain = {run_id} AND place > {left}"
    moved = f"events = {left}, hash = {end % 'hash'}, event_id = {end % 'event_id'}"
    change(
        url,
        f"DELETE FROM event WHERE id IN ({gone})",
        f"DELETE FROM event_link WHERE chain = {run_id} AND place > {left}",
        f"UPDATE chain_end SET {moved} WHERE id = {run_id}",
    )


def test_each_run_has_a_chain_and_that_of_access_their_heads(two_runs):
    # A run's own row is the first link of its chain; the seal is the fifth of access.
    assert ends(two_runs) == [(0, 5, 0), (1, 4, 3), (2, 4, 3)]
    assert (check(two_runs), count_unsealed(two_runs)) == ([], 2)
    head = chain_end(two_runs)
    seal_chains(two_runs)
    seal_chains(two_runs)
    assert ends(two_runs) == [(0, 6, 0), (1, 4, 4), (2, 4, 4)]
    assert (check(two_runs, [head, chain_end(two_runs)]), count_unsealed(two_runs)) == ([], 0)


def test_a_run_whose_chain_was_cut_after_the_seal_is_named(two_runs):
    cut(two_runs, 2, 3)
    assert check(two_runs) == []
    cut(two_runs, 2, 2)
    assert check(two_runs) == ["Audit: the chain of run 2 was cut: it had 3 events, and has 2."]


def test_the_last_of_several_seals_says_how_long_a_cut_chain_was(two_runs):
    seal_chains(two_runs)
    for left in (3, 2):
        cut(two_runs, 2, left)
        assert check(two_runs) == [f"Audit: the chain of run 2 was cut: it had 4 events, and has {left}."]


def test_beyond_twenty_changed_rows_of_a_table_only_their_number_is_said(two_runs):
    added = "INSERT INTO agent (name, name_key, token_hash, created_ms) VALUES ('a{0}', 'a{0}', '{0}', 1)"
    change(two_runs, *(added.format(number) for number in range(23)))
    found = check(two_runs)
    assert [each for each in found if "agent" in each][-1] == "Audit: ... and 3 more rows of agent."
    assert sum("was added outside the console" in each for each in found) == 20


def test_a_chain_that_was_removed_is_named(two_runs):
    change(two_runs, "DELETE FROM event WHERE run_id = 1", "DELETE FROM event_link WHERE chain = 1")
    assert check(two_runs)[0] == "Audit: the chain of run 1 ends early; the last event, 12, was removed."
    change(two_runs, "DELETE FROM chain_end WHERE id = 1")
    assert check(two_runs)[0] == "Audit: the chain of run 1 was removed."


def test_a_chain_without_links_is_named_by_its_end_or_by_the_seal(two_runs):
    with writing(two_runs) as session:
        session.add(tables.Run(id=3, name="r3", kind="gate", environment="generic", created_ms=1))
    # The third chain was never sealed; the end of the first one says that it never had an event.
    change(
        two_runs,
        "DELETE FROM event WHERE run_id IN (1, 3)",
        "DELETE FROM event_link WHERE chain IN (1, 3)",
        "UPDATE chain_end SET events = 0, hash = '' WHERE id = 1",
    )
    assert [each for each in check(two_runs) if "chain of run" in each] == [
        "Audit: the chain of run 1 ends early; the last event, 12, was removed.",
        "Audit: the chain of run 3 ends early; the last event, 14, was removed.",
    ]


def test_an_end_without_events_of_a_chain_that_was_never_sealed_is_no_problem(two_runs):
    change(two_runs, "INSERT INTO chain_end (id, event_id, events, sealed, hash) VALUES (9, 0, 0, 0, '')")
    assert check(two_runs) == []


@pytest.mark.parametrize("change_of", ["place = place + 1", "previous_hash = 'x'"])
def test_a_link_that_does_not_follow_the_one_before_is_named(two_runs, change_of):
    last = "(SELECT max(event_id) FROM event_link WHERE chain = 2)"
    change(two_runs, f"UPDATE event_link SET {change_of} WHERE event_id = {last}")
    found = [each for each in check(two_runs) if "does not follow" in each]
    assert found == [
        "Audit: event 13 (turn 2) does not follow event 10 (turn 1); an event between them was removed, "
        "or the order was changed."
    ]


def test_an_event_in_the_place_of_a_link_of_rows_is_named(two_runs):
    rows = "(SELECT min(event_id) FROM event_link WHERE kind = 'rows of run' AND chain = 1)"
    change(
        two_runs,
        f"INSERT INTO event (id, at_ms, actor, kind, subject, detail) VALUES ({rows}, 1, 'Eve', 'rows of run', '', '')",
    )
    assert check(two_runs) == ["Audit: event 5 (rows of run) is a link of rows, but an event was added to it."]


def test_a_chain_that_was_written_anew_is_named(two_runs):
    change(
        two_runs,
        "DELETE FROM event WHERE run_id = 1",
        "DELETE FROM event_link WHERE chain = 1",
        "DELETE FROM chain_end WHERE id = 1",
    )
    for turn in range(4):
        add(two_runs, f"other {turn}", run_id=1)
    assert check(two_runs)[0].startswith("Audit: the chain of run 1 was rewritten: its hash at event ")


def test_an_end_of_a_run_that_is_gone_is_named(two_runs):
    change(two_runs, "DELETE FROM chain_end WHERE id = 2")
    assert check(two_runs) == ["The end of the chain of run 2 is missing."]


def test_events_of_one_run_do_not_fit_into_the_chain_of_another(two_runs):
    change(
        two_runs, "UPDATE event_link SET chain = chain + 5 WHERE chain > 0", "UPDATE chain_end SET id = id + 5 WHERE id"
    )
    assert check(two_runs)[0].startswith("Audit: the link of event 5 (rows of run) was changed.")


def test_a_link_of_rows_has_the_time_of_its_transaction_and_a_removed_row_leaves_no_salt(url):
    began_ms = time.time_ns() // 1_000_000
    with writing(url) as session:
        session.add(tables.Agent(name="bot", name_key="bot", token_hash="x", created_ms=1))
    links = "SELECT kind, at_ms FROM event_link ORDER BY event_id"
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        (kind, at_ms), salts = connection.execute(links).fetchone(), connection.execute("SELECT * FROM row_salt")
        assert (kind, began_ms <= at_ms <= time.time_ns() // 1_000_000) == ("rows of agent", True)
        assert [row[:-1] for row in salts] == [("agent", 1)]
    with writing(url) as session:
        session.delete(session.get_one(tables.Agent, 1))
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        assert [kind for kind, _ in connection.execute(links)] == ["rows of agent"] * 2
        assert connection.execute("SELECT * FROM row_salt").fetchall() == []
    assert check(url) == []


def test_each_event_and_each_row_has_a_random_salt(chained):
    with writing(chained) as session:
        session.add_all(tables.Agent(name=name, name_key=name, token_hash=name, created_ms=1) for name in "abcd")
    with closing(sqlite3.connect(chained.removeprefix("sqlite:///"))) as connection:
        salts = [salt for (salt,) in connection.execute("SELECT salt FROM event UNION ALL SELECT salt FROM row_salt")]
    assert (len(salts), len({salt[:8] for salt in salts})) == (8, 8)
    assert all(re.fullmatch("[0-9a-f]{32}", salt) for salt in salts)


def test_half_a_surrogate_pair_has_a_digest_of_its_own():
    digests = {parts_digest([text, "x", 1], "group_member", "salt") for text in ("\ud800", "\ud801", "a")}
    assert len(digests) == 3


def test_a_table_that_an_earlier_schema_lacks_has_no_trigger():
    names = [re.search(r"TRIGGER IF NOT EXISTS (\w+)", one)[1] for one in _sqlite_triggers({"agent"})]
    assert names == ["note_agent_insert", "note_agent_update", "note_agent_delete"]


def test_events_of_several_runs_in_one_transaction_are_in_their_chains(two_runs):
    before = ends(two_runs)
    with writing(two_runs) as session:
        for run_id in (2, None, 1, 2):
            audit_chain.append(session.connection(), CONTENT | {"kind": "one", "run_id": run_id})
        session.get_one(tables.Run, 1).threshold = 0.5
    assert [events for _, events, _ in ends(two_runs)] == [before[0][1] + 1, before[1][1] + 2, before[2][1] + 2]
    assert check(two_runs) == []


def test_heads_are_read_with_and_without_a_time():
    third, fourth = "a" * 64, "b" * 64
    assert parse_heads(f"3:{third} 2026-01-01T00:00\n\n4:{fourth}\n0:\n") == [(3, third), (4, fourth), (0, "")]
    for wrong in ("", "three", "3:xyz", f"3:{third[1:]}"):
        with pytest.raises(ValueError, match="no head"):
            parse_heads(wrong)
