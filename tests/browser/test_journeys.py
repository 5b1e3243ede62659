"""The reviewer's and the researcher's way through the console, in a real browser, worked by keyboard."""

import csv
import re

import pytest

from console import detection, importing, review, runs
from console.database import now_ms, reading, review_queue
from console.sign_in import researcher_key
from storage.tables import Decision
from tests.browser.screens import screenshot
from tests.logs import purchase, stuck, write_log
from tests.serving import free_port


@pytest.fixture
def filled(tmp_path, data_dir):
    """A run of six wrong and two right purchases and a stuck trial, judged, with five inspections."""

    def fill(budget="5"):
        records = [purchase(n, wrong=True) for n in range(6)] + [purchase(n, wrong=False) for n in (6, 7)]
        log = write_log(tmp_path / "kettles.jsonl", *records, stuck(8))
        report = importing.import_file(log, "kettles", "auto", lambda _: None)
        assert report.imported == 9
        importing.set_budget("kettles", budget)
        detection.detect("kettles", ["rules"])

    return fill


def sign_in(page, settled, address, name="Ada", key=None):
    page.goto(f"{address}/?key={key}" if key else address)
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="Start").click()
    page.get_by_role("heading", name="Inbox").wait_for()
    settled(page)


def shown_item(page):
    """The id of the item that the page shows, from the keys of its buttons."""
    page.locator("[class*='st-key-skip-']").first.wait_for()
    names = page.locator("[class*='st-key-skip-']").first.get_attribute("class")
    return int(re.search(r"st-key-skip-(\d+)", names)[1])


def press_until_next(page, settled, key):
    before = shown_item(page)
    page.wait_for_timeout(450)
    page.keyboard.press(key)
    page.wait_for_selector(f".st-key-skip-{before}", state="detached")
    settled(page)


def standing_answers():
    from sqlmodel import select

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


def review_elsewhere(item):
    """Ada's hold on the item ends, and somebody else answers it in the meantime."""
    with reading() as session:
        token = review.claim_of(session, item, "Ada").token
        review_queue().release(item_id=item, reviewer="Ada", token=token, now_ms=now_ms())
        run = runs.get(session, "kettles")
        claim = review.open_item(review_queue(), session, run, "Grace", item, now_ms())
    review.submit(review_queue(), run, claim, "Grace", review.Answer("reject"), now_ms())


def test_reviewer_works_by_keyboard_until_the_budget_is_spent(filled, serve, open_page, settled):
    filled()
    page = open_page()
    sign_in(page, settled, serve())
    screenshot(page, "inbox")
    page.get_by_role("button", name="Review next").click()
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
    page.get_by_role("textbox", name="Words to the agent").fill(
        "The kettle costs more than 30 dollars; look for a cheaper one."
    )
    page.wait_for_timeout(450)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(f".st-key-skip-{third}", state="detached")
    settled(page)

    for _ in range(3):
        page.wait_for_timeout(450)
        page.keyboard.press("x")
        settled(page, quiet_ms=400)
    page.get_by_text("The inspection budget is spent").first.wait_for()
    assert "still wait" in page.locator("[data-testid=stMain]").inner_text()
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
    sign_in(page, settled, address, name="Grace", key=researcher_key())
    page.get_by_role("button", name="Review next").click()
    shown_item(page)
    settled(page)
    for key in ("a", "x"):
        page.wait_for_timeout(450)
        page.keyboard.press(key)
        settled(page, quiet_ms=500)
    page.get_by_text("The inspection budget is spent").first.wait_for()
    page.get_by_role("link", name="Export").click()
    page.get_by_role("heading", name="Export").wait_for()
    settled(page)
    with page.expect_download() as coming:
        page.get_by_role("button", name="Download").click()
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


