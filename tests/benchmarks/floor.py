"""The floor under the queue: the same statements on a raw sqlite3 connection, by hand, with nothing in between."""

import re
import secrets
import sqlite3
from pathlib import Path

from storage import audit_chain
from storage.engine import Durability, configure
from storage.linked_rows import note_changes_sqlite, select_row
from storage.queue import statements as sql

RUN, TRIAL, LEASE_MS = 1, 0, 600_000


def numbered(statement: str, *names: str) -> str:
    """The statement with `?1`, `?2`, ... for its names in the order given, and without its PostgreSQL lock."""
    unlocked = re.sub(r"\s*FOR UPDATE[\w\s]*(?=\)?$)", "", statement)
    return re.sub(r":(\w+)", lambda found: f"?{names.index(found[1]) + 1}", unlocked)


LAPSED = numbered(sql.EXPIRED_CLAIMS, "now_ms")
BUDGET = numbered(sql.BUDGET, "run_id", "trial", "scope")
HELD = numbered(sql.HELD_CLAIM, "reviewer", "budget_id")
FRESH = numbered(sql.FRESH, "run_id", "trial", "reviewer")
TAKE = numbered(sql.TAKE_SLOT, "item_id")
SEAT = numbered(sql.CLAIM_SLOT, "item_id", "budget_id", "reviewer", "token", "units", "now_ms", "until_ms")
SPEND = numbered(sql.SPEND, "budget_id", "units", "halted", "item_id")
_LEDGER_ROW = ("budget_id", "item_id", "slot_id", "reviewer", "entry", "reason", "units", "now_ms")
RECORD = numbered(sql.INSERT_LEDGER, *_LEDGER_ROW)
SETTLE = numbered(sql.SETTLE, "reviewer", "run_id", "now_ms")
BODY = numbered(sql.BODY, "trajectory_id")
SUBMITTED = numbered(sql.SUBMITTED, "submit_key")
NAMED = numbered(sql.LOCK_ITEM, "item_id")
OWN_SLOT = numbered(sql.OWN_SLOT, "item_id", "reviewer")
ANSWERED = numbered(sql.MARK_DECIDED, "slot_id", "now_ms")
BUDGET_OF_SLOT = numbered(sql.BUDGET_OF_SLOT, "slot_id")
DECIDE = numbered(
    sql.DECIDE,
    *("item_id", "slot_id", "reviewer", "annotator_kind", "decision", "label", "feedback_type", "feedback_text"),
    *("edited_action", "action_digest", "submit_key", "budget_cap", "budget_used", "claimed_ms", "now_ms"),
    *("deliverable_ms", "door", "seen_digest", "reason_codes", "marked_steps", "answers"),
)
STAND = numbered(sql.SET_STATUS, "item_id")
DROP_DRAFT = numbered(sql.DROP_DRAFT, "item_id", "reviewer")
_ITEM_ROW = ("run_id", "trial", "trajectory_id", "step", "kind", "priority", "reviews_required", "verdict_id")
PUT = numbered(sql.PUT, *_ITEM_ROW, "created_ms")


class Floor:
    """One relaxed and one durable connection, held open."""

    def __init__(self, path: Path) -> None:
        self.relaxed, self.durable = (self._open(path, durability) for durability in Durability)

    def claim(self, reviewer: str, now_ms: int) -> tuple[int, str]:
        """Claims the next item in one transaction and reads its trajectory; returns the item and the token."""
        run = self.relaxed.execute
        run("BEGIN IMMEDIATE")
        run(LAPSED, (now_ms,)).fetchall()
        budget_id = run(BUDGET, (RUN, TRIAL, "")).fetchall()[0][0]
        run(HELD, (reviewer, budget_id)).fetchall()
        item = run(FRESH, (RUN, TRIAL, reviewer)).fetchall()[0]
        token = secrets.token_hex(16)
        run(TAKE, (item[0],))
        seat = (item[0], budget_id, reviewer, token, 1, now_ms, now_ms + LEASE_MS)
        slot_id = run(SEAT, seat).fetchall()[0][0]
        run(SPEND, (budget_id, 1, 0, item[0])).fetchall()
        run(RECORD, (budget_id, item[0], slot_id, reviewer, "spend", "claim", 1, now_ms))
        run(SETTLE, (reviewer, RUN, now_ms))
        run(BODY, (item[3],)).fetchall()
        run(audit_chain.READ_TOUCHED).fetchall()
        run("COMMIT")
        return item[0], token

    def decide(self, reviewer: str, item_id: int, token: str, submit_key: str, now_ms: int) -> None:
        """Stores the answer to a claimed item in one durable transaction."""
        run = self.durable.execute
        run("BEGIN IMMEDIATE")
        run(SUBMITTED, (submit_key,)).fetchall()
        run(NAMED, (item_id,)).fetchall()
        slot_id, budget_id, _, held, _, claimed_ms, _ = run(OWN_SLOT, (item_id, reviewer)).fetchall()[0]
        if held != token:
            raise ValueError("The claim is somebody else's.")
        run(ANSWERED, (slot_id, now_ms))
        cap, used = run(BUDGET_OF_SLOT, (slot_id,)).fetchall()[0]
        answer = ("human", "reject", "misaligned", "nl", "ask for the size", None, "digest", submit_key)
        row = (item_id, slot_id, reviewer, *answer, cap, used, claimed_ms, now_ms, now_ms + 5_000, "browser", None, "")
        row = (*row, None, None)
        run(DECIDE, row).fetchall()
        run(RECORD, (budget_id, item_id, slot_id, reviewer, "settle", "reject", 0, now_ms))
        run(STAND, (item_id,))
        run(DROP_DRAFT, (item_id, reviewer))
        self._link(submit_key, now_ms)
        run("COMMIT")

    def _link(self, submit_key: str, now_ms: int) -> None:
        """Adds the link of the decision to the audit chain, without its hashes."""
        run = self.durable.execute
        ((name, row_id),) = run(audit_chain.READ_TOUCHED).fetchall()
        run(audit_chain.FORGET_TOUCHED)
        chain = run(select_row(name), (row_id,)).fetchall()[0][-1]
        run(audit_chain.SALT_ROW, (name, row_id, secrets.token_hex(16)))
        events, before = run(audit_chain.READ_END, (chain,)).fetchone() or (0, "")
        (event_id,) = run(audit_chain.NEW_ID).fetchone()
        rows, place = f'[["{name}",{row_id},"{"0" * 98}"]]', events + 1
        digest = (submit_key * 64)[:64]
        link = (event_id, now_ms, f"rows of {name}", "[]", "", rows, before, digest, chain, place)
        run(audit_chain.ADD_LINK, link)
        run(audit_chain.MOVE_END, (chain, event_id, place, digest))

    def put(self, rows: list[tuple[object, ...]]) -> None:
        """Adds items in one durable transaction."""
        self.durable.execute("BEGIN IMMEDIATE")
        self.durable.executemany(PUT, rows)
        self.durable.execute("COMMIT")

    def close(self) -> None:
        """Closes both connections."""
        self.relaxed.close()
        self.durable.close()

    @staticmethod
    def _open(path: Path, durability: Durability) -> sqlite3.Connection:
        connection = sqlite3.connect(path)
        configure(connection, durability)
        note_changes_sqlite(connection, None)
        return connection
