"""Several processes at one file: the budget is exact, nothing happens twice, and a kill leaves nothing half done."""

import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from sqlmodel import select

from storage import tables
from storage.check import check
from storage.engine import reading
from storage.queue import BudgetState

REVIEWERS = Path(__file__).with_name("reviewers.py")
AT = {"run_id": 1, "trial": 0}


def start(url, name, *lease_ms):
    command = [sys.executable, str(REVIEWERS), url, name, *map(str, lease_ms)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_four_processes_spend_a_budget_of_four_hundred_exactly(url, stock):
    queue = stock(url, 800, cap=400)
    people = [start(url, f"reviewer {place}") for place in range(4)]
    reports = [person.communicate(timeout=120) for person in people]
    assert [errors for _, errors in reports] == [""] * 4
    assert sum(int(answers) for answers, _ in reports) == 400
    assert queue.budget(**AT) == BudgetState(cap=400, used=400, halted=0, left=0)
    with reading(url) as session:
        decided = Counter(session.exec(select(tables.Decision.item_id)))
        spent = [row.units for row in session.exec(select(tables.LedgerEntry))]
    assert len(decided) == 400
    assert set(decided.values()) == {1}
    assert sum(spent) == 400
    assert check(url) == []


@pytest.mark.at_length
def test_random_kills_leave_no_half_written_claim_or_answer(url, stock):
    stock(url, 250, cap=None)
    chance, names, killed = random.Random(3), (f"reviewer {n}" for n in range(1_000)), 0
    people = [start(url, next(names), 300) for _ in range(3)]
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        time.sleep(chance.uniform(0.2, 0.6))
        victim = chance.randrange(len(people))
        killed += people[victim].poll() is None
        people[victim].kill()
        people[victim].communicate()
        assert check(url) == []
        people[victim] = start(url, next(names), 300)
    for person in people:
        person.kill()
        person.communicate()
    assert killed >= 5
    last = start(url, "the last one", 5_000)
    _, errors = last.communicate(timeout=60)
    assert errors == ""
    with reading(url) as session:
        assert set(session.exec(select(tables.Item.status))) <= {"decided", "delivered"}
        current = session.exec(select(tables.Decision.item_id).where(tables.Decision.superseded == False)).all()  # noqa: E712
    assert sorted(current) == list(range(1, 251))
    assert check(url) == []
