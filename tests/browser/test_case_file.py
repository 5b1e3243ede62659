"""A case file opened as a file: its script agrees with the console about a sound log and about a changed one."""

import json
import re

import pytest

from console import runs
from console.auth import audit_log
from console.database import database_url, now_ms, writing
from console.trials.case_file import write_case_file
from storage.tables import DecisionKind
from tests.overseen import decide, queue
from tests.verdicts import a_run, judge

pytestmark = pytest.mark.at_length

CHAIN = re.compile(r'(<script type="application/json" id="chain">)(.*?)(</script>)', re.DOTALL)


@pytest.fixture
def path(tmp_path):
    """The case file of a run whose log has letters, signs and marks that JSON escapes."""
    a_run("shop", [None] * 2)
    judge("shop", "rules", [0.9, 0.8])
    run = queue("shop", "rules")
    decide(run, [DecisionKind.APPROVE], reviewer='Zoë 😀 "<b>')
    with writing() as session:
        audit_log.record(session, runs.get(session, "shop"), "told", now_ms(), subject="\x7f\u2028\t\x01 é \\")
    made = tmp_path / "shop.html"
    write_case_file(database_url(), "shop", made, now_ms())
    return made


def result(chromium, path):
    page = chromium.new_page(viewport={"width": 390, "height": 844})
    page.goto(path.as_uri())
    page.wait_for_function("document.getElementById('result').className !== ''")
    said = page.inner_text("#result"), page.locator("#problems li").all_inner_texts()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()
    return said


def test_a_sound_log_is_told_as_sound(chromium, path):
    said, problems = result(chromium, path)
    assert said.startswith("Checked in this browser")
    assert problems == []


def test_a_changed_event_is_named(chromium, path):
    page = path.read_text("utf-8")
    copy = json.loads(CHAIN.search(page)[2])
    changed = next(iter(copy["contents"]))
    copy["contents"][changed][2] = "eve"
    written = json.dumps(copy).replace("<", "\\u003c")
    path.write_text(CHAIN.sub(lambda found: found[1] + written + found[3], page), "utf-8")
    said, problems = result(chromium, path)
    assert "was changed" in said
    assert any(one.startswith(f"event {changed} ") for one in problems)
