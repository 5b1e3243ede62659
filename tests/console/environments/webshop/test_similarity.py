"""Word-by-word likeness, against values known from the original's library and against a plain reckoning."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.environments.webshop.reward import common_subsequence, ratio, token_set_ratio

short = st.text("abcx -", max_size=14)


def plain_subsequence(one, other):
    """The longest common subsequence as its definition says."""

    @cache
    def longest(i, j):
        if i == len(one) or j == len(other):
            return 0
        if one[i] == other[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    return longest(0, 0)


@pytest.mark.parametrize(
    ("one", "other", "score"),
    [
        ("machine washable", "Machine-Washable!", 100),
        ("navy", "navy blue", 100),
        ("blue light blue", "light blue", 100),
        ("large", "x-large", 100),
        ("x-large", "xx-large", 93),
        ("12 inch", "16 inch", 86),
        ("xl", "xxl", 80),
        ("cotton", "linen", 18),
        ("abc", "xyz", 0),
        ("", "cotton", 0),
        ("", "", 0),
        ("?!", "?!", 0),
    ],
)
def test_known_likenesses(one, other, score):
    assert token_set_ratio(one, other) == score


@given(short, short)
def test_common_subsequence_is_the_longest_there_is(one, other):
    assert common_subsequence(one, other) == plain_subsequence(one, other)


@given(short, short)
def test_likeness_is_symmetric_and_between_0_and_100(one, other):
    assert 0 <= token_set_ratio(one, other) == token_set_ratio(other, one) <= 100


@given(st.lists(st.sampled_from(["red", "wool", "rug", "5"]), min_size=1), st.randoms(use_true_random=False))
def test_order_case_and_repetition_do_not_matter(words, random):
    mixed = [word.upper() for word in words] + words[:1]
    random.shuffle(mixed)
    assert token_set_ratio(" ".join(words), " ".join(mixed)) == 100


def test_two_empty_texts_are_equal():
    assert ratio("", "") == 1.0
