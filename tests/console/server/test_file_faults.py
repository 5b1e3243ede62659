"""A server whose database file goes under its hands: it says stop, is red, and takes nothing it could not keep."""

import os
import sqlite3
from contextlib import closing

import pytest

from tests.sweeps import sweep

FAULTS = {
    "removed": lambda path: path.unlink(),
    "replaced": lambda path: path.with_name("log.txt").rename(path),
    "emptied": lambda path: os.truncate(path, 0),
    "corrupted": lambda path: path.write_bytes(b"garbage" * 9_000),
    "log removed": lambda path: path.with_name(f"{path.name}-wal").unlink(),
}


SEEN_BELOW = {"replaced", "emptied"}
"""What the tests of `storage.engine` have, too; here a server that starts for it takes three seconds."""


@sweep("fault", [pytest.param(name, marks=[pytest.mark.at_length] * (name in SEEN_BELOW)) for name in FAULTS], kept=1)
def test_the_api_stops_and_health_is_red(serve, question, data_dir, fault):
    server, path = serve(), data_dir / "console.db"
    (data_dir / "log.txt").write_text("not a database")
    assert server.client.post("/checks", json=question()).status_code == 202
    FAULTS[fault](path)
    health = server.client.get("/health")
    assert (health.status_code, health.json()["status"]) == (503, "unavailable")
    for _ in range(2):
        refused = server.client.post("/checks", json=question())
        assert refused.status_code == 503
        assert "Stop the console" in refused.json()["error"]
    if fault == "removed":
        assert not path.exists()
    if fault == "log removed":
        server.process.kill()
        server.process.wait()
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT count(*) FROM item").fetchone() == (1,)
