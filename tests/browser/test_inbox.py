"""The Inbox by keyboard: a row opens its item, the address opens it again for those who may, filters stay in it."""

import pytest

from tests.browser.walking import in_focus, press_until_next, ready, shown_item, until
from tests.signing_in import invitation, let_in


@pytest.mark.at_length
def test_an_address_opens_its_item_for_those_who_may(filled, serve, open_page, settled):
    filled()
    address, page = serve(), open_page()
    let_in(page, address, role="reviewer")
    page.goto(f"{address}/inbox?run=kettles")
    page.get_by_role("button", name="Close tour").click()
    page.get_by_role("button", name="Close tour").wait_for(state="detached")
    page.get_by_role("textbox", name="Find").fill("number 4,")
    page.keyboard.press("Enter")
    page.get_by_text("Hidden by filters: 6").wait_for()
    settled(page)
    page.reload()
    page.get_by_text("Hidden by filters: 6").wait_for()
    until(page, "() => document.querySelector('input[aria-label=Find]')?.value === 'number 4,'")
    settled(page)
    assert page.locator(".ia-waiting li").first.bounding_box()["y"] < 330
    row = page.locator(".ia-waiting a")
    assert row.count() == 1
    wanted = int(row.get_attribute("data-item"))
    settled(page)
    row.focus()
    assert row.evaluate("row => row.matches(':focus')")
    page.keyboard.press("Enter")
    page.locator(".ia-task", has_text="number 4,").wait_for()
    assert shown_item(page) == wanted
    until(page, f"() => location.search.includes('item={wanted}')")
    link = page.url
    ready(page, wanted)
    page.reload()
    page.locator(".ia-task", has_text="number 4,").wait_for()
    assert shown_item(page) == wanted

    other = open_page(link, context=page.context.browser.new_context())
    until(other, "() => location.pathname === '/sign-in'")
    other.get_by_text("If you sign in with this browser within an hour").wait_for()
    other.goto(f"{address}/invite/{invitation('Ben')}")
    in_focus(other).keyboard.press("Enter")
    other.get_by_text("Another reviewer has claimed the item").wait_for()
    ready(other)
    other.keyboard.press("Enter")
    other.locator(".ia-task").wait_for()
    assert shown_item(other) != wanted
    other.context.close()

    press_until_next(page, settled, "x")
    assert shown_item(page) != wanted
    until(page, f"() => !location.search.includes('item={wanted}')")
    page.goto(link)
    page.get_by_text("Your decision on").wait_for()
    page.locator(".ia-task", has_text="number 4,").wait_for()


@pytest.mark.at_length
def test_one_key_opens_the_next_item_and_a_row_keeps_its_own(filled, serve, open_page, settled):
    filled()
    address, page = serve(), open_page()
    let_in(page, address, role="reviewer")
    for place in ("first", "last"):
        page.goto(f"{address}/inbox?run=kettles")
        row = getattr(page.locator(".ia-waiting a"), place)
        row.wait_for()
        until(page, "() => document.body.dataset.iaKeys === 'inbox'")
        wanted = int(row.get_attribute("data-item"))
        if place == "last":
            row.focus()
        page.keyboard.press("Enter")
        assert shown_item(page) == wanted
