"""The console on a phone: what the menu marks, fields that mean nothing yet, tables that scroll in themselves."""

import pytest
from playwright.sync_api import expect

from console.database import now_ms, writing
from console.review.notices import channels
from console.review.notices.channels import ChannelWish
from console.settings import settings
from tests.browser.walking import until
from tests.signing_in import let_in


@pytest.fixture
def phone(serve, chromium, open_page, settled):
    """A function that opens an address of the console on a phone, which has no keyboard."""
    look = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    context, address = chromium.new_context(**look), serve()

    def show(path):
        page = open_page(context=context)
        let_in(page, address)
        page.goto(f"{address}/{path}")
        page.locator("h1, .ia-task").first.wait_for()
        settled(page)
        return page

    yield show
    context.close()


@pytest.mark.at_length
def test_the_menu_marks_the_inbox_at_each_of_its_addresses(phone):
    page = phone("inbox?find=tea")
    until(page, "!location.pathname.includes('inbox')")
    assert "find=tea" in page.url
    page.get_by_test_id("stExpandSidebarButton").click()
    marked = page.locator("[data-testid=stSidebarNavLink][aria-current=page]")
    marked.wait_for()
    assert marked.inner_text() == "Inbox"


@pytest.mark.at_length
def test_the_menu_closes_when_a_page_is_chosen_or_the_page_beside_it_is_touched(phone, settled):
    page = phone("inbox")
    menu, opener = page.locator("#stSidebar"), page.get_by_test_id("stExpandSidebarButton")
    opener.tap()
    page.get_by_test_id("stSidebarNavLink").get_by_text("My reviews").tap()
    page.get_by_role("heading", name="No decisions yet").wait_for()
    expect(menu).to_have_attribute("data-collapsed", "true")
    opener.tap()
    expect(menu).to_have_attribute("data-collapsed", "false")
    page.touchscreen.tap(370, 600)
    expect(menu).to_have_attribute("data-collapsed", "true")
    opener.tap()
    page.reload()
    page.get_by_role("heading", name="No decisions yet").wait_for()
    expect(menu).to_have_attribute("data-collapsed", "true")


# A touch anywhere in its row unfolds a step and opens a field of several choices; a help text repeats the handbook.
SMALL = """[...document.querySelectorAll("button, [role=combobox], textarea, [data-testid=stSidebarNavLink]")]
    .filter((each) => getComputedStyle(each).visibility === "visible")
    .filter((each) => !each.matches(".ia-toggle, [data-testid=stTooltipHoverTarget] *, [data-testid=stMultiSelect] *"))
    .map((each) => [each.ariaLabel || each.innerText, each.getBoundingClientRect()])
    .filter(([, { width, height }]) => width > 2 && height > 2 && height < 42)
    .map(([name, { width, height }]) => `${name}: ${Math.round(width)} x ${Math.round(height)}`)"""
LESSER = [
    pytest.param(path, marks=pytest.mark.at_length) for path in ("review?run=kettles", "answers", "notices", "people")
]


@pytest.mark.parametrize("path", ["inbox", *LESSER])
def test_what_a_reviewer_presses_is_as_large_as_a_finger(filled, phone, path):
    filled()
    page = phone(path)
    until(page, f"{SMALL}.length === 0")
    page.get_by_test_id("stExpandSidebarButton").tap()
    page.get_by_test_id("stSidebarNavLink").first.wait_for()
    until(page, f"{SMALL}.length === 0")


@pytest.mark.at_length
def test_the_saved_draft_is_named_beside_the_claim_and_not_over_it(filled, phone):
    filled()
    page = phone("review?run=kettles")
    page.get_by_role("textbox", name="Feedback").fill("too dear")
    saved = page.get_by_text("Draft saved")
    saved.wait_for()
    claim, draft = page.locator(".ia-hold").bounding_box(), saved.bounding_box()
    assert claim["x"] + claim["width"] <= draft["x"]
    assert draft["height"] < 20


def test_times_appear_with_quiet_hours_only(phone, monkeypatch):
    monkeypatch.setenv("INFERACT_NOTICE_HOSTS", "hooks.example.org")
    settings.cache_clear()
    page = phone("inbox")
    with writing() as session:
        channels.add_channel(session, "Ada", ChannelWish("webhook", "https://hooks.example.org/one"), now_ms())
    page = phone("notices")
    page.get_by_text("Change channel").click()
    page.get_by_text("Quiet hours").wait_for()
    times = page.get_by_role("combobox", name="Until")
    assert times.count() == 0
    page.get_by_text("Quiet hours").click()
    times.wait_for()


@pytest.mark.at_length
def test_a_wide_table_of_the_handbook_scrolls_in_itself(phone):
    page = phone("help?chapter=figures")
    wide = page.locator(".st-key-ia-handbook .ia-rows").first
    wide.wait_for()
    assert wide.evaluate("each => each.scrollWidth > each.clientWidth + 100")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
