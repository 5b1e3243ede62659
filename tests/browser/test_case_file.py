"""A case file opened as a file: its script agrees with the console about a sound log and about a changed one."""

import pytest

from console import runs
from console.auth import audit_log
from console.database import database_url, now_ms, writing
from console.trials.case_file import write_case_file
from storage.tables import DecisionKind
from tests.case_files import change_chain
from tests.overseen import decide, queue
from tests.verdicts import a_run, judge

pytestmark = pytest.mark.at_length


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


def _rename_actor(copy):
    event = next(iter(copy["contents"]))
    copy["contents"][event][2] = "eve"
    return event


def test_a_changed_event_is_named(chromium, path):
    event = change_chain(path, _rename_actor)
    said, problems = result(chromium, path)
    assert "was changed" in said
    assert any(one.startswith(f"event {event} ") for one in problems)
