"""Busy reviewers killed at random moments: after each kill the books must agree, and no answer may be lost or doubled.

`python tests/benchmarks/crash.py [--quick]`; the last line is the result as JSON. A careless reviewer, who claims in
one transaction and pays in another, is killed too: the check has to find what that leaves behind.
"""

import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "storage"))

from queue_cells import build
from reviewers import restless, steady
from sqlalchemy import text

from storage.check import check
from storage.engine import close, reading
from storage.queue import Queue
from storage.queue import statements as sql
from storage.queue.transaction import Transaction

AT = {"run_id": 1, "trial": 0}
PROCESSES, LEASE_MS, KILLS_PER_CHECK = 4, 300, 10
FORK = multiprocessing.get_context("fork")


def main() -> None:
    """Kills, checks, prints, ends with one line of JSON."""
    kills, items = (60, 8_000) if "--quick" in sys.argv[1:] else (500, 30_000)
    figures = {"kills": 0, "problems": 0, "answers_lost_or_doubled": 0, "units_not_spent": 0}
    with tempfile.TemporaryDirectory() as folder:
        while figures["kills"] < kills:
            path = build(Path(folder) / f"{figures['kills']}.db", items)
            for name, value in one_file(f"sqlite:///{path}", items, kills - figures["kills"]).items():
                figures[name] += value
        figures["careless_caught"] = careless_caught(f"sqlite:///{build(Path(folder) / 'careless.db', 5_000)}")
    report(figures, kills)


def one_file(url: str, items: int, kills: int) -> dict[str, int]:
    """Kills reviewers of one file until that many died or its budget is spent, then lets one finish in peace."""
    cap = items // 2
    queue, problems, killed = Queue(url), 0, 0
    queue.open_budget(**AT, cap=cap)
    close(url)
    for killed in killing(url, lambda name: restless(Queue(url), name, LEASE_MS), kills):
        if killed % KILLS_PER_CHECK == 0:
            problems += len(check(url))
            spent = queue.budget(**AT).left == 0
            close(url)
            if spent:
                break
    queue.sweep(now_ms=time.time_ns() // 1_000_000 + LEASE_MS)
    steady(queue, "the last one")
    problems += len(check(url))
    with reading(url) as session:
        current = "FROM decision WHERE NOT superseded"
        decided = session.connection().execute(text(f"SELECT count(*), count(DISTINCT item_id) {current}")).one()
    left = queue.budget(**AT).left
    close(url)
    lost_or_doubled = abs(cap - left - decided[0]) + decided[0] - decided[1]
    return {"kills": killed, "problems": problems, "answers_lost_or_doubled": lost_or_doubled, "units_not_spent": left}


def killing(url: str, review: Callable[[str], object], kills: int):
    """Keeps four reviewers at work and kills one of them at a time; yields the number killed so far."""
    chance, started = random.Random(5), 0

    def start() -> BaseProcess:
        nonlocal started
        started += 1
        # Forked, not spawned: a reviewer is at work within milliseconds. No connection is open at this moment.
        person = FORK.Process(target=review, args=(f"reviewer {os.getpid()} {started}",), daemon=True)
        person.start()
        return person

    people = [start() for _ in range(PROCESSES)]
    try:
        for killed in range(1, kills + 1):
            time.sleep(chance.uniform(0.02, 0.2))
            victim = chance.randrange(PROCESSES)
            kill(people[victim])
            yield killed
            people[victim] = start()
    finally:
        for person in people:
            kill(person)


def kill(person: BaseProcess) -> None:
    """Ends a reviewer without a word of warning."""
    if person.pid is not None and person.is_alive():
        os.kill(person.pid, signal.SIGKILL)
    person.join()


def careless_caught(url: str) -> int:
    """1 if the check finds what killed reviewers leave behind who claim first and pay in a second transaction."""
    for _ in killing(url, lambda name: careless(url, name), 40):
        if check(url):
            close(url)
            return 1
        close(url)
    return 0


def careless(url: str, name: str) -> None:
    """Takes item after item and pays for each afterwards."""
    at = time.time_ns() // 1_000_000
    for place in range(1_000_000):
        who = f"{name} {place}"
        with Transaction(url) as db:
            budget_id = db.rows(sql.BUDGET, **AT, scope="")[0][0]
            item_id = db.rows(sql.FRESH, **AT, reviewer=who)[0][0]
            db.run(sql.TAKE_SLOT, item_id=item_id)
            seat = {"item_id": item_id, "budget_id": budget_id, "reviewer": who}
            slot = db.rows(sql.CLAIM_SLOT, **seat, token=who, units=1, now_ms=at, until_ms=at + 600_000)[0][0]
        with Transaction(url) as db:
            db.run(sql.SPEND, budget_id=budget_id, units=1, halted=0)
            db.run(sql.INSERT_LEDGER, **seat, slot_id=slot, entry="spend", reason="claim", units=1, now_ms=at)


def report(figures: dict[str, int], kills: int) -> None:
    """Prints a line for each figure and the JSON."""
    none = ("<=", 0)
    goals = {"kills": (">=", kills), "problems": none, "answers_lost_or_doubled": none, "units_not_spent": none}
    goals["careless_caught"] = (">=", 1)
    met = {
        name: figures[name] >= goal if sign == ">=" else figures[name] <= goal for name, (sign, goal) in goals.items()
    }
    for name, (sign, goal) in goals.items():
        print(f"{name:<28}{figures[name]:>6}   {sign} {goal} {'met' if met[name] else 'MISSED'}")
    print(json.dumps({"benchmark": "crash", "figures": figures, "goals": goals, "met": all(met.values())}))


if __name__ == "__main__":
    main()
