"""The steps beneath a sheet: all arrive, a click or a key unfolds them, what is open is said."""

import pytest


@pytest.fixture
def sheet(app, open_page, settled):
    """The page of an item of 31 steps."""
    page = open_page(app("sheet"))
    page.wait_for_selector(".ia-sheet")
    page.wait_for_selector("#ia-last")
    settled(page)
    return page


@pytest.mark.at_length
def test_every_step_arrives_in_order(sheet):
    numbers = sheet.evaluate("[...document.querySelectorAll('.ia-step')].map(each => each.dataset.n)")
    assert numbers == [str(number) for number in range(1, 32)]


@pytest.mark.at_length
def test_a_click_on_a_step_unfolds_it_and_a_second_folds_it(sheet):
    step = sheet.locator(".ia-step[data-n='3']")
    folded = step.bounding_box()["height"]
    step.locator(".ia-obs").click()
    assert step.bounding_box()["height"] > folded
    step.locator(".ia-obs").click()
    assert step.bounding_box()["height"] == folded


def test_a_step_unfolds_by_keyboard_and_says_so(sheet):
    toggle = sheet.get_by_role("button", name="step 12 in full")
    assert toggle.get_attribute("aria-expanded") == "false"
    toggle.focus()
    sheet.keyboard.press("Enter")
    assert toggle.get_attribute("aria-expanded") == "true"
    assert sheet.locator(".ia-step[data-n='12']").bounding_box()["height"] > 60
