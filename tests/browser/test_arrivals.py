"""Items arrive by themselves: in the Inbox, on the Review page, in the title of the tab, and as a notification."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from console.gate import Gate
from tests.browser.walking import ready, shown_item, until
from tests.signing_in import let_in

ELSEWHERE = """
Object.defineProperty(document, "hidden", { value: true, configurable: true })
"""
# What a browser shows outside of its window, noted instead: headless ones have no place for it.
NOTED = """
window.noted = []
window.Notification = class {
  static permission = "default"
  static async requestPermission() { return (this.permission = "granted") }
  constructor(title, { body }) { window.noted.push(`${title}: ${body}`) }
}
"""


@pytest.fixture
def ask(data_dir):
    """A function that has an agent ask about one more order."""
    gate = Gate("desk", "full-validation", undo_s=0)

    def another(order):
        gate.ask(f"Refund order {order}.", [], f'refund_order({{"order":{order}}})', task_id=f"ticket-{order}")

    return another


@pytest.mark.at_length
def test_an_item_comes_into_the_inbox_and_onto_an_empty_review_page(ask, serve, open_page, settled):
    address, page = serve(), open_page()
    let_in(page, address, role="reviewer")
    page.goto(f"{address}/inbox")
    page.get_by_text("Nothing to review yet").wait_for()
    until(page, "() => document.title === 'Inbox · InferAct Console'")
    settled(page)
    ask(12)
    page.get_by_text("Refund order 12.").wait_for(timeout=10_000)
    until(page, "() => document.title === '(1) Inbox · InferAct Console'")
    page.get_by_role("button", name="Review next item").click()
    page.locator(".ia-task", has_text="Refund order 12.").wait_for()
    ready(page, shown_item(page))
    page.keyboard.press("a")
    page.get_by_text("No pending items", exact=True).wait_for()
    until(page, "() => document.title === 'Review · InferAct Console'")
    settled(page)
    ask(13)
    page.locator(".ia-task", has_text="Refund order 13.").wait_for(timeout=10_000)
    until(page, "() => document.title === 'Review · InferAct Console'")
    ready(page, shown_item(page))

    page.keyboard.press("w")
    page.keyboard.type("Which ord")
    ask(14)
    until(page, "() => document.title === '(1) Review · InferAct Console'")
    page.keyboard.type("er is it?")
    assert page.locator("textarea").first.input_value() == "Which order is it?"
    assert page.locator(".ia-task", has_text="Refund order 13.").is_visible()


@pytest.mark.at_length
def test_the_open_page_says_at_once_that_its_agent_withdrew(data_dir, serve, open_page, settled):
    with ThreadPoolExecutor() as agent:
        address, page, cancel = serve(), open_page(), Event()
        let_in(page, address, role="reviewer")
        check = Gate("desk", "full-validation", undo_s=1).check
        agent.submit(check, "Refund order 12.", [], "refund_order(12)", timeout_s=600, cancel=cancel)
        page.goto(f"{address}/review")
        page.locator(".ia-wait", has_text="waits until").wait_for()
        settled(page)
        cancel.set()
        page.get_by_text("before a decision, so the action did not run").wait_for(timeout=5_000)
        assert "waits until" not in page.locator("[data-testid=stMain]").inner_text()


@pytest.mark.at_length
def test_a_hidden_tab_counts_and_notifies_only_where_it_was_asked_to(ask, serve, open_page, settled):
    ask(12)
    address, page = serve(), open_page()
    page.add_init_script(NOTED)
    let_in(page, address, role="reviewer")
    page.goto(f"{address}/inbox?run=desk")
    page.get_by_text("Refund order 12.").wait_for()
    settled(page)
    page.evaluate(ELSEWHERE)
    ask(13)
    until(page, "() => document.title === '(2) Inbox · InferAct Console'")
    assert page.evaluate("noted") == []
    page.get_by_role("button", name="Turn on notifications").click()
    page.get_by_role("button", name="Turn off notifications").wait_for()
    ask(14)
    until(page, "() => noted.length")
    assert page.evaluate("noted") == ["InferAct Console: 3 items are pending"]
    page.get_by_role("button", name="Turn off notifications").click()
    page.get_by_role("button", name="Turn on notifications").wait_for()
    find = page.get_by_role("textbox", name="Find")
    find.press_sequentially("order ")
    ask(15)
    until(page, "() => document.title === '(4) Inbox · InferAct Console'")
    assert page.evaluate("noted.length") == 1
    page.get_by_text("Refund order 15.").wait_for()
    page.keyboard.type("15")
    assert find.input_value() == "order 15"


@pytest.mark.at_length
def test_the_time_left_counts_down_and_its_end_is_said_at_once(data_dir, serve, open_page, settled):
    with ThreadPoolExecutor() as agent:
        address, page = serve(), open_page()
        let_in(page, address, role="reviewer")
        page.goto(f"{address}/review")
        page.get_by_text("Nothing to review yet").wait_for()
        settled(page)
        # Each of the three texts stands for more than a second, so that a busy machine shows it too.
        gate = Gate("desk", "full-validation", undo_s=4)
        agent.submit(gate.check, "Refund order 12.", [], "refund_order(12)", timeout_s=12)
        page.locator(".ia-task", has_text="Refund order 12.").wait_for()
        page.locator(".ia-wait-soon .ia-left", has_text="only 0:0").wait_for(timeout=12_000)
        page.locator(".ia-wait-late", has_text="an approval may come too late").wait_for(timeout=6_000)
        page.get_by_text("stopped waiting: your decision is recorded").wait_for(timeout=6_000)
        page.locator(".ia-stamp", has_text="agent stopped waiting").first.wait_for(timeout=3_000)
