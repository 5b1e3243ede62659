"""Random histories: processes that put, claim, extend, release, skip, decide, undo, expire and deliver at one queue.

Each process writes down what it is about to do and what came of it, so that a killed one leaves its notes behind. The
judge compares all notes with each other and with the database: nobody's claim overlaps another's, no acknowledged item
or decision is missing, no item has a second feedback, and nothing happens to an item after its end. A monitor adds up
the budget in one snapshot after the other. Two manners are wrong on purpose: the judge has to catch both.
"""

import json
import multiprocessing
import os
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from sqlalchemy import text

from storage.engine import close, reading
from storage.errors import QueueRefusal
from storage.queue import Claim, NewItem, NoClaim, NoClaimReason, Queue
from storage.queue import statements as sql
from storage.queue.claims import withdraw_items
from storage.queue.transaction import Transaction
from storage.tables import ItemStatus

AT = {"run_id": 1, "trial": 0}
ANSWER = {
    "label": "misaligned",
    "feedback_type": "nl",
    "feedback_text": "ask for the size",
    "edited_action": None,
    "action_digest": "digest",
    "annotator_kind": "human",
}
FOREVER = 1 << 61
OVER = (NoClaimReason.EMPTY, NoClaimReason.BUDGET_SPENT)
FORK = multiprocessing.get_context("fork")
LAST = "the last one"
LEASE_MS = 300
"""So short that claims lapse in between."""
MOVES = {"skip": 8, "release": 8, "extend": 10, "decide": 50, "decide twice": 8, "undo": 10, "abandon": 3, "expire": 3}

SUMS = """
SELECT 'budget', count(*) FROM budget b WHERE b.used > b.cap OR b.used <> (
    SELECT coalesce(sum(s.units), 0) FROM slot s WHERE s.budget_id = b.id AND s.status IN ('claimed', 'decided'))
UNION ALL SELECT 'ledger', count(*) FROM budget b WHERE b.used <> (
    SELECT coalesce(sum(l.units), 0) FROM ledger l WHERE l.budget_id = b.id)
UNION ALL SELECT 'overlapping claims', count(*) FROM (
    SELECT item_id FROM slot WHERE status IN ('claimed', 'decided') GROUP BY item_id HAVING count(*) > 1) t
UNION ALL SELECT 'decided but counted as free', count(*) FROM decision d JOIN item i ON i.id = d.item_id
    WHERE NOT d.superseded AND NOT (i.open_slots = 0 OR i.open_slots < i.reviews_required)
UNION ALL SELECT 'second feedback', count(*) FROM (
    SELECT item_id FROM decision WHERE NOT superseded GROUP BY item_id HAVING count(*) > 1) t"""


class Unpaid(Queue):
    """A queue built wrong: it claims in one transaction and pays in a second."""

    def claim(self, **request: Any) -> Claim | NoClaim:
        found = _pick(self.url, request["reviewer"])
        if found is None:
            return NoClaim(NoClaimReason.EMPTY, 0)
        budget_id, item_id = found
        with Transaction(self.url) as db:
            if not db.run(sql.TAKE_SLOT, item_id=item_id):
                return NoClaim(NoClaimReason.ALL_CLAIMED_BY_OTHERS, 1)
            slot_id, token, until_ms = _take(db, budget_id, item_id, request)
        with Transaction(self.url) as db:
            _pay(db, budget_id, item_id, slot_id, request)
        return _claim(item_id, slot_id, token, until_ms)


class Hasty(Queue):
    """A queue built wrong: it reads the next item in one transaction and takes it unseen in a second."""

    def claim(self, **request: Any) -> Claim | NoClaim:
        found = _pick(self.url, request["reviewer"])
        if found is None:
            return NoClaim(NoClaimReason.EMPTY, 0)
        budget_id, item_id = found
        with Transaction(self.url) as db:
            db.run("UPDATE item SET open_slots = 0, status = 'claimed' WHERE id = :item_id", item_id=item_id)
            slot_id, token, until_ms = _take(db, budget_id, item_id, request)
            _pay(db, budget_id, item_id, slot_id, request)
        return _claim(item_id, slot_id, token, until_ms)


def _pick(url: str, reviewer: str) -> tuple[int, int] | None:
    with Transaction(url, sqlite_begin="DEFERRED") as db:
        row = db.row(sql.FRESH.replace("FOR UPDATE SKIP LOCKED", ""), **AT, reviewer=reviewer)
        return row and (db.rows(sql.BUDGET, **AT, scope="")[0][0], row[0])


