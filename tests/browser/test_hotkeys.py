"""The hotkey component in a real browser."""

import pytest

DWELL_MS = 450
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
def page(app, open_page, settled):
    """The app of keys, its first item past the dwell time."""
    page = open_page(app("keys"))
    page.wait_for_selector(".st-key-submit-1 button")
    page.wait_for_selector(".st-key-ia-hotkeys")
    settled(page)
    page.wait_for_timeout(DWELL_MS)
    return page


@pytest.fixture
def log(settled):
    """A function that reads what the app has noted."""

    def read(page):
        settled(page, quiet_ms=250)
        return page.inner_text(".st-key-log").split()

    return read


def test_each_key_presses_its_button_once(page, log):
    # On one page, because a page takes far longer to load than a key to press.
    for key, expected in PRESSES.items():
        page.keyboard.press(key)
        assert log(page) == [expected], key
        page.click(".st-key-start-over button")
        page.wait_for_selector(".st-key-log >> text=nothing")
        page.wait_for_selector(".st-key-submit-1 button")
        page.evaluate("document.activeElement.blur()")
        page.wait_for_timeout(DWELL_MS)


def test_a_held_key_decides_one_item(page, log):
    for _ in range(12):
        page.keyboard.down("a")
        page.wait_for_timeout(60)
    page.keyboard.up("a")
    assert log(page) == ["approve:1"]


def test_a_second_press_within_the_dwell_time_decides_nothing(page, log):
    page.keyboard.press("a")
    page.wait_for_selector(".st-key-approve-2 button")
    page.wait_for_timeout(100)
    page.keyboard.press("a")
    assert log(page) == ["approve:1"]
    page.wait_for_timeout(DWELL_MS)
    page.keyboard.press("x")
    assert log(page) == ["approve:1", "reject:2"]


@pytest.mark.parametrize("field", [".st-key-name input", ".st-key-words-1 textarea"])
def test_silent_while_typing_until_escape(page, log, field):
    page.click(field)
    page.keyboard.type("axesujk?")
    assert page.input_value(field) == "axesujk?"
    assert log(page) == ["nothing"]
    page.keyboard.press("Escape")
    page.wait_for_timeout(A_PERSONS_PACE_MS)
    page.keyboard.press("e")
    assert log(page) == ["edit:1"]


def test_modifiers_are_left_to_the_browser(page, log):
    for combination in ("Control+a", "Alt+a", "Meta+a", "Shift+a"):
        page.keyboard.press(combination)
    assert log(page) == ["nothing"]


def test_control_enter_in_the_field_submits_with_the_typed_words(page, log):
    page.click(".st-key-words-1 textarea")
    page.keyboard.type("pick white")
    page.keyboard.press("Control+Enter")
    assert log(page) == ["submit:1:pick", "white"]


def test_a_dialog_silences_all_keys_but_its_own(page, log, settled):
    page.keyboard.press("?")
    page.wait_for_selector("[role=dialog] .st-key-confirm button")
    page.keyboard.press("a")
    page.keyboard.press("x")
    page.keyboard.press("Control+Enter")
    settled(page, quiet_ms=200)
    assert page.is_visible("[role=dialog]")
    page.keyboard.press("y")
    settled(page, quiet_ms=200)
    page.keyboard.press("Escape")
    page.wait_for_selector("[role=dialog]", state="hidden")
    page.click(".st-key-refresh button")
    assert log(page) == ["confirm:1"]


def test_a_disabled_button_is_respected(page, log, settled):
    page.click(".st-key-tick label")
    settled(page)
    page.wait_for_selector(".st-key-undo-1 button[disabled]")
    page.keyboard.press("u")
    assert log(page) == ["nothing"]


def test_the_switch_turns_all_keys_off(page, log, settled):
    page.click(".st-key-keys-on label")
    settled(page, quiet_ms=250)
    for key in ("a", "x", "j", "Control+Enter"):
        page.keyboard.press(key)
    assert log(page) == ["nothing"]


def test_a_key_works_while_a_checkbox_has_the_focus(page, log):
    page.focus(".st-key-tick input")
    page.keyboard.press("e")
    assert log(page) == ["edit:1"]


def test_a_draft_is_saved_after_a_second_of_silence_without_losing_the_field(page, settled):
    field = ".st-key-words-1 textarea"
    page.click(field)
    page.keyboard.type("half a sen")
    page.wait_for_selector(".st-key-ia-hotkeys >> text=Draft saved")
    page.keyboard.type("tence")
    assert page.input_value(field) == "half a sentence"
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    page.wait_for_timeout(1_300)
    page.click(".st-key-refresh button")
    settled(page, quiet_ms=200)
    assert "half a sentence" in page.inner_text(".st-key-drafts")
    assert "half a sen" in page.inner_text(".st-key-drafts")


def test_leaving_the_field_saves_the_draft_at_once(page, settled):
    page.click(".st-key-words-1 textarea")
    page.keyboard.type("short")
    page.keyboard.press("Escape")
    settled(page, quiet_ms=300)
    page.click(".st-key-refresh button")
    settled(page, quiet_ms=200)
    assert '"short"' in page.inner_text(".st-key-drafts")


def test_what_was_being_written_is_not_said_of_the_next_item(page, settled):
    page.click(".st-key-words-1 textarea")
    page.keyboard.type("too dear")
    page.wait_for_selector(".st-key-ia-hotkeys >> text=Draft saved")
    page.keyboard.type(", and blue")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".st-key-submit-2 button")
    page.wait_for_timeout(1_200)
    page.click(".st-key-refresh button")
    settled(page, quiet_ms=200)
    assert page.inner_text(".st-key-ia-hotkeys .status") == ""
