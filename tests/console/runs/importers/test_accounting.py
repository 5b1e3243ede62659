"""Real agents' logs: each is read exactly as independent counts say, or what differs is named; never a silence."""

import orjson
import pytest

from tests.conftest import SHARED
from tests.real_logs import read, verdict

COUNTS = SHARED / "logs" / "expected.json"
FILES = orjson.loads(COUNTS.read_bytes())["files"] if COUNTS.exists() else []
UNREAD = {"langfuse/beeai-2025-08-01.json"}
"""Files that are refused by name: their calls stand in the metadata of the spans alone."""


@pytest.mark.skipif(not FILES, reason="the shared agents' logs are not on this machine")
@pytest.mark.parametrize("counts", FILES, ids=lambda counts: counts["file"])
def test_a_real_log_is_exact_or_names_what_differs(counts, shared_data):
    state, why = verdict(counts, read(shared_data(f"logs/{counts['file']}")))
    print(f"{counts['file']}: {state} {why[:300]}")
    assert state != "SILENT", why
    if counts["file"] not in UNREAD:
        assert state == "exact", why
