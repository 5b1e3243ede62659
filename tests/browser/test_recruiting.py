"""People who come from SONA and from Mechanical Turk, from the platform's own page to its credit."""

import pytest

from console.database import reading
from console.studies.results.participants import payments
from tests.browser.screens import screenshot
from tests.browser.studying import come_in, is_over, link_of, opened_study, take_a_step
from tests.browser.walking import in_focus
from tests.fakes.recruiting import ASSIGNMENT, recruiting

pytestmark = pytest.mark.at_length


def finish(page, settled):
    """From the consent to the end."""
    while not is_over(take_a_step(page, settled, "Look again.")):
        pass


def paid(study, *ids):
    """(state, completion code) of each of these ids in the list of payments."""
    with reading() as session:
        rows = payments(session, study, ids).set_index("outside_id")
    return {one: tuple(rows.loc[one, ["state", "completion_code"]]) for one in ids if one in rows.index}


def test_sona_credits_the_sign_up_that_finished_and_once(serve, open_page, settled):
    with recruiting() as platform:
        places = {"platform": "sona", "completion_url": platform.sona_url(), "hosts": ["127.0.0.1"]}
        address, study = serve(), opened_study(tasks=1, trials=1, recruiting=places)
        link = platform.from_sona(link_of(address, study), "48151")
        page = open_page()
        page.goto(link_of(address, study))
        in_focus(page).keyboard.press("Enter")
        page.get_by_text("This study is for participants from SONA.").wait_for()
        screenshot(page, "sona-without-an-id")
        for _ in range(2):
            come_in(page, settled, address, study, link)
            assert "48151" not in page.url
            finish(page, settled)
            screenshot(page, "sona-end")
            page.get_by_role("link", name="Return to SONA").click()
            page.get_by_role("heading", name="Credit granted").wait_for()
        assert (platform.credited, platform.refused) == (["48151"], [])
    assert [state for state, _code in paid(study, "48151", "48152").values()] == ["finished"]


def test_a_worker_of_mechanical_turk_previews_takes_part_and_pastes_the_code(serve, open_page, settled):
    with recruiting() as platform:
        address = serve()
        study = opened_study(tasks=1, trials=1, recruiting={"platform": "mturk"})
        task = open_page(platform.task_of_mturk(link_of(address, study)))
        with task.expect_popup() as opened:
            task.frame_locator("iframe").get_by_role("link", name="Open the study").click()
        in_focus(opened.value).keyboard.press("Enter")
        opened.value.get_by_text("This is a preview on Mechanical Turk.").wait_for()
        screenshot(opened.value, "mturk-preview")
        opened.value.close()
        task.goto(platform.task_of_mturk(link_of(address, study), "A1WORKER"))
        frame = task.frame_locator("iframe")
        with task.expect_popup() as opened:
            frame.get_by_role("link", name="Open the study").click()
        page = opened.value
        in_focus(page).keyboard.press("Enter")
        page.get_by_role("heading", name="Before you take part").wait_for()
        settled(page)
        assert "A1WORKER" not in page.url
        finish(page, settled)
        page.get_by_text("Copy the code into your task page on Mechanical Turk before you close this page.").wait_for()
        screenshot(page, "mturk-end")
        code = page.locator("[data-testid=stCode]").inner_text().strip()
        frame.get_by_label("Completion code").fill(code)
        frame.get_by_role("button", name="Submit").click()
        frame.get_by_role("heading", name="Task submitted").wait_for()
        assert platform.submitted == {ASSIGNMENT: code}
    assert paid(study, "A1WORKER") == {"A1WORKER": ("finished", code)}
