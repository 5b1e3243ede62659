"""Each part of the Review page may fail: the page names it, and every decision can still be made."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from console.database import now_ms, review_queue
from console.gate import Gate
from console.web.widgets import boundary
from tests.console.web.review import planted

NAMES = [name for key, name in vars(boundary).items() if key.isupper() and isinstance(name, str)]
FEW = ["console/web/review/decision_bar.py:_keys"]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the console in which any part can be made to fail."""
    return planted.copied(tmp_path_factory.mktemp("copy"))


def walked(copy, data_dir, parts):
    """What came of four decisions, and of the page that follows the last item, while each part failed."""
    script = copy / "walk.py"
    script.write_text(Path(planted.__file__).read_text().replace("parents[4]", "parents[0]"))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(copy), str(planted.ROOT)])}
    done = subprocess.run(
        [sys.executable, str(script), str(copy), *parts], env=env, cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


# It starts a second Python with a copy of the console, since a fault is planted in its files.
@pytest.mark.at_length
@pytest.mark.parametrize(
    "parts",
    [FEW, pytest.param(planted.PARTS, marks=[pytest.mark.at_length, pytest.mark.timeout(1_800)])],
    ids=["few", "all"],
)
def test_a_part_that_fails_takes_no_decision_away(copy, data_dir, parts):
    found = walked(copy, data_dir, parts)
    assert [row["part"] for row in found] == parts
    for row in found:
        assert row["pressed"] == [True] * 5, row
        assert row["decided"][:2] == ["approve", "reject"], row
        assert row["decided"][2] in ("edit", "reject"), row
        assert "crash" not in row["told"], row
    # Some parts belong to two larger ones, and both are named.
    assert [row["part"] for row in found if not row["told"]] == []
    if parts is planted.PARTS:
        assert {told for row in found for told in row["told"]} == set(NAMES)


def test_an_edit_that_the_form_cannot_open_is_put_aside_and_kept(open_page, data_dir, words):
    call = {"name": "refund_order", "arguments": {"amount": 20.0}}
    Gate("desk", "full-validation", undo_s=0).ask("Refund order 1.", [], call)
    at = open_page("review", run="desk", role="reviewer")
    item = next(int(one.key.removeprefix("skip-")) for one in at.button if (one.key or "").startswith("skip-"))
    review_queue().save_draft(item_id=item, reviewer="Ada", now_ms=now_ms(), edit='{"field-1-0": "half a pri')
    session = at.session_state["session"]
    for _load in range(2):
        at = open_page("review", run="desk", role=None)
        at.session_state["session"] = session
        at.run()
        assert f"The form cannot show your edit of item {item}" in " ".join(found.value for found in at.caption)
        assert "half a pri" in " ".join(found.value for found in at.code)
        assert at.button(key=f"approve-{item}").disabled is False
