"""What a participant reads is plain text, whatever a researcher or a log wrote."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from console.web.widgets.participant_stage import (
    clock_html,
    ends_html,
    explain_html,
    formatted_prose_html,
    head_html,
    points_html,
    progress_html,
    prose_html,
    question_html,
    return_link_html,
)

ANYTHING = st.text(min_size=1).filter(lambda text: text.strip())


@given(text=ANYTHING)
def test_no_text_becomes_markup(text):
    drawn = (
        head_html(text, over=text)
        + prose_html(text)
        + points_html([text])
        + explain_html(text, text, text, agrees=False)
        + progress_html(text, text)
    )
    bare = (
        head_html("x", over="x")
        + prose_html("x")
        + points_html(["x"])
        + explain_html("x", "x", "x", agrees=False)
        + progress_html("x", "x")
    )
    odd = drawn.count('<span class="ia-odd">')
    assert drawn.count("<") - 2 * odd == bare.count("<")
    assert "\n" not in drawn


def test_lines_are_kept_and_an_empty_text_takes_no_room():
    assert prose_html("one\n two") == '<div class="ia-prose">one&#10; two</div>'
    assert prose_html("  \n") == ""
    assert points_html([]) == ""


def test_an_answer_that_agrees_looks_different_from_one_that_does_not():
    assert "ia-agrees" in explain_html("Reject", "Reject", "", agrees=True)
    assert "ia-agrees" not in explain_html("Approve", "Reject", "", agrees=False)


@pytest.mark.parametrize(
    ("left_ms", "shown"), [(0, "0:00"), (-5, "0:00"), (1, "0:01"), (60_000, "1:00"), (3_599_001, "1:00:00")]
)
def test_the_clock_never_shows_less_than_is_left(left_ms, shown):
    assert f">{shown}<" in clock_html(left_ms)


def test_reviews_are_counted_only_where_they_are_limited():
    assert "of 3 reviews used, 1 left" in progress_html("Item 2", "Part 1 of 4", cap=3, used=2)
    assert "ia-meter" not in progress_html("Item 2")


FORMATS = re.compile(r'</?(h[2-6]|p|ul|ol|li|strong|em)>|<ol start="\d+">|<br( /)?>')


@given(text=st.one_of(ANYTHING, st.text("#-*_1.)<>[]()!`&: \nab\\|~\t", max_size=80)))
@example(text="# A\n\n- **b** ![x](http://elsewhere/) [y](http://elsewhere/) <img src=x> <http://elsewhere/> `z`")
def test_a_researchers_formatted_text_is_headings_lists_and_stress_alone(text):
    drawn = formatted_prose_html(text).removeprefix('<div class="ia-prose ia-formatted">').removesuffix("</div>")
    left = FORMATS.sub("", drawn)
    assert "<" not in left
    assert ">" not in left


def test_headings_of_a_text_begin_beneath_the_pages_own():
    assert "<h2>A</h2><h3>B</h3>" in formatted_prose_html("# A\n\n## B")
    assert "<h2>B</h2>" in formatted_prose_html("### B")


def test_a_question_and_an_address_are_escaped():
    assert "<b>" not in question_html("<b>?") + ends_html("<b>low", "<b>high")
    assert '"><script' not in return_link_html("<b>Back", 'https://x.example/"><script>')