def _take(db: Transaction, budget_id: int, item_id: int, request: dict[str, Any]) -> tuple[int, str, int]:
    who, at_ms = request["reviewer"], request["now_ms"]
    token, until_ms = f"{who} {at_ms} {item_id}", at_ms + request["lease_ms"]
    values = {"item_id": item_id, "budget_id": budget_id, "reviewer": who, "units": 1, "token": token}
    return db.rows(sql.CLAIM_SLOT, **values, now_ms=at_ms, until_ms=until_ms)[0][0], token, until_ms


def _pay(db: Transaction, budget_id: int, item_id: int, slot_id: int, request: dict[str, Any]) -> None:
    db.run(sql.SPEND, budget_id=budget_id, units=1, halted=0, item_id=item_id)
    ids = {"budget_id": budget_id, "item_id": item_id, "slot_id": slot_id}
    told = {"reviewer": request["reviewer"], "entry": "spend", "reason": "claim", "now_ms": request["now_ms"]}
    db.run(sql.INSERT_LEDGER, **ids, **told, units=1)


def _claim(item_id: int, slot_id: int, token: str, until_ms: int) -> Claim:
    return Claim(item_id, slot_id, token, 1, 0, item_id, 1, "action", 0.0, None, 0, until_ms, "", None, 0)


def now_ms() -> int:
    """The wall clock, which all processes share."""
    return time.time_ns() // 1_000_000


class Notes:
    """One process's notes: a line before each act and a line after it, each in the file at once."""

    def __init__(self, path: Path, who: str) -> None:
        self._file, self._who, self._acts = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), who, count()

    def act(self, name: str, work: Callable[[], Any], **about: Any) -> Any:
        """Does it between two notes; a refusal is a note too, and the answer is then None."""
        number = next(self._acts)
        self._write(act=name, begins=number, **about)
        try:
            found = work()
        except QueueRefusal as refusal:
            self._write(ends=number, refused=type(refusal).__name__)
            return None
        except Exception as error:
            self._write(ends=number, fell=f"{type(error).__name__}: {error}"[:300])
            return None
        self._write(ends=number, **_plain(found))
        return found

    def _write(self, **line: Any) -> None:
        os.write(self._file, json.dumps({"who": self._who, "at": now_ms(), **line}).encode() + b"\n")


def _plain(found: Any) -> dict[str, Any]:
    if isinstance(found, Claim):
        return {"item_id": found.item_id, "lease_until_ms": found.lease_until_ms}
    return {"found": found if isinstance(found, int | str) else str(getattr(found, "id", found))}


@dataclass
class Player:
    """A process that never rests."""

    queue: Queue
    notes: Notes
    who: str
    chance: random.Random

    def play(self, until: float) -> None:
        """Acts at random until then, or until nothing is left."""
        while time.time() < until:
            if self.chance.random() < 0.02:
                self._put()
            claim = partial(self.queue.claim, **AT, reviewer=self.who, lease_ms=LEASE_MS)
            mine = self.notes.act("claim", lambda claim=claim: claim(now_ms=now_ms()))
            if isinstance(mine, NoClaim) and mine.reason in OVER:
                return
            if isinstance(mine, Claim):
                self._move(mine)

    def _move(self, mine: Claim) -> None:
        key = {"item_id": mine.item_id, "reviewer": self.who}
        held = key | {"token": mine.token}
        move = self.chance.choices([*MOVES], [*MOVES.values()])[0]
        act, queue, about = self.notes.act, self.queue, {"item_id": mine.item_id}
        if self.chance.random() < 0.03:
            time.sleep(LEASE_MS / 900)
        if move in ("skip", "release"):
            act("leave", lambda: getattr(queue, move)(**held, now_ms=now_ms()), **about)
        elif move == "extend":
            act("extend", lambda: queue.extend(**held, now_ms=now_ms(), lease_ms=LEASE_MS), **about)
        elif move == "expire":
            act("expire", lambda: self._expire(mine.item_id), **about)
        elif move != "abandon":
            self._decide(held, move == "decide twice")
            if move == "undo":
                act("undo", lambda: queue.undo(**key, now_ms=now_ms(), lease_ms=LEASE_MS), **about)
            elif self.chance.random() < 0.3:
                for decision in (act("due", lambda: queue.due(run_id=1, now_ms=now_ms())) or [])[:5]:
                    self._deliver(decision)

    def _decide(self, held: dict[str, Any], twice: bool) -> None:
        word, key = self.chance.choice(("approve", "reject")), f"{held['token']} {now_ms()}"
        decide = partial(self.queue.decide, **held, undo_ms=0, decision=word, submit_key=key, **ANSWER)
        for _ in range(1 + twice):
            about = {"item_id": held["item_id"], "key": key}
            self.notes.act("decide", lambda: decide(now_ms=now_ms()), **about)

    def _deliver(self, decision: int) -> None:
        mark = partial(self.queue.mark_delivered, decision_ids=[decision])
        self.notes.act("deliver", lambda: mark(now_ms=now_ms()), decision=decision)

    def _expire(self, item_id: int) -> int:
        with Transaction(self.queue.url) as db:
            return withdraw_items(db, [item_id], ItemStatus.EXPIRED, now_ms())

    def _put(self) -> None:
        step = 1_000_000 + self.chance.randrange(1 << 30)
        item = NewItem(1, 0, 1, step, "action", self.chance.random(), 1, None, now_ms())
        self.notes.act("put", lambda: self.queue.put([item]), step=step)


