"""Every stage of a participant opens at its top, also after a long page that was scrolled down."""

import pytest

from tests.browser.screens import screenshot
from tests.browser.studying import come_in, opened_study, take_a_step, title
from tests.browser.walking import until

DEMOGRAPHICS = [{"key": f"q{number}", "question": f"Question {number}?", "kind": "text"} for number in range(9)]
_DEPTH = "document.querySelector('[data-testid=stMain]').scrollTop + window.scrollY"
_DOWN = "document.querySelector('[data-testid=stMain]').scrollTo(0, 100000)"


@pytest.mark.parametrize("width", [390, 1280])
def test_how_it_works_opens_at_its_top_after_a_long_page(serve, open_page, settled, width):
    study = opened_study(
        tasks=1, trials=1, demographics=DEMOGRAPHICS, instructions="Read what the customer asked for. " * 60,
    )  # fmt: skip
    page = open_page(width=width, height=600)
    come_in(page, settled, serve(), study)
    take_a_step(page, settled)
    assert title(page) == "A few questions"
    # The page is long enough to be scrolled once all of its questions are drawn.
    until(page, f"() => {{ {_DOWN}; return {_DEPTH} > 0 }}")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("heading", name="How it works").wait_for()
    settled(page)
    page.wait_for_timeout(500)
    assert page.evaluate(_DEPTH) == 0
    screenshot(page, f"study-top-{width}")
