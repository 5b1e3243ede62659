"""The hotkey component in a real browser."""

import pytest

from tests.browser.walking import ready, until
from tests.sweeps import sweep

A_PERSONS_PACE_MS = 150
PRESSES = {
    "a": "approve:1",
    "x": "reject:1",
    "e": "edit:1",
    "s": "skip:1",
    "u": "undo:1",
    "j": "next:1",
    "ArrowRight": "next:1",
    "k": "previous:1",
    "ArrowLeft": "previous:1",
    "Control+Enter": "submit:1:",
    "Meta+Enter": "submit:1:",
}


@pytest.fixture
def page(app_page, settled):
    """The app of keys on its first item, nothing noted; the page is the same for all tests of this file."""
    page = app_page("keys")
    page.locator(".st-key-start-over button").wait_for()
    page.keyboard.press("Escape")
    start_over(page)
    settled(page)
    ready(page, 1)
    return page


def start_over(page):
    """Back to the first item."""
    page.click(".st-key-start-over button")
    page.locator(".st-key-log", has_text="nothing").wait_for()
    page.locator(".st-key-submit-1 button").wait_for()
    page.evaluate("document.activeElement.blur()")


def reads(page, *words):
    """Waits until the app has noted just that."""
    until(page, "words => document.querySelector('.st-key-log').innerText.trim() === words", " ".join(words))


@pytest.fixture
def stays(settled):
    """A function that asserts that the app has noted just that after a run of its own that follows every press."""

    def noted(page, *words):
        page.click(".st-key-refresh button")
        settled(page)
        reads(page, *words)

    return noted


@sweep("key", PRESSES)
def test_each_key_presses_its_button_once(page, key):
    page.keyboard.press(key)
    reads(page, PRESSES[key])


def test_a_key_without_a_button_says_why_and_presses_nothing(page, stays):
    page.keyboard.press("z")
    page.get_by_text("Nothing to decide on here.").wait_for()
    stays(page, "nothing")


def test_a_held_key_decides_one_item(page, stays):
    for _ in range(12):
        page.keyboard.down("a")
        page.wait_for_timeout(60)
    page.keyboard.up("a")
    stays(page, "approve:1")


@pytest.mark.at_length
def test_a_second_press_within_the_dwell_time_decides_nothing(page, stays):
    # Pressed in the page itself, in the very moment in which its keys hear of the item.
    page.evaluate(
        """() => new MutationObserver((_, seen) => {
            seen.disconnect()
            document.dispatchEvent(new KeyboardEvent("keydown", {key: "e", code: "KeyE", bubbles: true}))
        }).observe(document.body, {attributeFilter: ["data-ia-keys"]})"""
    )
    page.keyboard.press("a")
    reads(page, "approve:1")
    ready(page, 2)
    stays(page, "approve:1")
    page.keyboard.press("x")
    reads(page, "approve:1", "reject:2")


@sweep("field", [".st-key-words-1 textarea", ".st-key-name input"], kept=1)
def test_silent_while_typing_until_escape(page, stays, field):
    page.click(field)
    page.keyboard.type("axesujk?")
    assert page.input_value(field) == "axesujk?"
    reads(page, "nothing")
    page.keyboard.press("Escape")
    page.wait_for_timeout(A_PERSONS_PACE_MS)
    page.keyboard.press("e")
    stays(page, "edit:1")


def test_modifiers_are_left_to_the_browser(page, stays):
    for combination in ("Control+a", "Alt+a", "Meta+a", "Shift+a"):
        page.keyboard.press(combination)
    stays(page, "nothing")


@pytest.mark.at_length
def test_control_enter_in_the_field_submits_with_the_typed_words(page):
    page.click(".st-key-words-1 textarea")
    page.keyboard.type("pick white")
    page.keyboard.press("Control+Enter")
    reads(page, "submit:1:pick white")


@pytest.mark.at_length
def test_a_dialog_silences_all_keys(page, stays):
    page.keyboard.press("?")
    page.wait_for_selector("[role=dialog] .st-key-confirm button")
    page.keyboard.press("a")
    page.keyboard.press("x")
    page.keyboard.press("Control+Enter")
    assert page.is_visible("[role=dialog]")
    page.keyboard.press("Escape")
    page.wait_for_selector("[role=dialog]", state="hidden")
    stays(page, "nothing")


@pytest.mark.at_length
def test_a_disabled_button_is_respected(page, stays):
    page.click(".st-key-tick label")
    page.wait_for_selector(".st-key-undo-1 button[disabled]")
    page.keyboard.press("u")
    stays(page, "nothing")


@pytest.mark.at_length
def test_the_switch_turns_all_keys_off_and_the_page_says_so(page, stays):
    page.click(".st-key-keys-on label")
    page.locator("body:not([data-ia-keys])").wait_for(state="attached")
    for key in ("a", "x", "j", "Control+Enter"):
        page.keyboard.press(key)
    stays(page, "nothing")


@pytest.mark.at_length
def test_keys_that_come_to_another_place_of_the_page_stay_on_after_a_slow_run(page, settled):
    page.click(".st-key-move button")
    page.locator("[data-testid=stApp][data-test-script-state=running]").wait_for()
    settled(page, quiet_ms=1_000)
    assert page.locator("body[data-ia-keys='1']").count() == 1
    page.keyboard.press("e")
    reads(page, "edit:1")


@pytest.mark.at_length
def test_a_key_works_while_a_checkbox_has_the_focus(page):
    page.focus(".st-key-tick input")
    page.keyboard.press("e")
    reads(page, "edit:1")


def drafts(page, settled):
    """The drafts that the app has."""
    page.click(".st-key-refresh button")
    settled(page)
    return page.inner_text(".st-key-drafts")


@pytest.mark.at_length
def test_a_draft_is_saved_after_a_second_of_silence_without_losing_the_field(page, settled):
    field = ".st-key-words-1 textarea"
    page.click(field)
    page.keyboard.type("half a sen")
    page.wait_for_selector(".st-key-ia-hotkeys >> text=Draft saved")
    page.keyboard.type("tence")
    assert page.input_value(field) == "half a sentence"
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    page.wait_for_selector(".st-key-ia-hotkeys >> text=Draft saved")
    found = drafts(page, settled)
    assert '"half a sentence"' in found
    assert '"half a sen"' in found


@pytest.mark.at_length
def test_leaving_the_field_saves_the_draft_at_once(page, settled):
    page.click(".st-key-words-1 textarea")
    page.keyboard.type("short")
    page.keyboard.press("Escape")
    page.wait_for_selector(".st-key-ia-hotkeys >> text=Draft saved")
    assert '"short"' in drafts(page, settled)


@pytest.mark.at_length
def test_what_was_being_written_is_not_said_of_the_next_item(page, settled):
    page.click(".st-key-words-1 textarea")
    page.keyboard.type("too dear")
    page.wait_for_selector(".st-key-ia-hotkeys >> text=Draft saved")
    page.keyboard.type(", and blue")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".st-key-submit-2 button")
    # Longer than the silence after which a draft is sent.
    page.wait_for_timeout(1_200)
    drafts(page, settled)
    assert page.inner_text(".st-key-ia-hotkeys .status") == ""