def _play(queue: Queue, folder: Path, who: str, until: float) -> None:
    player = Player(queue, Notes(folder / f"{who}.jsonl", who), who, random.Random(who))
    player.play(until)


def _watch(url: str, path: Path) -> None:
    """Adds up the database in one snapshot after the other, until it is killed."""
    notes = Notes(path, "monitor")
    while True:
        notes.act("snapshot", partial(_sums, url))
        time.sleep(0.005)


def _sums(url: str) -> str:
    with reading(url) as session:
        rows = session.connection().execute(text(SUMS)).all()
    return ", ".join(name for name, amiss in rows if amiss)


@contextmanager
def playing(queue: Queue, folder: Path, processes: int, seconds: float) -> Iterator[Callable[[], bool]]:
    """The processes and the monitor at work; gives a function that kills one at random, and starts another if needed.

    The function returns False if the process had ended by itself, because nothing was left.
    """
    chance, names, until = random.Random(5), count(1), time.time() + seconds

    def start() -> BaseProcess:
        # Forked, not spawned: a process is at work within milliseconds. No connection is open at this moment.
        given = (queue, folder, f"r{next(names)}", until)
        person = FORK.Process(target=_play, args=given, daemon=True)
        person.start()
        return person

    def kill_one() -> bool:
        victim = chance.randrange(processes)
        was_alive = people[victim].is_alive()
        _kill(people[victim])
        people[victim] = start()
        return was_alive

    close(queue.url)
    monitor = FORK.Process(target=_watch, args=(queue.url, folder / "monitor.jsonl"), daemon=True)
    monitor.start()
    people = [start() for _ in range(processes)]
    try:
        yield kill_one
        for person in people:
            person.join(max(0.0, until - time.time()) + 60)
    finally:
        for process in (*people, monitor):
            _kill(process)


def _kill(process: BaseProcess) -> None:
    if process.pid is not None and process.is_alive():
        os.kill(process.pid, signal.SIGKILL)
    process.join()


def finish(queue: Queue, folder: Path) -> None:
    """Waits until every claim has lapsed, then lets one more reviewer decide whatever is left."""
    notes = Notes(folder / "last.jsonl", LAST)
    time.sleep(LEASE_MS / 900)
    queue.sweep(now_ms=now_ms())
    while isinstance(mine := queue.claim(**AT, reviewer=LAST, now_ms=now_ms(), lease_ms=600_000), Claim):
        held = {"item_id": mine.item_id, "reviewer": LAST, "token": mine.token}
        decide = partial(queue.decide, **held, undo_ms=0, submit_key=mine.token, decision="reject", **ANSWER)
        about = {"item_id": mine.item_id, "key": mine.token}
        if notes.act("decide", lambda decide=decide: decide(now_ms=now_ms()), **about) is None:
            return


def judge(url: str, folder: Path) -> Counter[str]:
    """Counts of what went wrong, by kind; `acts` and `snapshots` tell how much was looked at."""
    acts = read_acts(folder)
    found = Counter(acts=len(acts), snapshots=sum(one["act"] == "snapshot" and "ended" in one for one in acts))
    for one in acts:
        if "fell" in one:
            found["fell"] += 1
            print(one["who"], one["act"], one["fell"])
        if one["act"] == "snapshot" and one.get("found"):
            found.update({f"snapshot: {name}": 1 for name in one["found"].split(", ")})
    found["overlapping claims"] = count_overlaps(acts)
    _compare_with_database(url, acts, found)
    return +found


