"""The tables are such that the reward can tell every value from every other."""

from itertools import combinations

import pytest

from console.environments.webshop.catalogue import list_kinds, without_article
from console.environments.webshop.reward import ALIKE, token_set_ratio

every_kind = pytest.mark.parametrize("kind", list_kinds(), ids=lambda kind: kind.noun)


def mistaken(values):
    """The pairs that the reward would take for each other."""
    pairs = combinations(values, 2)
    return [(a, b) for a, b in pairs if token_set_ratio(a, b) > ALIKE or a in b or b in a]


@every_kind
def test_no_attribute_of_a_kind_can_be_taken_for_another(kind):
    assert mistaken(kind.attributes) == []


@every_kind
def test_no_option_of_a_kind_can_be_taken_for_another(kind):
    values = [value for values in kind.options.values() for value in values]
    assert len(values) == len(set(values))
    assert [pair for pair in combinations(values, 2) if token_set_ratio(*pair) > ALIKE] == []


@every_kind
def test_what_a_kind_is_called_and_used_for_grants_no_attribute(kind):
    assert [value for value in kind.attributes if value in " / ".join([kind.noun, *kind.uses])] == []


def test_nouns_are_distinct_and_there_are_enough_of_them():
    nouns = [kind.noun for kind in list_kinds()]
    assert len(nouns) == len(set(nouns)) >= 30


@pytest.mark.parametrize(
    ("part", "attribute"),
    [("a side zipper", "side zipper"), ("an fm radio", "fm radio"), ("aloe vera", "aloe vera")],
)
def test_a_part_loses_its_article_and_nothing_else(part, attribute):
    assert without_article(part) == attribute
