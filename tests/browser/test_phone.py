"""The console on a phone: what the menu marks, fields that mean nothing yet, tables that scroll in themselves."""

import pytest

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
        page.locator("h1").wait_for()
        settled(page)
        return page

    yield show
    context.close()


def test_the_menu_marks_the_inbox_at_each_of_its_addresses(phone):
    page = phone("inbox?find=tea")
    until(page, "!location.pathname.includes('inbox')")
    assert "find=tea" in page.url
    page.get_by_test_id("stExpandSidebarButton").click()
    marked = page.locator("[data-testid=stSidebarNavLink][aria-current=page]")
    marked.wait_for()
    assert marked.inner_text() == "Inbox"


@pytest.mark.at_length
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
