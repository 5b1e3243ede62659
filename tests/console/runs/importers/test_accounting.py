"""Real agents' logs: each is read exactly as independent counts say."""

import orjson
import pytest

from tests.conftest import SHARED
from tests.real_logs import read, verdict
from tests.sweeps import sweep

COUNTS = SHARED / "logs" / "expected.json"
FILES = orjson.loads(COUNTS.read_bytes())["files"] if COUNTS.exists() else []


@pytest.mark.skipif(not FILES, reason="the shared agents' logs are not on this machine")
@sweep("counts", FILES, ids=lambda counts: counts["file"], kept=12)
def test_a_real_log_is_read_exactly(counts, shared_data):
    state, why = verdict(counts, read(shared_data(f"logs/{counts['file']}")))
    print(f"{counts['file']}: {state} {why[:300]}")
    assert state == "exact", why
