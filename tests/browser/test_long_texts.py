"""Long texts in a real browser: the page does not slow down with them, and none is cut in silence."""

import time

import pytest
from sqlmodel import select

from console.database import reading
from console.detection import batch
from console.runs import ingest
from console.trajectory import Outcome, Step, Trajectory
from storage.tables import Decision
from tests.browser.screens import screenshot
from tests.browser.walking import ready, shown_item, sign_in
from tests.logs import write_log

pytestmark = pytest.mark.at_length

LINE = "the kettle is red, 1.7 litres, price 24.99; "
END = "THE LAST WORDS"
SIZES = {"small": 10_000, "large": 5_000_000}
LONG = "ab " * 5_000
CALL = 'cancel_pending_order({"to":"' + LONG + '","why":"' + END + '"})'
APPROVE = "[class*='st-key-approve-'] button"


def purchase(size, action="click[Buy Now]"):
    """A purchase whose first observation is one line of that many characters."""
    text = (LINE * (size // len(LINE) + 1))[: size - len(END)] + END
    return Trajectory(
        task_id=f"kettle of {size}",
        environment="webshop" if action.startswith("click") else "tau-bench",
        instruction="i want a green kettle, and price lower than 30.00 dollars",
        steps=(Step("", "search[kettle]", text), Step("", action, "")),
        critical_action=action,
        outcome=Outcome.FAILED,
    )


@pytest.fixture
def show(serve, open_page, settled, tmp_path, data_dir):
    """A function that puts a record of that size and action into the run of that name and opens Review on it."""
    address = []

    def open_run(name, size=1_000, action="click[Buy Now]", **look):
        log = write_log(tmp_path / f"{name}.jsonl", purchase(size, action))
        ingest.import_file(log, name, "auto", lambda _: None)
        batch.detect(name, ["full-validation"])
        address[:] = address or [serve()]
        page = open_page(**look)
        sign_in(page, settled, address[0], name=f"Ada of {name}", role="researcher")
        page.goto(f"{address[0]}/review?run={name}")
        page.wait_for_selector(APPROVE)
        settled(page)
        return page

    return open_run


def seconds_to_approve(page, url):
    """From the load of the page to its Approve button, laid out."""
    page.goto("about:blank")
    started = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.wait_for_selector(APPROVE)
    page.evaluate("document.body.getBoundingClientRect().height")
    return time.perf_counter() - started


def test_five_megabytes_take_no_longer_than_twice_ten_kilobytes(show):
    pages = {name: show(name, size) for name, size in SIZES.items()}
    urls = {name: page.url for name, page in pages.items()}
    taken = {name: min(seconds_to_approve(pages[name], urls[name]) for _ in range(4)) for name in SIZES}
    for name, seconds in taken.items():
        print(f"{SIZES[name]:>9,} characters: {seconds:.2f} s to the Approve button")
    assert taken["large"] < 2 * taken["small"]


def test_a_cut_text_says_how_much_there_is_and_shows_all_of_it_at_a_press(show, settled):
    page = show("large", 1_000_000)
    row = page.locator(".ia-step").first
    assert "shows all 1,000,000 characters" in row.text_content()
    assert END not in page.content()
    page.get_by_role("button", name="step 1, what the agent saw: show all 1,000,000 characters").click()
    page.wait_for_selector(".ia-whole")
    assert page.locator(".ia-whole").text_content().endswith(END)
    assert len(page.locator(".ia-whole").text_content()) == 1_000_000
    settled(page)
    ready(page)
    page.keyboard.press("a")
    page.wait_for_selector(APPROVE, state="detached")
    with reading() as session:
        assert session.exec(select(Decision)).one().seen_digest.startswith("all:")


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_a_long_action_is_approved_only_after_it_was_shown_whole(show, settled, width, theme):
    page = show("action", action=CALL, width=width, height=800, theme=theme)
    item = shown_item(page)
    screenshot(page, f"long-action-{width}-{theme}")
    # What is known of its short argument stands beneath; the action itself stops at its beginning.
    assert END not in page.locator(".ia-about .ia-action").text_content()
    assert LONG not in page.locator(".ia-about").text_content()
    assert "only after seeing the whole action" in page.locator(".st-key-decision-bar").inner_text()
    ready(page)
    page.keyboard.press("a")
    page.locator("[data-testid=stMain] .ia-problem", has_text="only after seeing the whole action").wait_for()
    settled(page)
    page.keyboard.press("o")
    page.wait_for_selector(f".st-key-whole-{item}", state="detached")
    settled(page)
    screenshot(page, f"long-action-whole-{width}-{theme}")
    assert LONG in page.locator(".ia-about table").text_content()
    ready(page)
    page.keyboard.press("a")
    page.wait_for_selector(APPROVE, state="detached")
    with reading() as session:
        assert session.exec(select(Decision)).one().decision == "approve"
