"""Old links of the runs' chains are removed; the rest is proven from a checkpoint, and attacks on either are named."""

import hashlib
import json
import threading

import pytest
from sqlalchemy import create_engine, text
from sqlmodel import select

from storage import chain_pruning, tables
from storage.backup import backup, restore
from storage.chain_copy import ChainCopy, check_copy, copy_chain
from storage.check import chain_end, check, seal_chains
from storage.engine import reading, writing
from storage.transfer import copy_database
from tests import postgres
from tests.storage.test_audit_chain import add

pytestmark = postgres.BOTH_AT_LENGTH
LATER = 1 << 62


def run_of(number):
    return tables.Run(id=number, name=f"r{number}", kind="gate", environment="generic", created_ms=1)


def prune(url, kept=(), before_ms=LATER):
    with writing(url) as session:
        cuts = chain_pruning.plan_cuts(session.connection(), before_ms, kept)
        chain_pruning.prune(session.connection(), cuts)
    return {cut.chain: (cut.place, cut.links, cut.events) for cut in cuts}


def change(url, *statements):
    """Change the database as another program would."""
    other = create_engine(url)
    with other.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    other.dispose()


def rows(url, statement):
    with reading(url) as session:
        return [tuple(row) for row in session.connection().execute(text(statement))]


def places(url, chain):
    return [place for (place,) in rows(url, f"SELECT place FROM event_link WHERE chain = {chain} ORDER BY place")]


@pytest.fixture
def old(url):
    """Two runs of a row and three events each, and an agent; sealed after two events of each run."""
    with writing(url) as session:
        session.add_all([run_of(1), run_of(2), tables.Agent(name="bot", name_key="bot", token_hash="x", created_ms=1)])
    for turn in range(3):
        if turn == 2:
            seal_chains(url)
        for run_id in (1, 2):
            add(url, f"turn {turn}", run_id=run_id)
    return url


def test_links_up_to_the_last_seal_go_and_earlier_heads_still_match(old):
    heads = [chain_end(old)]
    assert prune(old) == {1: (3, 3, 2), 2: (3, 3, 2)}
    assert (places(old, 1), places(old, 2), places(old, 0)) == ([4, 5], [4, 5], [1, 2])
    assert rows(old, "SELECT kind FROM event ORDER BY id") == [("turn 2",), ("turn 2",)]
    seal_chains(old)
    heads.append(chain_end(old))
    add(old, "later", run_id=1)
    assert check(old, heads) == []
    # The number of links ever written does not fall.
    assert heads[0][0] + 3 == heads[1][0]


def test_the_rows_of_removed_links_are_still_covered(old):
    with writing(old) as session:
        session.get_one(tables.Run, 2).threshold = 0.5
    seal_chains(old)
    prune(old)
    assert check(old) == []
    change(old, "UPDATE run SET seed = 7 WHERE id = 1", "DELETE FROM agent")
    found = check(old)
    assert [problem.partition(":")[2][:40] for problem in found] == [
        " run 1 was changed outside the console: ",
        " agent 1 was removed outside the console",
    ]
    with writing(old) as session:
        session.get_one(tables.Run, 2).threshold = 0.6
    assert check(old) == found


def test_a_row_that_was_removed_before_the_pruning_is_not_missed(old):
    events = rows(old, "SELECT event_id FROM event_link WHERE chain = 2 AND content_digest <> ''")
    add(old, "run deleted", erases=[event_id for (event_id,) in events])
    with writing(old) as session:
        session.delete(session.get_one(tables.Run, 2))
    seal_chains(old)
    assert prune(old) == {1: (4, 4, 3), 2: (4, 4, 0)}
    assert (check(old), places(old, 2)) == ([], [5])


def test_nothing_without_a_seal_of_that_age_and_no_kept_chain_is_pruned(old):
    (sealed,) = rows(old, "SELECT at_ms FROM event_link WHERE kind = 'heads'")[0]
    assert prune(old, before_ms=sealed) == {}
    assert {*prune(old, kept={1}, before_ms=sealed + 1)} == {2}
    assert (places(old, 1), check(old)) == ([1, 2, 3, 4], [])


def test_a_second_pruning_goes_on_from_the_first(old):
    prune(old)
    # Nothing was sealed since.
    assert prune(old) == {}
    seal_chains(old)
    assert prune(old) == {1: (5, 1, 1), 2: (5, 1, 1)}
    seal_chains(old)
    # Only checkpoints would go.
    assert (prune(old), places(old, 1), check(old)) == ({}, [6], [])
    change(old, "UPDATE run SET seed = 7 WHERE id = 1")
    assert check(old)[0].startswith("Audit: run 1 was changed outside the console: ")


@pytest.mark.at_length
def test_digests_of_many_rows_are_in_several_links(old):
    with writing(old) as session:
        session.add_all(
            tables.Policy(run_id=1, version=n, text="", digest="", author="a", created_ms=1) for n in range(1_500)
        )
    seal_chains(old)
    prune(old)
    assert (check(old), places(old, 1)) == ([], [6, 7])
    seal_chains(old)
    add(old, "later", run_id=1)
    seal_chains(old)
    prune(old)
    assert (check(old), places(old, 1)) == ([], [9, 10])


