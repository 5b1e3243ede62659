"""Arabic and Hebrew read from their own side, the numbers in them from the left; our own words stay in place."""

import pytest

from console.detection import batch
from console.runs import ingest
from console.trajectory import Outcome, Step, Trajectory
from tests.browser.screens import screenshot
from tests.browser.walking import sign_in
from tests.logs import write_log

HEBREW = "אני רוצה קומקום ירוק של 1.7 ליטר, במחיר נמוך מ-30.00 דולר"
ARABIC = "أريد غلاية خضراء سعة 1.7 لتر، والسعر أقل من 30.00 دولار"

# Where the first and the last character of an element's text stand, and the ends of a number in it.
PLACES = """([selector, number]) => {
    const element = document.querySelector(selector), walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const places = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode())
        for (let at = 0; at < node.length; at++) {
            const range = document.createRange();
            range.setStart(node, at); range.setEnd(node, at + 1);
            places.push([node.data[at], range.getBoundingClientRect().left]);
        }
    const text = places.map(each => each[0]).join(""), at = text.indexOf(number);
    return {first: places[0][1], second: places[1][1], from: places[at][1], to: places[at + number.length - 1][1]};
}"""


def record():
    """A purchase that was asked for in Hebrew, from a shop that answers in Arabic."""
    steps = (
        Step(ARABIC, "search[kettle 1.7]", f"{ARABIC} [B00KETTLE1]"),
        Step("", "click[B00KETTLE1]", f"{ARABIC} $24.50"),
    )
    return Trajectory(
        task_id="kettle",
        environment="webshop",
        instruction=HEBREW,
        steps=steps,
        critical_action=f"click[{ARABIC}]",
        outcome=Outcome.FAILED,
    )


@pytest.mark.at_length
def test_text_of_either_direction_reads_from_its_own_side(serve, open_page, settled, tmp_path, data_dir):
    ingest.import_file(write_log(tmp_path / "two.jsonl", record()), "two", "auto", lambda _: None)
    batch.detect("two", ["full-validation"])
    page, address = open_page(), serve()
    sign_in(page, settled, address, role="researcher")
    page.goto(f"{address}/review?run=two")
    page.wait_for_selector(".ia-task")
    settled(page)
    page.locator(".ia-toggle").first.click()
    for selector in (".ia-task", ".ia-step .ia-obs", ".ia-thought", ".ia-seen > span", ".ia-action"):
        found = page.evaluate(PLACES, [selector, "30.00"])
        assert found["from"] < found["to"], (selector, found)
        # A line begins on the side of its first letter: an action begins with the agent's own verb.
        assert (found["first"] > found["second"]) == (selector != ".ia-action"), (selector, found)
    heading = page.evaluate(PLACES, [".ia-asked h2", "ser"])
    assert heading["first"] < heading["second"]
    chips = page.evaluate("[...document.querySelectorAll('.ia-chip')].map(each => each.getBoundingClientRect().left)")
    assert len(chips) > 2
    assert chips == sorted(chips)
    field = page.locator("[class*='st-key-words-'] textarea")
    field.fill(HEBREW)
    assert field.evaluate("each => getComputedStyle(each).unicodeBidi") == "plaintext"
    screenshot(page, "right-to-left")
