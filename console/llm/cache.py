"""The cache of replies in a file or on a PostgreSQL server, so that the user pays for each request once.

Any number of threads, processes and machines can share the cache.

The cache holds replies with usage and cost, and digests of requests, but neither requests nor API keys.
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
INSERT INTO used VALUES (?, ?, ?, ?, ?) ON CONFLICT (account) DO UPDATE SET
requests = used.requests + excluded.requests, prompt_tokens = used.prompt_tokens + excluded.prompt_tokens,
completion_tokens = used.completion_tokens + excluded.completion_tokens, usd = used.usd + excluded.usd
"""
_PUT = """
INSERT INTO reply VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET model = excluded.model,
created_ms = excluded.created_ms, requests = excluded.requests, prompt_tokens = excluded.prompt_tokens,
completion_tokens = excluded.completion_tokens, latency_ms = excluded.latency_ms, cost_usd = excluded.cost_usd,
body = excluded.body
"""
_FILE_URL, _ON_SERVER = "sqlite:///", {" WITHOUT ROWID": "", "BLOB": "BYTEA", "INTEGER": "BIGINT", "REAL": "FLOAT8"}


class Replies:
    """The cached replies in a folder, or at a URL: `sqlite:///FILE` or `postgresql://...`.

    If the cache is damaged, not writable or not reachable, opening it raises Refused.
    """

    def __init__(self, place: Path | str) -> None:
        self._lock = threading.Lock()
        self._on_server = isinstance(place, str) and not place.startswith(_FILE_URL)
        if isinstance(place, str) and self._on_server:
            self._connect(place)
            return
        self.path = Path(place.removeprefix(_FILE_URL)) if isinstance(place, str) else place / FILE
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db: Any = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            self._db.execute(f"PRAGMA busy_timeout = {_WAIT_MS}")
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_SCHEMA)
        except sqlite3.Error as broken:
            raise self._refused(broken) from broken

    def _connect(self, url: str) -> None:
        import psycopg  # an optional extra

        self.path, schema = Path(url.rpartition("@")[2]), _SCHEMA
        for word, other in _ON_SERVER.items():
            schema = schema.replace(word, other)
        try:
            self._db = psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True)
            self._db.execute("SELECT pg_advisory_lock(hashtext('inferact replies'))")
            self._db.execute(schema)
            self._db.execute("SELECT pg_advisory_unlock(hashtext('inferact replies'))")
        except psycopg.Error as broken:
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
        self._run(_PUT, row)

    def spent_usd(self, account: str) -> float:
        """Return the amount in USD that an account has spent so far, over all processes."""
        rows = self._run("SELECT usd FROM spending WHERE account = ?", (account,))
        return float(rows[0][0]) if rows else 0.0

    def charge(self, account: str, usd: float) -> None:
        """Add an amount in USD to the spending of an account."""
        added = "ON CONFLICT (account) DO UPDATE SET usd = spending.usd + excluded.usd"
        self._run(f"INSERT INTO spending VALUES (?, ?) {added}", (account, usd))

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
        words = statement.replace("?", "%s") if self._on_server else statement
        try:
            with self._lock:
                found = self._db.execute(words, values)
                rows: list[tuple[bytes]] = found.fetchall() if found.description else []
                return rows
        except Exception as broken:
            if not isinstance(broken, sqlite3.Error) and not self._on_server:
                raise
            raise self._refused(broken) from broken

    def _refused(self, broken: Exception) -> Refused:
        return Refused(f"The cache of replies {self.path} cannot be used ({broken}). Move the file away.")
