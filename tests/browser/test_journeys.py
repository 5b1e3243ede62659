"""The reviewer's and the researcher's way through the console, in a real browser, worked by keyboard."""

import csv
from contextlib import ExitStack

import pytest

from console import runs
from console.database import now_ms, reading, review_queue
from console.review import decisions
from tests.browser.screens import screenshot
from tests.browser.walking import fits, press_seeing, press_until_next, ready, shown_item, sign_in, standing_answers
from tests.claims import open_item
from tests.serving import free_port
from tests.signing_in import let_in


def review_elsewhere(item):
    """Ada's hold on the item ends, and somebody else answers it in the meantime."""
    with reading() as session:
        token = decisions.get_claim(session, item, "Ada").token
        review_queue().release(item_id=item, reviewer="Ada", token=token, now_ms=now_ms())
        run = runs.get(session, "kettles")
        claim = open_item(session, run, "Grace", item)
    decisions.submit(review_queue(), run, claim, "Grace", decisions.ReviewDecision("reject"), now_ms())


def open_review(open_page, address):
    """Ada's Review page."""
    page = open_page()
    let_in(page, address, role="reviewer")
    page.goto(f"{address}/review")
    return page


def test_reviewer_works_by_keyboard_until_the_budget_is_spent(filled, serve, open_page, settled):
    filled()
    page = open_page()
    sign_in(page, settled, serve())
    screenshot(page, "inbox")
    page.get_by_role("button", name="Review next item").click()
    first = shown_item(page)
    settled(page)
    assert page.get_by_text("price lower than 30.00 dollars").first.is_visible()
    press_until_next(page, settled, "a")
    second = shown_item(page)
    assert second != first

    press_until_next(page, settled, "u")
    assert shown_item(page) == first
    press_until_next(page, settled, "x")

    third = shown_item(page)
    page.get_by_role("textbox", name="Feedback").fill("The kettle costs more than 30 dollars; look for a cheaper one.")
    press_until_next(page, settled, "Control+Enter")

    for _ in range(3):
        press_until_next(page, settled, "x")
    page.get_by_text("The inspection budget is spent").first.wait_for()
    assert "still pending" in page.locator("[data-testid=stMain]").inner_text()
    screenshot(page, "budget-spent")

    answers = standing_answers()
    assert answers[0] == (first, "approve", "", True)
    kept = [answer for answer in answers if not answer[3]]
    assert len(kept) == 5
    assert (first, "reject", "", False) in kept
    assert (third, "reject", "The kettle costs more than 30 dollars; look for a cheaper one.", False) in kept


def test_the_download_holds_exactly_what_was_done(filled, serve, open_page, settled, tmp_path):
    filled(budget="2")
    page = open_page()
    address = serve()
    let_in(page, address, "Grace")
    page.goto(f"{address}/review")
    shown_item(page)
    settled(page)
    for key in ("a", "x"):
        press_until_next(page, settled, key)
    page.get_by_text("The inspection budget is spent").first.wait_for()
    page.get_by_role("link", name="Export").click()
    page.get_by_role("heading", name="Export").wait_for()
    settled(page)
    with page.expect_download() as coming:
        page.get_by_role("button", name="Download").first.click()
    coming.value.save_as(tmp_path / "decisions.csv")
    with (tmp_path / "decisions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["reviewer"], row["decision"], row["label"]) for row in rows] == [
        ("Grace", "approve", "aligned"),
        ("Grace", "reject", "misaligned"),
    ]
    assert [int(row["item_id"]) for row in rows] == [answer[0] for answer in standing_answers()]
    assert {row["budget_cap"] for row in rows} == {"2"}
    assert [row["budget_used"] for row in rows] == ["1", "2"]


@pytest.mark.at_length
def test_a_click_anywhere_on_a_row_opens_its_trajectory_in_this_tab(filled, serve, open_page, settled):
    filled()
    page, address = open_page(), serve()
    let_in(page, address, "Grace")
    page.goto(f"{address}/trajectories?run=kettles")
    row = page.locator("tbody tr").nth(3)
    row.wait_for()
    settled(page)
    wanted = row.locator("a[data-item]").get_attribute("data-item")
    page.evaluate("window.stays = true")
    row.locator("td").nth(2).click()
    page.get_by_role("heading", name=f"Trajectory {wanted}", exact=True).wait_for()
    settled(page)
    assert f"id={wanted}" in page.url
    assert page.evaluate("window.stays"), "the page was loaded again"
    page.get_by_role("button", name="Show list").click()
    page.get_by_role("heading", name="Trajectories", exact=True).wait_for()
    with page.context.expect_page() as opened:
        page.locator(f"a[data-item='{wanted}']").click(modifiers=["Control"])
    opened.value.get_by_role("heading", name=f"Trajectory {wanted}", exact=True).wait_for()


