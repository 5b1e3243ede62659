"""The reward of a purchase: the original's formula, term by term."""

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.environments.webshop.catalogue import catalogue
from console.environments.webshop.tasks import (
    Goal,
    common_subsequence,
    goal_of,
    has_attribute,
    ratio,
    reward,
    tasks,
    token_set_ratio,
    type_factor,
)
from console.errors import BadInput


@pytest.fixture
def rug():
    """A product whose every field the test knows."""
    some = next(iter(catalogue().values()))
    return replace(
        some,
        asin="B0TEST0001",
        title="Vortavi Shaggy Wool Area Rug for Dining Room, Stain Resistant",
        price=40.0,
        description="Vortavi area rug for living room and bedroom.",
        features=("Material: wool", "Comes with a tassel fringe", "Stain resistant"),
        options={"color": ("black", "teal"), "size": ("2 x 3 ft", "4 x 6 ft")},
        attributes=("wool", "shaggy", "stain resistant", "tassel fringe"),
        category=("Home & Kitchen", "Home Decor", "area rug"),
        query="area rug",
    )


@pytest.fixture
def goal(rug):
    """A shaggy wool rug, teal, 4 x 6 ft, up to 50 dollars: five things and the kind."""
    return Goal(rug, ("wool", "shaggy"), {"color": "teal", "size": "4 x 6 ft"}, 50.0)


RIGHT = {"color": "teal", "size": "4 x 6 ft"}


def test_the_target_with_its_options_earns_exactly_one(goal, rug):
    assert reward(goal, rug, RIGHT) == 1.0


@pytest.mark.parametrize(
    ("chosen", "earned"),
    [({}, 3 / 5), ({"color": "teal"}, 4 / 5), ({"color": "black", "size": "4 x 6 ft"}, 4 / 5)],
)
def test_each_missing_option_costs_its_share(goal, rug, chosen, earned):
    assert reward(goal, rug, chosen) == pytest.approx(earned)


def test_a_missing_attribute_costs_its_share(goal, rug):
    jute = replace(
        rug, attributes=("jute", "shaggy"), title=rug.title.replace("Wool", "Jute"), features=("Material: jute",)
    )
    assert reward(goal, jute, RIGHT) == pytest.approx(4 / 5)


def test_a_price_above_the_limit_costs_its_share_and_the_limit_itself_is_fine(goal, rug):
    assert reward(goal, replace(rug, price=50.01), RIGHT) == pytest.approx(4 / 5)
    assert reward(goal, replace(rug, price=50.0), RIGHT) == 1.0


def test_without_a_limit_any_price_will_do(goal, rug):
    assert reward(replace(goal, price=None), replace(rug, price=9999.0), RIGHT) == 1.0


def test_a_goal_without_attributes_or_options_is_about_the_price(rug):
    assert reward(Goal(rug, (), {}, 50.0), rug, {}) == 1.0
    assert reward(Goal(rug, (), {}, 10.0), rug, {}) == 0.0


def test_an_attribute_may_be_worded_a_little_differently_or_stand_in_the_text(rug):
    assert has_attribute(rug, "stain-resistant")
    assert has_attribute(rug, "living room")
    assert not has_attribute(rug, "machine washable")


@pytest.mark.parametrize(
    ("title", "query", "category", "factor"),
    [
        ("Brequora Jute Rug", "area rug", ("Home & Kitchen", "Home Decor", "area rug"), 1.0),
        ("Brequora Linen Curtains for Dining", "curtains", ("Home & Kitchen", "Home Decor", "curtains"), 1.0),
        ("Shaggy Wool Dog Blanket", "dog blanket", ("Pets", "Beds", "dog blanket"), 1.0),
        ("Resistant Phone Case", "phone case", ("Electronics", "Accessories", "phone case"), 0.5),
        ("Zalplo Ceramic Bowl", "bowl", ("Home & Kitchen", "Home Decor", "bowl"), 0.0),
    ],
    ids=["same query", "same category", "like title", "little in common", "nothing in common"],
)
def test_the_kind_of_thing_scales_the_whole(rug, title, query, category, factor):
    assert type_factor(rug, replace(rug, title=title, query=query, category=category)) == factor


def test_one_common_word_out_of_eleven_leaves_a_tenth(rug):
    wordy = replace(rug, title="one two three four five six seven eight nine ten rug")
    other = replace(rug, title="A Rug", query="mat", category=("x", "y", "z"))
    assert type_factor(wordy, other) == 0.1


@pytest.mark.parametrize(
    "change",
    [{"asin": "B0NOTTHERE"}, {"asin": None}, {"asin": []}, {"options": None}, {"attributes": 3}, {"price_limit": "x"}],
    ids=str,
)
def test_a_gold_that_cannot_be_scored_is_refused_in_one_sentence(change):
    gold = {**tasks(0, 1)[0].gold, **change}
    with pytest.raises(BadInput, match=r"cannot be scored .* its gold target an asin"):
        goal_of(gold)


def test_a_gold_with_an_entry_missing_is_refused():
    gold = {name: value for name, value in tasks(0, 1)[0].gold.items() if name != "price_limit"}
    with pytest.raises(BadInput, match="price_limit"):
        goal_of(gold)


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
