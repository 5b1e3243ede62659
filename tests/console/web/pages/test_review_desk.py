"""The Review page around its item: words that outlive a hold, a newcomer's worked item, the loop closed in one tab."""

import re
import time

import pytest
from sqlmodel import select

from console import runs
from console.database import now_ms, reading, review_queue
from console.review import decisions
from console.trials import engine, start
from storage import tables
from tests.claims import open_item

DWELL_S = 0.45
ANSWERS = "console/web/pages/answers.py"


def item_of(at):
    return next(int(button.key.removeprefix("skip-")) for button in at.button if (button.key or "").startswith("skip-"))


def taken_by(reviewer, item):
    """Ada's hold ends, and somebody else holds the item."""
    with reading() as session:
        run = runs.get(session, "kettles")
        token = decisions.get_claim(session, item, "Ada").token
        review_queue().release(item_id=item, reviewer="Ada", token=token, now_ms=now_ms())
        return open_item(session, run, reviewer, item)


def test_words_stay_with_an_item_that_went_and_it_can_be_opened_again(open_page, kettles, words):
    at = open_page("review", role="reviewer")
    item = item_of(at)
    at.text_area(key=f"words-{item}").set_value("half a sentence")
    claim = taken_by("Ben", item)
    at.run()
    assert item_of(at) != item
    assert f"Your feedback on item {item} was not sent" in words(at)
    at.button(key=f"again-{item}").click().run()
    assert "another reviewer has claimed the item, but your draft is kept" in words(at)
    review_queue().release(item_id=item, reviewer="Ben", token=claim.token, now_ms=now_ms())
    at.switch_page(ANSWERS).run()
    assert re.search(r"i want a \w+ kettle number \d.*trial 0 · item \d+.*“half a sentence”", words(at), re.DOTALL)
    at.button(key=f"again-{item}").click().run()
    at.switch_page("console/web/pages/review.py").run()
    assert item_of(at) == item
    assert at.text_area(key=f"words-{item}").value == "half a sentence"


def test_an_archive_is_judged_and_its_words_promise_nothing(open_page, kettles, words):
    at = open_page("review", role="reviewer")
    item = item_of(at)
    labels = [button.label for button in at.button]
    assert [label.split("  ")[0] for label in labels if label.endswith(("`A`", "`X`"))] == ["Correct", "Incorrect"]
    assert at.text_area(key=f"words-{item}").label == "Feedback, saved with the record"
    shown = words(at)
    assert "from a log" in shown
    assert "not run yet" not in shown
    assert "Counts as wrong:" in shown
    time.sleep(DWELL_S)
    at.button(key=f"reject-{item}").click().run()
    assert f"Item {item}: Marked as incorrect." in words(at)


@pytest.mark.at_length
def test_a_stuck_trial_is_not_told_what_a_wrong_action_would_be(open_page, kettles, words):
    at = open_page("review", role="reviewer")
    while "agent halted" not in words(at):
        assert "Counts as wrong:" in words(at)
        time.sleep(DWELL_S)
        at.button(key=f"skip-{item_of(at)}").click().run()
    assert "Counts as wrong:" not in words(at)


def test_a_newcomer_sees_a_worked_item_and_then_the_first_of_their_own(open_page, kettles, words):
    at = open_page("inbox", role="reviewer", welcome="1")
    at.switch_page("console/web/pages/review.py").run()
    assert "correct decision" in words(at)
    with reading() as session:
        assert session.exec(select(tables.Slot)).all() == []
    at.button(key="first-item").click().run()
    assert item_of(at)


@pytest.fixture
def shop(data_dir):
    """A live run of six purchases, its one inspection to be spent; the agents go on at a button."""
    start.start_run(
        "shop", {"webshop": 6}, detector_name="full-validation", budget_cap=1, trials=2, blind=False, undo_ms=0
    )
    engine.resume("shop")


def reject(at):
    item = item_of(at)
    at.button_group(key=f"reasons-{item}").set_value(["wrong-option"]).run()
    time.sleep(DWELL_S)
    return at.button(key=f"reject-{item}").click().run()


@pytest.mark.at_length
def test_the_loop_closes_where_the_last_item_was(open_page, shop, words):
    at = reject(open_page("review"))
    assert "The inspection budget is spent" in words(at)
    at = at.button(key="try-again").click().run()
    assert "The agents tried again" in words(at)
    assert "1 task was tried again. 1 retry after a reason only" in words(at)
    at = at.button(key="review-on").click().run()
    assert "Your feedback on the previous trial, “Wrong option.”" in words(at)
    assert "trial 1 (attempt 2 of 2)" in words(at)
    at.switch_page(ANSWERS).run()
    assert "“Wrong option.”" in words(at)
    assert "Next trial" in words(at)
    assert "Decisions" in [heading.value for heading in at.header]


@pytest.mark.at_length
def test_a_reviewer_alone_starts_nothing_and_still_sees_what_came(open_page, shop, words):
    at = reject(open_page("review", role="reviewer"))
    assert not [button for button in at.button if button.key == "try-again"]
    at.switch_page(ANSWERS).run()
    assert "Not received by the agent yet." in words(at)
    engine.advance("shop")
    assert re.search(r"After your feedback.*reason only</th><td[^>]*>1</td>", words(at.run()), re.DOTALL)