@pytest.mark.parametrize(
    ("place", "problem"),
    [(4, "does not follow the checkpoint at 3"), (6, "does not follow event"), (7, "ends early; the last event")],
)
def test_a_link_that_was_removed_after_the_checkpoint_is_named(old, place, problem):
    prune(old)
    for kind in ("sixth", "seventh"):
        add(old, kind, run_id=1)
    gone = f"chain = 1 AND place = {place}"
    change(
        old,
        f"DELETE FROM event WHERE id IN (SELECT event_id FROM event_link WHERE {gone})",
        f"DELETE FROM event_link WHERE {gone}",
    )
    (found, *_) = check(old)
    assert problem in found


def forge(url, mark, fixed):
    """Write another mark into the checkpoint of run 1, and with `fixed` the hashes that then belong to it."""
    ((event_id, previous, at_ms, told, place),) = rows(
        url,
        "SELECT event_id, previous_hash, at_ms, rows, place FROM event_link WHERE chain = 1 AND kind = 'checkpoint'",
    )
    told = json.dumps([["chain", 1, mark], *json.loads(told)[1:]], separators=(",", ":"))
    change(url, f"UPDATE event_link SET rows = '{told}' WHERE event_id = {event_id}".replace(":", "\\:"))
    if fixed:
        parts = [previous, event_id, at_ms, "checkpoint", "[]", "", told, 1, place]
        digest = hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()
        change(
            url,
            f"UPDATE event_link SET hash = '{digest}' WHERE event_id = {event_id}",
            f"UPDATE chain_end SET hash = '{digest}' WHERE id = 1",
        )


def test_a_checkpoint_that_was_altered_is_named(old):
    prune(old)
    ((fourth,),) = rows(old, "SELECT hash FROM event_link WHERE chain = 1 AND place = 4")
    ((third,),) = rows(old, "SELECT previous_hash FROM event_link WHERE chain = 1 AND place = 4")
    forge(old, f"3:{third}", fixed=False)
    assert check(old) == []
    forge(old, f"4:{fourth}", fixed=False)
    assert "Audit: the checkpoint of the chain of run 1 was written outside the console." in check(old)
    forge(old, f"3:{third}", fixed=True)
    assert check(old) == []
    # The fourth link is removed too, and the forged checkpoint covers it, with its own hash.
    gone = "chain = 1 AND place = 4"
    change(
        old,
        f"DELETE FROM event WHERE id IN (SELECT event_id FROM event_link WHERE {gone})",
        f"DELETE FROM event_link WHERE {gone}",
    )
    forge(old, f"4:{fourth}", fixed=True)
    assert check(old) == ["Audit: the checkpoint of the chain of run 1 was written outside the console."]


def test_a_checkpoint_that_was_removed_is_named(old):
    prune(old)
    end = "(SELECT hash FROM event_link WHERE chain = 1 AND place = 4)"
    change(
        old,
        f"UPDATE chain_end SET events = 4, hash = {end} WHERE id = 1",
        "DELETE FROM event_link WHERE chain = 1 AND place = 5",
    )
    found = check(old)
    assert "does not follow the beginning" in found[0]
    assert found[1] == "Audit: run 1 was added outside the console."


def test_a_carried_digest_that_was_altered_is_named(old):
    prune(old)
    change(
        old, "UPDATE event_link SET rows = replace(rows, '\"run\"', '\"ran\"') WHERE chain = 1 AND kind = 'checkpoint'"
    )
    assert any("the link of event" in problem for problem in check(old))


def test_the_copy_of_a_pruned_chain_is_checked_on_its_own(old):
    prune(old)
    with reading(old) as session:
        copy = ChainCopy.from_json(copy_chain(session.connection(), 1).to_json())
    assert (check_copy(copy), copy.count_events()) == ([], 1)
    short = ChainCopy(copy.end, copy.links[1:], copy.contents, copy.erased)
    assert "does not follow the checkpoint at 3" in check_copy(short)[0]


@pytest.mark.at_length
def test_a_pruned_database_is_copied_backed_up_and_restored(old, url, tmp_path):
    before, after = tmp_path / "before.db", tmp_path / "after.db"
    backup(old, before)
    prune(old)
    backup(old, after)
    elsewhere = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    copy_database(old, elsewhere)
    assert (check(elsewhere), chain_end(elsewhere)) == ([], chain_end(old))
    assert restore(url, after).went_back.changed == ()
    assert (check(url), places(url, 1)) == ([], [4, 5])
    # A backup of before the pruning has the removed links again.
    assert restore(url, before).went_back.changed == ()
    assert (check(url), places(url, 1)) == ([], [1, 2, 3, 4])
    seal_chains(url)
    prune(url)
    assert (check(url), places(url, 1)) == ([], [5])


@pytest.mark.at_length
def test_writers_and_a_pruning_at_once_neither_wait_forever_nor_break_a_chain(old):
    def write(number):
        for turn in range(12):
            add(old, f"turn {turn}", run_id=1 + turn % 2)
            with writing(old) as session:
                session.exec(select(tables.Run).where(tables.Run.id == 1 + (turn + number) % 2)).one().seed = (
                    turn * 10 + number
                )

    writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        seal_chains(old)
        prune(old)
    for writer in writers:
        writer.join()
    assert check(old, [chain_end(old)]) == []
