"""A participant's way through a study in a browser, one step at a time, whatever stage comes."""

import re
from concurrent.futures import ThreadPoolExecutor

from console.database import now_ms
from console.studies.design import Design
from console.studies.sessions import lifecycle
from tests.browser.walking import in_focus, ready, until

ITEM = "[class*='st-key-skip-']:visible"
TITLE = ".ia-stage-head h1"
SHEET = "[class*='st-key-filled-in-']"


def opened_study(**more):
    """A study of people in the embedded shop, open for them."""
    fields = {
        "name": "pilot",
        "source": {"actor": "scripted", "environment": "webshop"},
        "tasks": 3,
        "trials": 2,
        "participants": {"human": 2},
        "consent": {"text": "We study how people review agents.", "withdrawal": "remove"},
        "instructions": "Take your time.",
        "undo_seconds": 1,
    }
    design = Design.model_validate(fields | more)
    # The thread of a browser's test has an event loop, and known items are played in one of their own.
    with ThreadPoolExecutor(1) as aside:
        study = aside.submit(lifecycle.create, design, now_ms()).result()
    lifecycle.open_study(study.name)
    return study


def link_of(address, study):
    """The link that a study's board shows."""
    return f"{address}/participate?join={study.join_code}"


def come_in(page, settled, address, study, link=None):
    """From the link to the first page of the study; whoever has a place gets it back."""
    page.goto(link or link_of(address, study))
    if page.get_by_role("heading", name="You are invited to a study").count():
        in_focus(page).keyboard.press("Enter")
    page.locator(TITLE).first.wait_for()
    settled(page)


def title(page):
    """The title of the stage, empty before an item."""
    found = page.locator(TITLE)
    return found.first.inner_text() if found.count() else ""


def shown(page, settled):
    """The title of the stage once it stands still, or `item`."""
    page.wait_for_selector(f"{ITEM}, {TITLE}")
    settled(page)
    while page.locator("[data-testid=stProgress]").count():
        page.wait_for_timeout(100)
        settled(page)
    return "item" if page.locator(ITEM).count() else title(page)


def item_id(page):
    """The name by which the page calls the item that it shows."""
    return re.search(r"st-key-skip-([0-9a-f]+)", page.locator(ITEM).first.get_attribute("class"))[1]


def leave_by_enter(page, settled):
    """Enter, and the next stage."""
    before = title(page)
    ready(page)
    page.keyboard.press("Enter")
    until(
        page,
        "before => document.querySelector('.ia-stage-head h1')?.innerText !== before "
        "|| document.querySelector('[data-testid=stProgress]')",
        before,
    )
    settled(page)


def answer(page, settled, words="", key="x"):
    """Answers the item and waits for what follows; words go along where there is a field for them."""
    before = item_id(page)
    stuck = page.get_by_role("heading", name="The agent halted").count() > 0
    field = page.get_by_role("textbox", name="Feedback")
    sends = field.count() > 0 and (stuck or (words and key == "x"))
    if sends:
        field.fill(words or "Try another one.")
    ready(page, before)
    page.keyboard.press("Control+Enter" if sends or stuck else key)
    # Not until it is gone: Streamlit may keep what it no longer shows.
    page.wait_for_selector(f".st-key-skip-{before}", state="hidden")
    settled(page)


def fill_in(page, settled, points=1):
    """Chooses a point of each scale by keyboard, the next ones by arrow, and sends the questionnaire by Enter."""
    before = title(page), page.locator(SHEET).first.get_attribute("class")
    groups = page.get_by_role("radiogroup")
    for place in range(groups.count()):
        first = groups.nth(place).get_by_role("radio").first
        first.focus()
        page.keyboard.press("Space")
        for _ in range(points - 1):
            page.keyboard.press("ArrowRight")
    ready(page)
    page.keyboard.press("Enter")
    until(
        page,
        "([title, sheet]) => document.querySelector('.ia-stage-head h1')?.innerText !== title "
        "|| document.querySelector(\"[class*='st-key-filled-in-']\")?.className !== sheet",
        list(before),
    )
    settled(page)


def take_a_step(page, settled, words="", key="x", points=1):
    """Does what the stage asks for; returns what it was."""
    stage = shown(page, settled)
    if stage == "item":
        answer(page, settled, words, key)
    elif stage == "How sure are you?":
        ready(page)
        page.keyboard.press("3")
        page.get_by_text("How sure are you?").wait_for(state="detached")
    elif page.locator(SHEET).count():
        fill_in(page, settled, points)
    elif stage == "Before you take part":
        page.get_by_role("button", name="I agree").click()
        page.get_by_text("Before you take part").wait_for(state="detached")
    elif stage == "A few questions":
        page.get_by_role("combobox").click()
        page.get_by_role("option").first.click()
        settled(page)
        page.get_by_role("button", name="Continue").click()
        page.get_by_text("A few questions").wait_for(state="detached")
    elif not is_over(stage):
        leave_by_enter(page, settled)
    return stage


def is_over(stage):
    """Whether nothing follows this stage."""
    return stage == "Thank you, you have finished"