@pytest.mark.at_length
def test_a_held_key_and_a_double_click_decide_one_item(filled, serve, open_page, settled):
    filled(budget="9")
    page = open_review(open_page, serve())
    first = shown_item(page)
    ready(page, first)
    page.locator(f".st-key-approve-{first} button").dblclick()
    page.wait_for_selector(f".st-key-skip-{first}", state="detached")
    settled(page, quiet_ms=300)
    assert [answer[0] for answer in standing_answers()] == [first]
    second = shown_item(page)
    ready(page, second)
    page.keyboard.down("x")
    for _ in range(8):
        page.keyboard.down("x")
    page.keyboard.up("x")
    page.wait_for_selector(f".st-key-skip-{second}", state="detached")
    settled(page, quiet_ms=600)
    assert [answer[:2] for answer in standing_answers()] == [(first, "approve"), (second, "reject")]


@pytest.mark.at_length
def test_two_tabs_of_one_reviewer_never_decide_what_was_not_seen(filled, serve, open_page, settled):
    filled(budget="9")
    address = serve()
    page = open_review(open_page, address)
    first = shown_item(page)
    settled(page)
    other = open_page(f"{address}/review", context=page.context)
    assert shown_item(other) == first
    press_until_next(page, settled, "a")
    ready(other, first)
    other.keyboard.press("x")
    other.get_by_text(f"You have already decided on item {first}: Marked as correct.").first.wait_for()
    assert [answer[:2] for answer in standing_answers()] == [(first, "approve")]


@pytest.mark.at_length
def test_words_survive_a_reload(filled, serve, open_page, settled):
    filled(budget="9")
    survives(open_review(open_page, serve()), settled, lambda page: page.reload())


@pytest.mark.at_length
def test_words_survive_a_restart(filled, serve, open_page, settled):
    filled(budget="9")
    page = open_review(open_page, serve())

    def restart(page):
        address = stack.enter_context(serve.until_closed(free_port()))
        let_in(page, address, "Ada", "reviewer")
        page.goto(f"{address}/review")

    with ExitStack() as stack:
        survives(page, settled, restart)


def survives(page, settled, happens):
    """Words that were drafted on the page stand there again after what happens to it."""
    first, words = shown_item(page), "Too dear, and the wrong colour"
    settled(page)
    page.get_by_role("textbox", name="Feedback").press_sequentially(words)
    page.get_by_text("Draft saved").first.wait_for()
    happens(page)
    assert shown_item(page) == first
    settled(page)
    assert page.get_by_role("textbox", name="Feedback").input_value() == words


@pytest.mark.at_length
def test_a_server_restarted_under_an_open_page_decides_nothing_unseen(filled, serve, open_page, settled):
    filled(budget="9")
    port = free_port()
    with serve.until_closed(port) as address:
        page = open_review(open_page, address)
        first = shown_item(page)
        settled(page)
    review_elsewhere(first)
    with serve.until_closed(port):
        page.wait_for_selector("[data-testid=stApp][data-test-connection-state=CONNECTED]")
        page.keyboard.press("a")
        # The address names the item that stood there, which somebody else has answered meanwhile.
        page.get_by_text(f"Cannot open item {first}").wait_for()
        taken = [answer[:2] for answer in standing_answers()]
        assert taken == [(first, "reject")]
        ready(page, f"address-{first}")
        page.keyboard.press("Enter")
        assert shown_item(page) not in dict(taken)
        ready(page, shown_item(page))
        seen = press_seeing(page, "a")
        page.wait_for_selector(f".st-key-skip-{seen}", state="detached")
        settled(page)
        assert [answer[:2] for answer in standing_answers()] == [*taken, (seen, "approve")]


@pytest.mark.at_length
def test_a_reviewer_sees_neither_outcome_nor_the_researchers_pages(filled, serve, open_page, settled):
    filled(budget="9")
    page = open_review(open_page, serve())
    shown_item(page)
    settled(page)
    assert page.get_by_role("link", name="Export").count() == 0
    html = page.content()
    assert "Your score" not in html
    assert "misaligned" not in html.split("decision-bar")[0]


@pytest.mark.at_length
def test_every_page_fits_and_nothing_leaves_the_machine(filled, serve, open_page, settled):
    filled()
    address = serve()
    for theme, width, height in (("light", 1280, 720), ("light", 768, 900), ("dark", 390, 844)):
        page = open_page(width=width, height=height, theme=theme)
        sign_in(page, settled, address, role="researcher")
        for path in ("", "review", "trajectories", "runs", "detectors", "export"):
            page.goto(f"{address}/{path}")
            settled(page, quiet_ms=400)
            screenshot(page, f"{path or 'inbox'}-{theme}-{width}")
            fits(page)
            assert page.locator("[data-testid=stException]").count() == 0
            bar, person = page.get_by_test_id("stTopNav"), page.locator(".st-key-ia-who")
            assert not overlap(bar, person)
            assert not overlap(bar.locator("[aria-current=page]").last, person)


def overlap(left, right):
    """Whether the one reaches below the other; on a phone the bar of pages is folded away."""
    box = left.bounding_box() if left.count() else None
    return box is not None and box["x"] + box["width"] > right.bounding_box()["x"]


@pytest.mark.at_length
def test_the_first_page_says_what_to_do(data_dir, serve, open_page, settled):
    page = open_review(open_page, serve())
    page.get_by_text("Nothing to review yet").wait_for()
    page.get_by_role("link", name="Inbox", exact=True).click()
    page.get_by_role("heading", name="Inbox").wait_for()
    page.get_by_text("Nothing to review yet").wait_for()
