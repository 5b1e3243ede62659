"""The shop's products: always the same, and hard to tell apart at first sight."""

import re
import subprocess
import sys
from collections import defaultdict
from itertools import combinations

import pytest

from console.environments.webshop.catalogue import catalogue, list_kinds, without_article
from console.environments.webshop.tasks import ALIKE, has_attribute, token_set_ratio

DIGEST = """
import hashlib
from console.environments.webshop.catalogue import catalogue
from console.environments.webshop.tasks import tasks
from console.environments.webshop.world import search
seen = [*catalogue().values(), *tasks(5, 50), search("black cotton cardigan"), search("navy rug under 50")]
print(hashlib.sha256(repr(seen).encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def families():
    """The products by family."""
    found = defaultdict(list)
    for product in catalogue().values():
        found[product.family].append(product)
    return [*found.values()]


def test_there_are_a_few_thousand_products():
    assert 2500 < len(catalogue()) < 5000


def test_every_product_has_an_asin_a_price_and_at_least_one_choice():
    for asin, product in catalogue().items():
        assert re.fullmatch(r"B0[0-9A-Z]{8}", asin)
        assert product.asin == asin
        assert product.price == round(product.price, 2) > 1
        assert all(len(values) >= 2 for values in product.options.values())


def test_a_page_names_the_attributes_that_the_product_has_and_no_other():
    for product in catalogue().values():
        shown = {value for value in product.kind.attributes if has_attribute(product, value)}
        assert shown == set(product.attributes), product.title


def test_every_family_has_members_that_differ_in_one_attribute_only(families):
    for family in families:
        sets = [frozenset(product.attributes) for product in family]
        assert any(len(one - other) == 1 for one in sets for other in sets)


def test_every_family_has_twins_that_differ_in_the_price_or_the_options_alone(families):
    for family in families:
        twins = [p for p in family if sum(p.attributes == q.attributes for q in family) == 3]
        assert len(twins) == 3
        assert max(p.price for p in twins) > 1.4 * min(p.price for p in twins)
        assert len({str(p.options) for p in twins}) == 2


def test_many_titles_leave_open_which_of_several_products_it_is():
    titles = defaultdict(int)
    for product in catalogue().values():
        titles[product.title] += 1
    assert sum(count for count in titles.values() if count > 1) > len(catalogue()) / 3


@pytest.mark.at_length
def test_another_process_with_other_hash_seeds_has_the_same_shop_and_the_same_tasks():
    found = set()
    for hash_seed in ("0", "4711"):
        command = [sys.executable, "-c", DIGEST]
        done = subprocess.run(
            command,
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        )
        found.add(done.stdout)
    assert len(found) == 1


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
