"""Items arrive by themselves: in the Inbox, on an empty Review page, and in the title of the tab."""

import pytest

from console.gate import Gate
from tests.signing_in import let_in

LOOK = "document.dispatchEvent(new Event('visibilitychange'))"
HIDDEN = "Object.defineProperty(document, 'hidden', {{value: {}, configurable: true}})"


@pytest.fixture
def ask(data_dir):
    """A function that has an agent ask about one more order."""
    gate = Gate("desk", "full-validation", undo_s=0)

    def another(order):
        gate.ask(f"Refund order {order}.", [], f'refund_order({{"order":{order}}})', task_id=f"ticket-{order}")

    return another


def test_an_item_comes_into_the_inbox_and_onto_an_empty_review_page(ask, serve, open_page, settled):
    address, page = serve(), open_page()
    let_in(page, address, role="reviewer")
    page.goto(f"{address}/inbox")
    page.get_by_text("Nothing to review yet").wait_for()
    assert page.title() == "Inbox · InferAct Console"
    settled(page)
    ask(12)
    page.get_by_text("Refund order 12.").wait_for(timeout=12_000)
    page.wait_for_function("document.title === '(1) Inbox · InferAct Console'")
    page.get_by_role("button", name="Review next").click()
    page.locator(".ia-task", has_text="Refund order 12.").wait_for()
    settled(page, quiet_ms=500)
    page.keyboard.press("a")
    page.get_by_text("Nothing waits in this run").wait_for()
    page.wait_for_function("document.title === 'Review · InferAct Console'")
    settled(page)
    ask(13)
    page.evaluate(LOOK)
    page.locator(".ia-task", has_text="Refund order 13.").wait_for(timeout=4_000)
    page.wait_for_function("document.title === '(1) Review · InferAct Console'")


def test_a_hidden_tab_asks_nothing_and_looks_once_it_is_in_front(ask, serve, open_page, settled):
    ask(12)
    address, page = serve(), open_page()
    let_in(page, address, role="reviewer")
    page.goto(f"{address}/inbox?run=desk")
    page.get_by_text("Refund order 12.").wait_for()
    settled(page)
    page.evaluate(HIDDEN.format("true"))
    ask(13)
    page.evaluate(LOOK)
    page.wait_for_timeout(600)
    assert page.title().startswith("(1)")
    page.evaluate(HIDDEN.format("false"))
    page.evaluate(LOOK)
    page.get_by_text("Refund order 13.").wait_for(timeout=4_000)
    page.wait_for_function("document.title.startsWith('(2)')")
