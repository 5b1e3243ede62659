import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.environments.hotpotqa.world import exact_match, f1, lenient_match, normalise


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("The River Vellen", "river vellen"),
        ("48,210", "48210"),
        ("  a  Tin   Heron. ", "Tin Heron"),
        ("Tolliver-Wick", "tolliverwick"),
        ("Yes", "yes"),
    ],
)
def test_case_articles_punctuation_and_blanks_do_not_matter(answer, gold):
    assert exact_match(answer, gold)
    assert f1(answer, gold) == 1.0


def test_an_article_inside_a_word_stays():
    assert normalise("Theatre of Anatolia") == "theatre of anatolia"


@pytest.mark.parametrize(("answer", "gold"), [("Vellwick", "Vellmouth"), ("", "Vellwick"), ("1955", "1956")])
def test_another_answer_is_no_match(answer, gold):
    assert not exact_match(answer, gold)
    assert not lenient_match(answer, gold)
    assert f1(answer, gold) == 0.0


def test_part_of_an_answer_counts_partly():
    assert f1("the novelist Brenna Cawdle", "Brenna Cawdle") == pytest.approx(0.8)
    assert lenient_match("the novelist Brenna Cawdle", "Brenna Cawdle")
    assert lenient_match("Brenna", "Brenna Cawdle")
    assert not exact_match("Brenna", "Brenna Cawdle")


def test_yes_and_no_count_only_as_a_whole():
    assert f1("yes it is", "yes") == 0.0
    assert f1("no", "no way") == 0.0


@given(st.text(max_size=40), st.text(max_size=40))
def test_measures_agree_with_each_other(answer, gold):
    score = f1(answer, gold)
    assert 0.0 <= score <= 1.0
    assert score == pytest.approx(f1(gold, answer))
    assert lenient_match(answer, gold) == lenient_match(gold, answer)
    if exact_match(answer, gold):
        assert score == (1.0 if normalise(gold) else 0.0)
    assert normalise(normalise(answer)).split() == [word for word in normalise(answer).split() if normalise(word)]