def test_a_held_key_and_a_double_click_decide_one_item(filled, serve, open_page, settled):
    filled(budget="9")
    page = open_page()
    sign_in(page, settled, serve())
    page.get_by_role("button", name="Review next").click()
    first = shown_item(page)
    page.wait_for_timeout(500)
    page.locator(f".st-key-approve-{first} button").dblclick()
    page.wait_for_selector(f".st-key-skip-{first}", state="detached")
    settled(page, quiet_ms=300)
    assert [answer[0] for answer in standing_answers()] == [first]
    second = shown_item(page)
    page.wait_for_timeout(500)
    page.keyboard.down("x")
    for _ in range(8):
        page.keyboard.down("x")
    page.keyboard.up("x")
    page.wait_for_selector(f".st-key-skip-{second}", state="detached")
    settled(page, quiet_ms=600)
    assert [answer[:2] for answer in standing_answers()] == [(first, "approve"), (second, "reject")]


def test_two_tabs_of_one_reviewer_never_decide_what_was_not_seen(filled, serve, open_page, settled):
    filled(budget="9")
    address = serve()
    page = open_page()
    sign_in(page, settled, address)
    page.get_by_role("button", name="Review next").click()
    first = shown_item(page)
    settled(page)
    other = open_page(f"{address}/review", context=page.context)
    assert shown_item(other) == first
    settled(other)
    press_until_next(page, settled, "a")
    other.wait_for_timeout(500)
    other.keyboard.press("x")
    other.get_by_text("already answered with approve").first.wait_for()
    assert [answer[:2] for answer in standing_answers()] == [(first, "approve")]


def test_words_survive_a_reload_and_a_restart(filled, serve, open_page, settled):
    filled(budget="9")
    page = open_page()
    sign_in(page, settled, serve())
    page.get_by_role("button", name="Review next").click()
    first = shown_item(page)
    settled(page)
    page.get_by_role("textbox", name="Words to the agent").press_sequentially("Too dear, and the wrong colour")
    page.get_by_text(re.compile("saved", re.I)).first.wait_for()
    address = serve()
    page.goto(f"{address}/review")
    assert shown_item(page) == first
    settled(page)
    assert page.get_by_role("textbox", name="Words to the agent").input_value() == "Too dear, and the wrong colour"


def test_a_server_restarted_under_an_open_page_decides_nothing_unseen(filled, serve, open_page, settled):
    filled(budget="9")
    port = free_port()
    with serve.until_closed(port) as address:
        page = open_page()
        sign_in(page, settled, address)
        page.get_by_role("button", name="Review next").click()
        first = shown_item(page)
        settled(page)
    review_elsewhere(first)
    with serve.until_closed(port):
        page.wait_for_selector("[data-testid=stApp][data-test-connection-state=CONNECTED]")
        page.wait_for_timeout(600)
        page.keyboard.press("a")
        settled(page, quiet_ms=700)
        assert [answer[:2] for answer in standing_answers()] == [(first, "reject")]
        assert shown_item(page) != first


def test_the_whole_journey_without_a_mouse(filled, serve, open_page, settled):
    filled(budget="9")
    address = serve()
    page = open_page(f"{address}/review")
    page.get_by_label("Your name").wait_for()
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.getAttribute('aria-label')") != "Your name":
        page.keyboard.press("Tab")
    page.keyboard.type("Ada")
    page.keyboard.press("Enter")
    first = shown_item(page)
    settled(page)
    assert page.url.startswith(f"{address}/review")
    page.wait_for_timeout(450)
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("look back through your own answers").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    settled(page)
    tab_to(page, "Words to the agent")
    page.keyboard.type("axs: too dear")
    page.keyboard.press("Escape")
    assert shown_item(page) == first
    page.wait_for_timeout(450)
    page.keyboard.press("x")
    page.wait_for_selector(f".st-key-skip-{first}", state="detached")
    settled(page)
    assert [answer[:3] for answer in standing_answers()] == [(first, "reject", "axs: too dear")]
    page.wait_for_timeout(450)
    page.keyboard.press("k")
    page.get_by_text(f"Your answer to item {first}: reject").wait_for()
    page.keyboard.press("j")
    page.wait_for_timeout(450)
    page.keyboard.press("j")
    page.get_by_role("button", name="Approve").wait_for()
    tab_to(page, "step 1 in full")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    assert page.locator(".ia-step.ia-open").count() == 1


