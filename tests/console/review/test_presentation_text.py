"""What of a long record is put before a person."""

from hypothesis import given
from hypothesis import strategies as st

from console.review.presentation_text import compare, evidence, is_long, last_seen, occurring, preview, spans
from console.trajectory import Step
from console.trajectory.terms import terms

TASK = "a white brass lamp of 50 cm, price lower than 20 dollars, without a shade"


@given(st.text(max_size=2_000), st.integers(min_value=2, max_value=400))
def test_a_preview_is_one_short_line(text, limit):
    shown = preview(text, limit)
    assert len(shown) <= limit
    assert "\n" not in shown


def test_a_cut_preview_says_that_it_is_cut():
    assert preview("short  and\nsweet") == "short and sweet"
    assert preview("word " * 200).endswith("…")
    assert preview("x" + " " * 5_000 + "y").endswith("…")


def test_long_is_more_than_300_characters_or_three_lines():
    assert not is_long("x" * 300)
    assert not is_long("a\nb\nc")
    assert is_long("x" * 301)
    assert is_long("a\nb\nc\nd")


@given(st.text(alphabet="white lamp 50cm$.", max_size=300))
def test_spans_are_ordered_apart_and_inside_the_text(text):
    found = spans(text, terms(TASK))
    edges = [edge for span in found for edge in span]
    assert edges == sorted(edges)
    assert all(start < end for start, end in found)
    assert not edges or (edges[0] >= 0 and edges[-1] <= len(text))


def test_only_the_first_places_of_a_term_are_marked():
    assert len(spans("white, " * 50, terms("a white lamp"))) == 3
    assert len(spans("lamp, " * 50, terms("a white lamp"))) == 1


def test_limits_are_neither_found_nor_missing_and_telling_terms_come_first():
    found, missing = compare(terms(TASK), "a lamp in white for $18.00")
    assert [term.text for term in found] == ["white", "lamp"]
    assert [term.text for term in missing] == ["brass", "50 cm"]


def test_what_the_agent_typed_is_no_evidence_and_neither_is_the_task_repeated():
    steps = [Step("white?", "search[white lamp]", f"Instruction: {TASK} [Search]"), Step("", "think[brass]", "brass")]
    found, _ = compare(terms(TASK), evidence(steps, "click[50 cm]", TASK))
    assert [term.text for term in found] == ["50 cm"]


def test_terms_that_occur_nowhere_are_left_out():
    assert [term.text for term in occurring(terms("a white brass lamp"), ["x", "BRASS"])] == ["brass"]


def test_a_short_last_observation_brings_the_last_telling_one_along():
    page = "lamp page " * 12
    steps = [Step("", "a", page), Step("", "b", "You have clicked 50 cm."), Step("", "think[x]", "OK.")]
    assert [number for number, _ in last_seen(steps)] == [2, 1]
    assert [number for number, _ in last_seen(steps[:1])] == [1]
    assert last_seen([]) == ()
