"""Several processes at one file: the budget is exact, and nothing happens twice."""

import subprocess
import sys
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


def start(url, name):
    command = [sys.executable, str(REVIEWERS), url, name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.at_length
def test_four_processes_spend_a_budget_of_two_hundred_exactly(url, stock):
    queue = stock(url, 400, cap=200)
    people = [start(url, f"reviewer {place}") for place in range(4)]
    reports = [person.communicate(timeout=120) for person in people]
    assert [errors for _, errors in reports] == [""] * 4
    assert sum(int(answers) for answers, _ in reports) == 200
    assert queue.budget(**AT) == BudgetState(cap=200, used=200, halted=0, left=0)
    with reading(url) as session:
        decided = Counter(session.exec(select(tables.Decision.item_id)))
        spent = [row.units for row in session.exec(select(tables.LedgerEntry))]
    assert len(decided) == 200
    assert set(decided.values()) == {1}
    assert sum(spent) == 200
    assert check(url) == []