def read_acts(folder: Path) -> list[dict[str, Any]]:
    """Acts of all notes with their begin, and their end unless the process was killed in between."""
    lines = [json.loads(line) for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    ends = {(line["who"], line["ends"]): line for line in lines if "ends" in line}
    acts = []
    for line in lines:
        if "begins" in line:
            end = ends.get((line["who"], line["begins"]))
            if end and "fell" in end:
                # Its outcome is unknown, as that of a killed process.
                end, line = None, {**line, "fell": end["fell"]}
            acts.append({**line, **({**end, "ended": end["at"], "at": line["at"]} if end else {})})
    return sorted(acts, key=lambda one: (one["at"], one["begins"]))


def _is_done(one: dict[str, Any], *names: str) -> bool:
    return one["act"] in names and "ended" in one and "refused" not in one and "fell" not in one


def count_overlaps(acts: list[dict[str, Any]]) -> int:
    """Pairs of spans in which two reviewers both had reason to believe that an item was theirs."""
    spans: dict[int, list[list[Any]]] = defaultdict(list)
    held: dict[tuple[int, str], list[Any]] = {}
    for one in acts:
        item_id = one.get("item_id")
        if item_id is None:
            continue
        key = (item_id, one["who"])
        own = held.get(key)
        is_taken = _is_done(one, "claim", "undo", "decide")
        if own is not None and (is_taken or one["act"] in ("leave", "expire") or "ended" not in one):
            own[1] = min(own[1], one["at"])
        elif own is not None and _is_done(one, "extend"):
            own[1] = one["found"]
        if is_taken:
            held[key] = [one["ended"], one.get("lease_until_ms", FOREVER), one["who"]]
            spans[item_id].append(held[key])
    overlaps = 0
    for at_one in spans.values():
        at_one.sort()
        for place, (_, end, who) in enumerate(at_one):
            # A claim that was answered only after its own lease had lapsed gave nobody a reason.
            overlaps += sum(other != who and start < min(end, until) for start, until, other in at_one[place + 1 :])
    return overlaps


def _compare_with_database(url: str, acts: list[dict[str, Any]], found: Counter[str]) -> None:
    undone_from = {(one["item_id"], one["who"]): one["at"] for one in acts if one["act"] == "undo"}
    with reading(url) as session:
        run = session.connection().execute
        items = {row[0]: row for row in run(text("SELECT id, status, step FROM item"))}
        decisions = run(text("SELECT id, item_id, submit_key, superseded, reviewer FROM decision")).all()
        cap, used = run(text("SELECT cap, used FROM budget")).one()
    keys = Counter(row[2] for row in decisions)
    standing = Counter(row[1] for row in decisions if not row[3])
    superseded = {row[2] for row in decisions if row[3]}
    found["second feedback"] = sum(n > 1 for n in keys.values()) + sum(n > 1 for n in standing.values())
    for one in acts:
        if _is_done(one, "decide"):
            found["lost decisions"] += not keys[one["key"]]
            found["undone by nobody"] += one["key"] in superseded and (one["item_id"], one["who"]) not in undone_from
    steps = {row[2] for row in items.values()}
    found["lost items"] = sum(_is_done(one, "put") and one["step"] not in steps for one in acts)
    found["not ended"] = sum(row[1] in ("pending", "claimed") for row in items.values()) if used != cap else 0
    gone = {one["item_id"]: one["ended"] for one in acts if _is_done(one, "expire") and one["found"]}
    late = [one for one in acts if one.get("item_id") in gone and one["at"] > gone[one["item_id"]]]
    found["acts after the end"] = sum(_is_done(one, "claim", "decide", "undo") for one in late)
    told = {one["decision"]: one["ended"] for one in acts if _is_done(one, "deliver") and one["found"]}
    ids = {row[0]: row for row in decisions}
    found["taken back from the agent"] = sum(bool(ids[id][3]) for id in told if id in ids)
    found["delivered twice"] = _count_twice(acts)


def _count_twice(acts: list[dict[str, Any]]) -> int:
    times = Counter(one["decision"] for one in acts if _is_done(one, "deliver") and one["found"])
    return sum(n - 1 for n in times.values())
