"""The budget in words and as a bar."""

import pytest

from console.web.widgets.status import budget_meter_html


@pytest.mark.parametrize(
    ("cap", "used", "words", "state"),
    [
        (50, 12, "12 of 50 used, 38 left", ""),
        (50, 46, "46 of 50 used, 4 left", "ia-low"),
        (50, 50, "50 of 50 used, none left", "ia-spent"),
        (0, 0, "0 of 0 used, none left", "ia-spent"),
        (10, 12, "12 of 10 used, none left", "ia-spent"),
        (None, 1200, "1,200 used, no limit", ""),
    ],
)
def test_it_says_what_is_used_and_left(parse, cap, used, words, state):
    page = parse(budget_meter_html(cap, used))
    assert page.text == words
    assert page.elements[0][1]["class"].split()[1:] == ([state] if state else [])


def test_a_capped_meter_is_announced(parse):
    attributes = parse(budget_meter_html(50, 12)).elements[0][1]
    assert attributes["role"] == "meter"
    assert (attributes["aria-valuenow"], attributes["aria-valuemax"]) == ("12", "50")
