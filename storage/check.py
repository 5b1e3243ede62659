"""Checks of a database's file, schema and sums; a check returns each problem as a sentence."""

import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, text

from storage import audit_chain
from storage.engine import engine, sqlite_path, writing
from storage.errors import StorageError
from storage.migrations import head, missing_sentence, refuse_unknown, revision
from storage.queue.values import FAR_MS
from storage.run_counts import wrong_counts
from storage.tables import IS_CURRENT

_SHOWN = 20
"""Maximum number of problems listed per kind; a final sentence counts the remaining problems."""

_HEAD = re.compile(r"([0-9]+):([0-9a-f]{64}|)(\s|$)")
_END = "SELECT coalesce(sum(events), 0), coalesce(max(CASE id WHEN 0 THEN hash END), '') FROM chain_end"
_UNSEALED = "SELECT coalesce(sum(events - sealed), 0) FROM chain_end WHERE id <> 0"
_HELD_HEAD = "SELECT place FROM event_link WHERE chain = 0 AND hash = :hash"
_HELD = "SELECT * FROM slot WHERE status IN ('claimed', 'decided')"

# Each statement finds the rows that break a rule; its columns fill the sentence.
_RULES = {
    "Budget {0}: {1} used, but its ledger adds up to {2}.": """
        SELECT b.id, b.used, coalesce(sum(l.units), 0) FROM budget b LEFT JOIN ledger l ON l.budget_id = b.id
        GROUP BY b.id, b.used HAVING b.used <> coalesce(sum(l.units), 0)""",
    "Budget {0}: {1} used, but its claims and decisions cost {2}.": f"""
        SELECT b.id, b.used, coalesce(sum(s.units), 0) FROM budget b LEFT JOIN ({_HELD}) s ON s.budget_id = b.id
        GROUP BY b.id, b.used HAVING b.used <> coalesce(sum(s.units), 0)""",
    "Budget {0}: {1} used over its cap of {2}.": "SELECT id, used, cap FROM budget WHERE used > cap",
    "Budget {0}: {1} halted items counted, but {2} are claimed or decided.": f"""
        SELECT b.id, b.halted, count(i.id) FROM budget b
        LEFT JOIN ({_HELD}) s ON s.budget_id = b.id LEFT JOIN item i ON i.id = s.item_id AND i.kind = 'halted'
        GROUP BY b.id, b.halted HAVING b.halted <> count(i.id)""",
    "Review slot {0}: its ledger adds up to {1}, but its status is {2}.": """
        SELECT s.id, coalesce(sum(l.units), 0), s.status FROM slot s LEFT JOIN ledger l ON l.slot_id = s.id
        GROUP BY s.id, s.status, s.units
        HAVING coalesce(sum(l.units), 0) <> CASE WHEN s.status IN ('claimed', 'decided') THEN s.units ELSE 0 END""",
    "Item {0}: {1} slots open and {2} taken, but {3} reviews are required.": f"""
        SELECT i.id, i.open_slots, count(s.id), i.reviews_required FROM item i LEFT JOIN ({_HELD}) s ON s.item_id = i.id
        WHERE i.status NOT IN ('expired', 'cancelled') GROUP BY i.id, i.open_slots, i.reviews_required
        HAVING i.open_slots + count(s.id) <> i.reviews_required""",
    "Item {0} is {1}, but {2} slots are open and {3} claims are live.": """
        SELECT i.id, i.status, i.open_slots, count(s.id) FROM item i
        LEFT JOIN slot s ON s.item_id = i.id AND s.status = 'claimed' GROUP BY i.id, i.status, i.open_slots
        HAVING (i.status = 'pending') <> (i.open_slots > 0) OR (i.status <> 'pending' AND
               (i.status = 'claimed') <> (count(s.id) > 0))""",
    "Review slot {0} is {1} and has {2} current decisions.": f"""
        SELECT s.id, s.status, count(d.id) FROM slot s LEFT JOIN decision d ON d.slot_id = s.id AND {IS_CURRENT}
        GROUP BY s.id, s.status HAVING count(d.id) <> CASE WHEN s.status = 'decided' THEN 1 ELSE 0 END""",
    "Decision {0} was delivered, although it was undone.": """
        SELECT id FROM decision WHERE superseded AND delivered_ms IS NOT NULL""",
    "Item {0} is delivered, but decision {1} is not.": f"""
        SELECT i.id, d.id FROM item i JOIN decision d ON d.item_id = i.id
        WHERE i.status = 'delivered' AND {IS_CURRENT} AND d.delivered_ms IS NULL""",
    "Review slot {0} has a lease that ends too late, since the clock was wrong. Run `inferact worker` to free it.": """
        SELECT id FROM slot WHERE status = 'claimed' AND lease_until_ms > :far_ms""",
    "Item {0} has a deadline that is too late, since the clock was wrong. Run `inferact worker` to expire it.": """
        SELECT i.id FROM item i JOIN ask a ON a.item_id = i.id
        WHERE i.status IN ('pending', 'claimed') AND a.deadline_ms > :far_ms""",
    "Decision {0} was made before its claim.": "SELECT id FROM decision WHERE decided_ms < claimed_ms",
    "Trajectory {0} has lost its text.": """
        SELECT t.id FROM trajectory t LEFT JOIN trajectory_body b ON b.trajectory_id = t.id
        WHERE b.trajectory_id IS NULL""",
    "The stored counts of run {0} differ from its rows ({1}, from {2}). Run `inferact db upgrade --recount`.": (
        wrong_counts()
    ),
}


