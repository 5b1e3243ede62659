"""Pointing at steps on the Review page, with the keys and with the mouse."""

import pytest
from sqlmodel import select

from console.database import reading
from console.review.decision_details import read_marks
from console.review.resolution import feedback_to_agent
from storage.tables import Decision, Draft
from tests.browser.walking import press_until_next, ready, shown_item, until

MARKED = "() => [...document.querySelectorAll('.ia-step.ia-marked')].map(row => row.dataset.n)"


def drafted():
    with reading() as session:
        return [(one.step, one.quote) for one in read_marks(session.exec(select(Draft.marked_steps)).first())]


def kept(page, *marks):
    """Waits until the draft holds these marks: the page shows a mark before the console has stored it."""
    for _ in range(400):
        if drafted() == list(marks):
            return
        page.wait_for_timeout(50)
    assert drafted() == list(marks)


def listens(page):
    """Waits until a step offers its mark: the script of marks comes to the page after that of the keys."""
    over = "new PointerEvent('pointerover', {bubbles: true})"
    step = "document.querySelector(\".ia-step[data-n='1']\")"
    until(page, f"() => {step}.dispatchEvent({over}) && {step}.querySelector('.ia-mark') !== null")


def marked(page, *numbers):
    until(page, f"wanted => ({MARKED})().join() === wanted", ",".join(map(str, numbers)))


@pytest.mark.at_length
def test_keys_point_at_a_step_and_the_mark_stands_in_the_decision(desk, settled):
    listens(desk)
    steps = desk.locator(".ia-step[data-n]").count()
    desk.keyboard.press("[")
    desk.keyboard.press("[")
    until(desk, f"() => document.querySelector('.ia-at')?.dataset.n === '{steps - 1}'")
    desk.keyboard.press(".")
    marked(desk, steps - 1)
    desk.locator(".said", has_text=f"step {steps - 1}, marked as wrong").wait_for(state="attached")
    desk.keyboard.press("]")
    desk.keyboard.press(".")
    marked(desk, steps - 1, steps)
    kept(desk, (steps - 1, ""), (steps, ""))
    desk.keyboard.press(".")
    marked(desk, steps - 1)
    kept(desk, (steps - 1, ""))
    desk.reload()
    ready(desk, shown_item(desk))
    settled(desk)
    marked(desk, steps - 1)
    desk.keyboard.press("2")
    press_until_next(desk, settled, "x")
    marked(desk)
    with reading() as session:
        row = session.exec(select(Decision)).one()
        assert [one.step for one in read_marks(row.marked_steps)] == [steps - 1]
        assert feedback_to_agent(row).startswith(f"Step {steps - 1}, `")
        assert feedback_to_agent(row).endswith("`: wrong option.")


@pytest.mark.at_length
def test_the_mouse_marks_the_selected_words_of_a_step(desk):
    listens(desk)
    words = desk.evaluate(
        """() => {
            const text = document.querySelector(".ia-step[data-n='1'] .ia-obs").firstChild
            getSelection().setBaseAndExtent(text, 0, text, 10)
            return getSelection().toString()
        }"""
    )
    desk.locator(".ia-step[data-n='1']").hover()
    desk.locator(".ia-step[data-n='1'] .ia-mark").click()
    marked(desk, 1)
    kept(desk, (1, " ".join(words.split())))
    assert desk.locator(".ia-step[data-n='1'] .ia-mark").inner_text() == "Remove mark"


@pytest.mark.at_length
def test_after_a_refused_approval_the_focus_is_on_the_item(desk, settled):
    listens(desk)
    before = shown_item(desk)
    desk.keyboard.press("[")
    desk.keyboard.press(".")
    until(desk, f"() => ({MARKED})().length === 1")
    ready(desk, before)
    desk.keyboard.press("a")
    desk.locator(".ia-problem", has_text="Remove the marks to approve.").wait_for()
    settled(desk, quiet_ms=300)
    until(desk, "id => document.activeElement.closest('[data-item]')?.dataset.item === id", str(before))


@pytest.mark.at_length
def test_keys_of_steps_are_silent_while_typing(desk):
    desk.keyboard.press("w")
    desk.keyboard.type("see [4].")
    assert desk.locator(".ia-at, .ia-marked").count() == 0
    assert desk.locator("textarea").first.input_value() == "see [4]."
