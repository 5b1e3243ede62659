"""A reviewer whose browser asks for German reads German from the sign-in on, until they choose otherwise."""

import pytest

from console.language import COOKIE
from tests.browser.screens import screenshot
from tests.browser.walking import in_focus, press_until_next, ready, shown_item, until
from tests.signing_in import cookie, invitation, signed_in

NAMED = "([title, lang]) => document.title.includes(title) && document.documentElement.lang === lang"
SIZE = "each => parseFloat(getComputedStyle(each).fontSize)"


@pytest.fixture
def german(chromium):
    """A browser that asks for German, of its own."""
    context = chromium.new_context(locale="de-DE", viewport={"width": 1280, "height": 800})
    yield context
    context.close()


@pytest.mark.at_length
def test_pages_come_in_the_language_of_the_browser_and_stay_in_the_chosen_one(
    german, filled, serve, open_page, settled
):
    filled()
    address = serve()
    page = open_page(context=german)
    page.goto(f"{address}/sign-in")
    page.get_by_role("heading", name="Öffnen Sie Ihren Link").wait_for()
    assert page.locator("html").get_attribute("lang") == "de"
    page.goto(f"{address}/invite/{invitation('Ada')}")
    page.get_by_role("heading", name="Willkommen, Ada").wait_for()
    in_focus(page).keyboard.press("Enter")
    page.get_by_role("heading", name="Ein gelöstes Beispiel, dann Ihr erster Vorgang").wait_for()
    ready(page, "welcome")
    page.keyboard.press("Enter")
    assert shown_item(page)
    settled(page)
    assert "Prüfen · InferAct Console" in page.title()
    assert page.locator("html").get_attribute("lang") == "de"
    assert page.get_by_role("textbox", name="Rückmeldung, wird mit der Aufzeichnung gespeichert").count()
    press_until_next(page, settled, "x")
    assert page.get_by_text("Als falsch bewertet.").count()
    screenshot(page, "german")
    page.goto(f"{address}/help")
    page.get_by_role("button", name="English").click()
    page.get_by_role("heading", name="Help", exact=True).wait_for()
    settled(page)
    until(page, "kept => document.cookie.includes(kept)", f"{COOKIE}=en")
    page.get_by_role("radio", name="Researcher").or_(page.get_by_role("button", name="Researcher")).first.click()
    page.get_by_role("heading", name="Start from a preset").wait_for()
    sizes = [page.locator(f".st-key-ia-handbook {level}").first.evaluate(SIZE) for level in ("h2", "p")]
    assert sizes == sorted(sizes, reverse=True)
    page.goto(f"{address}/review")
    shown_item(page)
    settled(page)
    until(page, NAMED, ["Review · InferAct Console", "en"])
    page.goto(f"{address}/sign-in")
    page.get_by_role("heading", name="You are Ada").wait_for()
    page.get_by_role("link", name="Deutsch").click()
    page.get_by_role("heading", name="Sie sind Ada").wait_for()


OF_ONE_LANGUAGE = """([lang, title, link]) => document.documentElement.lang === lang
    && [...document.querySelectorAll("h1")].some(each => each.textContent.trim() === title)
    && document.querySelector("[data-testid=stTopNavLinkContainer]")?.textContent.trim() === link"""
PAGES = {
    "inbox": ("de", "Eingang"),
    "people": ("de", "Personen"),
    "help": ("de", "Hilfe"),
    "runs": ("en", "Runs"),
    "detectors": ("en", "Detectors"),
    "export": ("en", "Export"),
}


@pytest.mark.at_length
def test_each_page_of_a_german_reader_has_one_language(german, filled, serve, open_page):
    filled()
    address, page = serve(), open_page(context=german)
    page.context.add_cookies([cookie(address, signed_in("Grace"))])
    for path, (language, title) in PAGES.items():
        page.goto(f"{address}/{path}")
        until(page, OF_ONE_LANGUAGE, [language, title, "Eingang" if language == "de" else "Inbox"])