def check(url: str, heads: Sequence[tuple[int, str]] = ()) -> list[str]:
    """Return every problem of the database as a sentence, without changing it; raise NotOurs if the file is foreign.

    `heads` are earlier ends of the audit chain (`chain_end`), which the chain must still contain.
    """
    found = revision(url)
    if found is None:
        return [missing_sentence(url)]
    path = sqlite_path(url)
    problems = file_problems(path) if path is not None else []
    try:
        refuse_unknown(url, found)
    except StorageError as refusal:
        return [*problems, str(refusal)]
    if found != head():
        return [*problems, f"The tables are of schema {found}, this console is of {head()}. Run `inferact db upgrade`."]
    with engine(url).connect() as connection:
        problems += [problem for rule in _RULES for problem in _broken(connection, rule)]
        missing = [problem for head in heads for problem in _missing(connection, *head)]
        return problems + audit_chain.problems(connection) + missing


def find_audit_problems(url: str) -> list[str]:
    """Return each problem of the audit chains, and of the rows that they cover, as a sentence."""
    with engine(url).connect() as connection:
        return audit_chain.problems(connection)


def chain_end(url: str) -> tuple[int, str]:
    """Return the number of events in the audit chains and the last hash of the access chain, for storage elsewhere.

    The hash covers a run's chain up to the last `seal_chains`.
    """
    with engine(url).connect() as connection:
        events, last = connection.execute(text(_END)).one()
    return int(events), last


def count_unsealed(url: str) -> int:
    """Return the number of run events that the last hash of the access chain does not cover yet."""
    with engine(url).connect() as connection:
        return int(connection.execute(text(_UNSEALED)).scalar_one())


def seal_chains(url: str) -> None:
    """Add the last hashes of the runs' chains to the access chain if any chain has grown since the last seal."""
    if count_unsealed(url):
        with writing(url) as session:
            audit_chain.seal(session.connection())


def epoch_of(url: str) -> int:
    """Return the epoch of the database, which starts at 1 and increases with each restore."""
    with engine(url).connect() as connection:
        epoch: int = connection.execute(text("SELECT epoch FROM database_key")).scalar_one()
    return epoch


def parse_heads(text: str) -> list[tuple[int, str]]:
    """Parse ends of the audit chain, one EVENTS:HASH per line, with an optional time; raise ValueError if invalid."""
    found = [_HEAD.match(line.strip()) for line in text.splitlines() if line.strip()]
    if not found or None in found:
        raise ValueError("no head")
    return [(int(head[1]), head[2]) for head in found if head]


def file_problems(path: Path) -> list[str]:
    """Return the problems that SQLite reports about a file: damaged pages, and rows that reference missing rows."""
    with closing(sqlite3.connect(path)) as connection:
        damage = [str(line) for (line,) in connection.execute("PRAGMA integrity_check") if line != "ok"]
        dangling = connection.execute("PRAGMA foreign_key_check").fetchmany(_SHOWN)
    problems = [f"The file is damaged: {line}." for line in damage[:_SHOWN]]
    return problems + [
        f"Row {row} of table {table} references a missing {parent}." for table, row, parent, _ in dangling
    ]


def _missing(connection: Connection, events: int, last_hash: str) -> Iterator[str]:
    """Yield a sentence if the access chain does not contain this earlier end."""
    if last_hash and connection.execute(text(_HELD_HEAD), {"hash": last_hash}).first() is None:
        how = "is shorter now" if connection.execute(text(_END)).one()[0] < events else "has another event there"
        had = f"Audit: the chain had {events} events and the hash {last_hash[:16]}"
        yield f"{had}; it {how}, so it was cut or rewritten."


def _broken(connection: Connection, sentence: str) -> list[str]:
    bounds = {"far_ms": time.time_ns() // 1_000_000 + FAR_MS} if ":far_ms" in _RULES[sentence] else {}
    rows = connection.execute(text(_RULES[sentence]), bounds).all()
    problems = [sentence.format(*row) for row in rows[:_SHOWN]]
    return problems + [f"... and {len(rows) - _SHOWN} more of this kind."] * (len(rows) > _SHOWN)
