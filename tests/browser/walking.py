"""Steps that several journeys share: sign in, which item is shown, on to the next, what was answered."""

import re

from sqlmodel import select

from console.database import reading
from storage.tables import Decision
from tests.signing_in import invitation


def sign_in(page, settled, address, name="Ada", role="reviewer"):
    page.goto(f"{address}/invite/{invitation(name, role)}")
    page.get_by_role("heading", name=f"Welcome, {name}").wait_for()
    in_focus(page).keyboard.press("Enter")
    # A newcomer comes to a worked item first.
    page.wait_for_url(lambda url: "/invite/" not in url)
    page.goto(address)
    page.get_by_role("heading", name="Inbox").wait_for()
    settled(page)


def until(page, expression, arg=None):
    """Waits until the expression is true in the page, whose content policy forbids playwright's own way to wait."""
    for _ in range(800):
        if page.evaluate(expression, arg):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {expression}")


def fits(page):
    """Waits until nothing is wider than the window: a chart comes to its width a moment after it is drawn."""
    until(page, "document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def in_focus(page):
    """The page, once a plain one has the focus where Enter or typing is to go: that comes a moment after its words."""
    until(page, "document.activeElement.hasAttribute('autofocus')")
    return page


def ready(page, item=None):
    """Waits until the page says that its keys act: those of that item, or of whatever it shows."""
    named = "" if item is None else f"='{item}'"
    page.locator(f"body[data-ia-keys{named}]").wait_for(state="attached")


def shown_item(page):
    """The id of the item that the page shows, from the keys of its buttons."""
    page.locator("[class*='st-key-skip-']").first.wait_for()
    names = page.locator("[class*='st-key-skip-']").first.get_attribute("class")
    return int(re.search(r"st-key-skip-(\d+)", names)[1])


def press_seeing(page, key):
    """Presses the key and returns the id of the item that the page showed when the browser took the press."""
    page.evaluate(
        """() => addEventListener("keydown", () => {
            const shown = document.querySelector("[class*='st-key-skip-']");
            window.seenAtPress = Number(shown.className.match(/st-key-skip-(\\d+)/)[1]);
        }, {capture: true, once: true})"""
    )
    page.keyboard.press(key)
    return page.evaluate("window.seenAtPress")


def press_until_next(page, settled, key):
    before = shown_item(page)
    ready(page, before)
    page.keyboard.press(key)
    page.wait_for_selector(f".st-key-skip-{before}", state="detached")
    settled(page)


def standing_answers():
    with reading() as session:
        rows = session.exec(select(Decision).order_by(Decision.id)).all()
        return [(row.item_id, row.decision, row.feedback_text, row.superseded) for row in rows]


def tab_to(page, label):
    """Moves the focus with Tab alone to the element of that accessible name."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('aria-label')") == label:
            return
    raise AssertionError(f"Tab never reaches {label!r}")
