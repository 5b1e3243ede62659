"""The cache of replies on disk, for any number of threads and processes, so that the user pays for each request once.

The SQLite file holds replies with usage and cost, and digests of requests, but neither requests nor API keys.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

from console.errors import Refused
from console.llm.messages import ModelUsage, Reply, parse_stored_reply

FILE = "replies.sqlite"
_WAIT_MS = 10_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS reply (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, created_ms INTEGER NOT NULL, requests INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, latency_ms REAL NOT NULL, cost_usd REAL,
    body BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spending (account TEXT PRIMARY KEY, usd REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS used (
    account TEXT PRIMARY KEY, requests INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL, usd REAL
) WITHOUT ROWID;
"""
_COUNT = """
INSERT INTO used VALUES (?, ?, ?, ?, ?) ON CONFLICT (account) DO UPDATE SET requests = requests + excluded.requests,
prompt_tokens = prompt_tokens + excluded.prompt_tokens,
completion_tokens = completion_tokens + excluded.completion_tokens, usd = usd + excluded.usd
"""


class Replies:
    """The cached replies in a folder. If the cache file is damaged or not writable, opening it raises Refused."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        try:
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            self._db.execute(f"PRAGMA busy_timeout = {_WAIT_MS}")
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_SCHEMA)
        except sqlite3.Error as broken:
            raise self._refused(broken) from broken

    def get(self, key: str) -> Reply | None:
        """Return the reply for this key, or None if the key is not cached."""
        rows = self._run("SELECT body FROM reply WHERE key = ?", (key,))
        try:
            return parse_stored_reply(rows[0][0]).as_cached() if rows else None
        except (KeyError, TypeError, ValueError):
            # Another version wrote it in another form: the caller asks again.
            return None

    def put(self, key: str, reply: Reply) -> None:
        """Store the reply under this key."""
        used = (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.latency_ms, reply.cost_usd)
        row = (key, reply.model, time.time_ns() // 1_000_000, reply.requests, *used, reply.to_json())
        self._run("INSERT OR REPLACE INTO reply VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def spent_usd(self, account: str) -> float:
        """Return the amount in USD that an account has spent so far, over all processes."""
        rows = self._run("SELECT usd FROM spending WHERE account = ?", (account,))
        return float(rows[0][0]) if rows else 0.0

    def charge(self, account: str, usd: float) -> None:
        """Add an amount in USD to the spending of an account."""
        statement = "INSERT INTO spending VALUES (?, ?) ON CONFLICT (account) DO UPDATE SET usd = usd + excluded.usd"
        self._run(statement, (account, usd))

    def count(self, account: str, reply: Reply) -> None:
        """Add a reply of the endpoint to the account's usage; one reply of unknown cost makes the total unknown."""
        used = reply.usage
        self._run(_COUNT, (account, reply.requests, used.prompt_tokens, used.completion_tokens, reply.cost_usd))

    def used(self, account: str) -> ModelUsage:
        """Return the usage of an account so far, over all processes."""
        columns = "requests, prompt_tokens, completion_tokens, usd"
        rows: list[Any] = self._run(f"SELECT {columns} FROM used WHERE account = ?", (account,))
        return ModelUsage(*rows[0]) if rows else ModelUsage()

    def close(self) -> None:
        """Close the cache file."""
        with self._lock:
            self._db.close()

    def _run(self, statement: str, values: tuple[object, ...]) -> list[tuple[bytes]]:
        try:
            with self._lock:
                return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as broken:
            raise self._refused(broken) from broken

    def _refused(self, broken: sqlite3.Error) -> Refused:
        return Refused(f"The cache of replies {self.path} cannot be used ({broken}). Move the file away.")
