"""The budget in words and as a bar."""

import pytest

from console.review.inbox import WaitingAgent
from console.web.widgets.status import age, budget_meter_html, time_left, waiter_html


@pytest.mark.parametrize(
    ("cap", "used", "words", "state"),
    [
        (50, 12, "12 of 50 inspections used, 38 left", ""),
        (50, 46, "46 of 50 inspections used, 4 left", "ia-low"),
        (50, 50, "50 of 50 inspections used, 0 left", "ia-spent"),
        (0, 0, "0 of 0 inspections used, 0 left", "ia-spent"),
        (10, 12, "12 of 10 inspections used, 0 left", "ia-spent"),
        (None, 1200, "Inspections used: 1,200, no limit", "ia-unlimited"),
    ],
)
def test_it_says_what_is_used_and_left(parse, cap, used, words, state):
    page = parse(budget_meter_html(cap, used))
    assert page.text == words
    assert page.elements[0][1]["class"].split()[1:] == ([state] if state else [])


def test_the_name_of_a_budget_stands_behind_its_bar(parse):
    assert (
        parse(budget_meter_html(50, 12, label="shop · trial 1")).text
        == "shop · trial 1: 12 of 50 inspections used, 38 left"
    )


def test_a_capped_meter_is_announced(parse):
    attributes = parse(budget_meter_html(50, 12)).elements[1][1]
    assert attributes["role"] == "meter"
    assert (attributes["aria-valuenow"], attributes["aria-valuemax"]) == ("12", "50")


@pytest.mark.parametrize(
    ("at_s", "state", "said"),
    [
        (0, "left", "1:20 left to approve, then the action will not run"),
        (59, "left", "0:21 left to approve"),
        (60, "soon", "only 0:20 left to approve"),
        (80, "late", "an approval may come too late, and without a decision the action will not run"),
        (101, "gone", "shop stopped waiting"),
    ],
)
def test_the_time_for_an_approval_ends_before_the_deadline_by_the_undo_time(parse, at_s, state, said):
    """An agent asks at 0 s, waits until 100 s, and a decision can be undone for 20 s."""
    waiter = WaitingAgent("shop", 0, 100_000, None, 20_000)
    page = parse(waiter_html(waiter, at_s * 1_000))
    assert said in page.text
    assert [attributes["class"] for _tag, attributes in page.elements if "ia-wait" in attributes.get("class", "")] == (
        [] if state == "gone" else [f"ia-wait ia-wait-{state}"]
    )


@pytest.mark.parametrize(
    ("minutes", "said"),
    [
        (0.5, "30 s"), (5.9, "5 min"), (59.99, "59 min"), (60, "1 h"), (114, "1 h 54 min"), (125.5, "2 h 5 min"),
        (599, "9 h 59 min"), (614, "10 h"), (2_879, "47 h"), (2_880, "2 days"),
    ],
)  # fmt: skip
def test_a_duration_says_the_minutes_that_matter(minutes, said):
    assert age(int(minutes * 60_000)) == said
    if minutes >= 60:
        assert time_left(int(minutes * 60_000)) == said
