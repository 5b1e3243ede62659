"""By keyboard alone, by address, by a row of a list: every way to a page works."""

from urllib.parse import urlsplit

import pytest

from console.auth import sessions
from console.database import now_ms, writing
from tests.browser.walking import (
    in_focus,
    press_until_next,
    ready,
    shown_item,
    sign_in,
    standing_answers,
    tab_to,
    until,
)
from tests.signing_in import invitation, let_in

pytestmark = pytest.mark.at_length


ITEM = "document.activeElement.closest('[data-item]')?.dataset.item"


def test_the_whole_journey_without_a_mouse(filled, serve, open_page, settled):
    filled(budget="9")
    address = serve()
    page = open_page(f"{address}/invite/{invitation()}?next=/review")
    page.get_by_role("heading", name="You are invited").wait_for()
    in_focus(page).keyboard.type("Ada")
    page.keyboard.press("Enter")
    first = shown_item(page)
    assert page.url.startswith(f"{address}/review")
    ready(page, first)
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("show your earlier decisions").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    settled(page)
    tab_to(page, "Feedback, saved with the record")
    page.keyboard.type("axs: too dear")
    page.keyboard.press("Escape")
    assert shown_item(page) == first
    press_until_next(page, settled, "x")
    assert [answer[:3] for answer in standing_answers()] == [(first, "reject", "axs: too dear")]
    ready(page, shown_item(page))
    page.keyboard.press("k")
    page.get_by_text(f"Your decision on item {first}: Marked as incorrect.").wait_for()
    ready(page, f"back-{first}")
    until(page, f"(id) => {ITEM} === id", str(first))
    page.keyboard.press("j")
    page.locator("[class*='st-key-approve-']").wait_for()
    until(page, f"(id) => {ITEM} === id", str(shown_item(page)))
    tab_to(page, "step 1 in full")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    assert page.locator(".ia-step.ia-open").count() == 1


FOCUS = """(() => {
    const at = document.activeElement, box = at.getBoundingClientRect(), { outlineStyle } = getComputedStyle(at)
    const bar = document.querySelector("[data-testid=stBottom]"), name = at.ariaLabel || at.innerText
    if (at === document.body) return "nothing has the focus"
    if (at.matches("[data-testid=stTopNavLink]") && outlineStyle === "none") return `${name}: no ring`
    if (!bar.contains(at) && box.height < 300 && box.bottom > bar.getBoundingClientRect().top) return `${name}: covered`
    return ""
})()"""


def test_the_focus_is_visible_at_each_stop_and_never_under_the_decision_bar(desk):
    desk.get_by_test_id("stTopNavLink").first.focus()
    faults = []
    for _ in range(26):
        desk.keyboard.press("Tab")
        # A scroll to what gets the focus takes a moment, and longer on a busy machine.
        for _ in range(25):
            desk.wait_for_timeout(80)
            fault = desk.evaluate(FOCUS)
            if not fault:
                break
        faults.append(fault)
    assert [fault for fault in faults if fault] == []


def test_the_switch_for_keys_is_remembered_by_the_browser(filled, serve, open_page, settled):
    filled(budget="9")
    page = open_page()
    address = serve()
    sign_in(page, settled, address)
    page.get_by_role("button", name="Review next item").click()
    first = shown_item(page)
    ready(page, first)
    page.keyboard.press("?")
    page.get_by_role("dialog").locator(".st-key-keys_toggle label").click()
    until(page, "document.cookie.includes('ia_keys=off')")
    page.keyboard.press("Escape")
    page.reload()
    assert shown_item(page) == first
    settled(page, quiet_ms=500)
    page.keyboard.press("x")
    settled(page, quiet_ms=400)
    assert standing_answers() == []


def test_every_address_needs_a_session_and_then_opens(filled, serve, open_page, settled):
    filled()
    address = serve()
    expected = {"review": ("review", "The user asked"), "runs": ("runs", "Status by trial"), "inbox": ("", "pending")}
    for path, (opened, words) in expected.items():
        page = open_page(f"{address}/{path}")
        page.get_by_role("heading", name="Open your link").wait_for()
        page.goto(f"{address}/invite/{invitation('Ada', 'researcher')}?next=/{path}")
        in_focus(page).keyboard.press("Enter")
        page.get_by_text(words).first.wait_for()
        settled(page, quiet_ms=300)
        assert urlsplit(page.url).path == f"/{opened}"
        assert "invite" not in page.url
        assert "inferact" not in page.evaluate("document.cookie")
        page.reload()
        page.get_by_text(words).first.wait_for()
        assert page.get_by_role("dialog").count() == 0
        page.context.clear_cookies()


@pytest.mark.parametrize(("role", "advice"), [("reviewer", "Ask an admin"), ("admin", "Invite yourself")])
def test_without_the_role_a_researchers_address_says_how_to_get_it(role, advice, filled, serve, open_page, settled):
    filled()
    address, page = serve(), open_page()
    let_in(page, address, "Rae", role)
    page.goto(f"{address}/runs")
    page.get_by_text("This page is for researchers").wait_for()
    page.get_by_text(advice).wait_for()


def test_a_link_opens_once_and_a_taken_name_says_so(filled, serve, open_page, settled):
    filled()
    address, link = serve(), invitation()
    sign_in(open_page(), settled, address, "Ada")
    page = open_page(f"{address}/invite/{link}", width=390)
    page.get_by_label("Your name").fill("ADA")
    page.keyboard.press("Enter")
    page.get_by_role("alert").get_by_text("The name Ada is taken").wait_for()
    page.get_by_label("Your name").fill("Rae")
    page.keyboard.press("Enter")
    page.get_by_text("Rae · Sign out").wait_for()
    page.goto(f"{address}/invite/{link}")
    page.get_by_text("This link does not work").wait_for()


def test_a_session_that_ends_takes_its_open_tabs_to_the_sign_in(filled, serve, open_page, settled):
    filled()
    address, page = serve(), open_page()
    sign_in(page, settled, address)
    other = open_page(f"{address}/review", context=page.context)
    shown_item(other)
    with writing() as session:
        (mine,) = sessions.open_sessions(session, now_ms())
        sessions.end_session_of(session, mine.id, None, now_ms())
    for tab in (page, other):
        tab.get_by_role("heading", name="Your session has ended").wait_for()
        assert tab.get_by_text("price lower than").count() == 0


def test_signing_out_closes_every_tab(filled, serve, open_page, settled):
    filled()
    address, page = serve(), open_page()
    sign_in(page, settled, address)
    other = open_page(f"{address}/review", context=page.context)
    shown_item(other)
    page.get_by_role("button", name="Ada · Sign out").click()
    for tab in (page, other):
        tab.get_by_role("heading", name="Your session has ended").wait_for()


def test_a_row_opens_its_record_where_it_is_seen(filled, serve, open_page, settled):
    filled()
    page = open_page()
    address = serve()
    sign_in(page, settled, address, role="researcher")
    page.goto(f"{address}/trajectories?run=kettles")
    rows = page.get_by_role("region", name="Trajectories")
    rows.get_by_role("link", name="kettle").first.click()
    outcome = page.get_by_role("heading", name="Outcome")
    outcome.wait_for()
    assert outcome.bounding_box()["y"] < 720
    page.get_by_role("button", name="Show list").click()
    rows.wait_for()
    settled(page)
    assert "id=" not in page.url