def test_the_switch_for_keys_is_remembered_by_the_browser(filled, serve, open_page, settled):
    filled(budget="9")
    page = open_page()
    address = serve()
    sign_in(page, settled, address)
    page.get_by_role("button", name="Review next").click()
    first = shown_item(page)
    settled(page)
    page.wait_for_timeout(450)
    page.keyboard.press("?")
    page.get_by_role("dialog").locator(".st-key-keys_toggle label").click()
    page.wait_for_function("document.cookie.includes('ia_keys=off')")
    page.keyboard.press("Escape")
    page.reload()
    assert shown_item(page) == first
    settled(page, quiet_ms=500)
    page.keyboard.press("x")
    settled(page, quiet_ms=400)
    assert standing_answers() == []


def test_every_address_asks_for_the_name_and_then_opens(filled, serve, open_page, settled):
    filled()
    address, key = serve(), researcher_key()
    expected = {"review": "The user asked", "runs": "How each trial stands", "inbox": "waiting"}
    for path, words in expected.items():
        page = open_page(f"{address}/{path}?key={key}")
        page.get_by_label("Your name").fill("Ada")
        page.keyboard.press("Enter")
        page.get_by_text(words).first.wait_for()
        settled(page, quiet_ms=300)
        assert f"/{path}" in page.url
        assert "key=" not in page.url
        page.reload()
        page.get_by_text(words).first.wait_for()
        assert page.get_by_role("dialog").count() == 0


def test_a_reviewer_at_a_researchers_address_reads_a_sentence(filled, serve, open_page, settled):
    filled()
    page = open_page(f"{serve()}/runs?key=wrong")
    page.get_by_label("Your name").fill("Rae")
    page.keyboard.press("Enter")
    page.get_by_text("That is not the researcher's key").wait_for()
    page.goto(page.url.split("?")[0])
    page.get_by_label("Your name").fill("Rae")
    page.keyboard.press("Enter")
    page.get_by_text("This page is the researcher's").wait_for()


def test_a_row_opens_its_record_where_it_is_seen(filled, serve, open_page, settled):
    filled()
    page = open_page()
    address = serve()
    sign_in(page, settled, address, key=researcher_key())
    page.goto(f"{address}/trajectories?run=kettles")
    grid = page.get_by_test_id("stDataFrame")
    grid.wait_for()
    settled(page, quiet_ms=700)
    corner = grid.bounding_box()
    page.mouse.click(corner["x"] + 20, corner["y"] + 55)
    page.get_by_text("How it ended").wait_for()
    assert page.get_by_text("How it ended").bounding_box()["y"] < 720
    page.get_by_role("button", name="Back to the list").click()
    grid.wait_for()
    settled(page)
    assert "id=" not in page.url


def test_a_reviewer_sees_neither_outcome_nor_the_researchers_pages(filled, serve, open_page, settled):
    filled(budget="9")
    page = open_page()
    address = serve()
    sign_in(page, settled, address)
    assert page.get_by_role("link", name="Export").count() == 0
    page.get_by_role("button", name="Review next").click()
    shown_item(page)
    settled(page)
    html = page.content()
    assert "Your score" not in html
    assert "misaligned" not in html.split("decision-bar")[0]


def test_every_page_fits_and_nothing_leaves_the_machine(filled, serve, open_page, settled):
    filled()
    address, key = serve(), researcher_key()
    for theme, width, height in (("light", 1280, 720), ("dark", 390, 844)):
        page = open_page(width=width, height=height, theme=theme)
        sign_in(page, settled, address, key=key)
        for path in ("", "review", "trajectories", "runs", "detectors", "export"):
            page.goto(f"{address}/{path}")
            settled(page, quiet_ms=400)
            screenshot(page, f"{path or 'inbox'}-{theme}-{width}")
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{path} is {wide} px wider than the window"
            assert page.locator("[data-testid=stException]").count() == 0


def test_the_first_page_says_what_to_do(data_dir, serve, open_page, settled):
    page = open_page()
    address = serve()
    sign_in(page, settled, address)
    assert page.get_by_text("Nothing to review yet").is_visible()
    page.goto(f"{address}/review")
    settled(page)
    assert page.get_by_text("Nothing to review yet").is_visible()
