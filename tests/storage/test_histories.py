"""Eight processes at one queue, each killed now and then: their notes and the database tell the same story."""

import re
import time

import pytest
from sqlalchemy import create_engine, text

from storage.check import check
from storage.queue import Queue
from tests.postgres import BOTH_AT_LENGTH, NEEDED
from tests.storage.histories import Hasty, Unpaid, count_overlaps, finish, judge, playing

LOOKED_AT = {"acts", "snapshots"}
CAUGHT = {
    Unpaid: {"snapshot: budget", "snapshot: ledger"},
    Hasty: {"snapshot: overlapping claims", "overlapping claims"},
}


def run(queue, folder, processes=8, seconds=1.5, kills=16):
    folder.mkdir(exist_ok=True)
    with playing(queue, folder, processes, seconds) as kill_one:
        for _ in range(kills):
            time.sleep(seconds / (kills + 2))
            kill_one()
    return judge(queue.url, folder)


@BOTH_AT_LENGTH
def test_killed_processes_neither_lose_nor_double_anything(url, stock, tmp_path):
    stock(url, 300, cap=2_000)
    run(Queue(url), tmp_path)
    finish(Queue(url), tmp_path)
    found = judge(url, tmp_path)
    assert {*found} == LOOKED_AT
    assert found["acts"] > 150
    assert check(url) == []


def note(who, at, ended, **more):
    return {"who": who, "act": "claim", "item_id": 1, "at": at, "ended": ended} | more


def test_a_claim_that_was_answered_after_its_lease_had_lapsed_overlaps_with_none():
    first = [note("a", 0, 1, lease_until_ms=300), note("a", 2, 3, act="decide")]
    assert count_overlaps([*first, note("b", 4, 5, lease_until_ms=304)]) == 1
    # The process waited for a processor from before the lease of `a` until after its own.
    assert count_overlaps([note("b", -400, 5, lease_until_ms=-100), *first]) == 0


# The judge reads notes and snapshots in the same way on both databases; one of them shows that it looks.
@pytest.mark.parametrize("wrong", [Unpaid, Hasty])
@BOTH_AT_LENGTH
@pytest.mark.at_length
def test_the_judge_catches_a_queue_that_is_built_wrong(url, stock, tmp_path, wrong):
    stock(url, 3_000)
    # On a busy machine, a round may be too short to show it.
    assert any({*run(wrong(url), tmp_path / str(number), 4, 1.0, 4)} & CAUGHT[wrong] for number in range(8))


@pytest.mark.at_length
@pytest.mark.parametrize("url", [pytest.param("postgresql", marks=NEEDED)], indirect=True)
def test_cut_connections_are_one_sentence_each_and_neither_lose_nor_double_anything(url, stock, tmp_path):
    stock(url, 150)
    server = create_engine(url, isolation_level="AUTOCOMMIT")
    cut = text(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        " AND datname = current_database()"
    )
    with playing(Queue(url), tmp_path, 4, 3.0), server.connect() as connection:
        cuts, end = 0, time.monotonic() + 2.6
        # On a busy machine, few of the processes are connected again after 0.2 s.
        while cuts < 16 and time.monotonic() < end:
            time.sleep(0.2)
            cuts += connection.execute(cut).scalar_one()
    server.dispose()
    finish(Queue(url), tmp_path)
    found = judge(url, tmp_path)
    assert cuts >= 8
    assert {*found} - {"fell"} == LOOKED_AT
    assert found["acts"] > 50
    falls = [line for path in tmp_path.glob("r*.jsonl") for line in path.read_text().splitlines() if '"fell"' in line]
    assert falls
    assert [line for line in falls if not re.search("server (was cut|is stopping)", line)] == []
    assert check(url) == []
