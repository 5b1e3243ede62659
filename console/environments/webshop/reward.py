"""The reward of a purchase, 0 to 1 (WebShop, section 3.2): how well the item matches the request.

reward = r_type * (attributes met + options met + price met) / (attributes asked + options asked + 1)

The original tags parts of speech to compare titles. Here, every word counts except numbers and stop words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from console.environments.webshop.catalogue import Product, catalogue
from console.errors import BadInput

ALIKE = 85
_WORD = re.compile(r"[a-z]+")
_LINKS = {"and", "are", "as", "at", "by", "for", "from", "in", "is", "of", "on", "or", "that", "to", "with"}
STOP_WORDS = frozenset({"a", "an", "the", "i", "it", "me", "my"} | _LINKS)


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of a task. `price` is the highest price in USD, or None if the price is not limited."""

    target: Product
    attributes: tuple[str, ...]
    options: Mapping[str, str]
    price: float | None


def goal_of(gold: Mapping[str, Any]) -> Goal:
    """Return the goal in a task's gold target; raise BadInput if an entry is missing or its product is unknown."""
    try:
        target = catalogue()[gold["asin"]]
        options = {name: str(value) for name, value in dict(gold["options"]).items()}
        limit = gold["price_limit"]
        return Goal(target, tuple(map(str, gold["attributes"])), options, None if limit is None else float(limit))
    except (KeyError, TypeError, ValueError) as broken:
        needs = "an asin of the embedded catalogue, attributes, options and price_limit"
        raise BadInput(f"This webshop task cannot be scored ({broken!r}). Give its gold target {needs}.") from broken


def reward(goal: Goal, bought: Product, chosen: Mapping[str, str]) -> float:
    """Return the reward for buying that product with those options; exactly 1.0 is a success."""
    met = sum(has_attribute(bought, attribute) for attribute in goal.attributes)
    met += sum(_alike(option, chosen.values()) for option in goal.options.values())
    met += goal.price is None or bought.price <= goal.price
    return type_factor(goal.target, bought) * met / (len(goal.attributes) + len(goal.options) + 1)


def has_attribute(product: Product, attribute: str) -> bool:
    """Return whether the product has the attribute or a similar attribute, or its page contains the attribute."""
    if _alike(attribute, product.attributes):
        return True
    page = " ".join([product.title, *product.features, product.description]).lower()
    return attribute in page


def type_factor(wanted: Product, bought: Product) -> float:
    """Return the type factor: 1 for the same kind, 0.5 for another, 0.1 or 0 if the titles share few or no words."""
    words, others = (set(_WORD.findall(one.title.lower())) - STOP_WORDS for one in (wanted, bought))
    share = len(words & others) / len(words) if words else 0.2
    if share == 0.0:
        return 0.0
    if share < 0.1:
        return 0.1
    same_category = len(set(wanted.category) & set(bought.category)) >= 2
    return 1.0 if wanted.query == bought.query or same_category or share > 0.2 else 0.5


def _alike(wanted: str, offered: Collection[str]) -> bool:
    return any(token_set_ratio(value, wanted) > ALIKE for value in offered)


_NOT_A_WORD = re.compile(r"[^a-z0-9]+")


@lru_cache(maxsize=65536)
def token_set_ratio(one: str, other: str) -> int:
    """Return the similarity of two texts as sets of words, 0 to 100; 100 if one has all words of the other.

    The best ratio of any two of three strings counts: the common words, alone or followed by the other words of a text.
    """
    left, right = (set(_NOT_A_WORD.sub(" ", text.lower()).split()) for text in (one, other))
    if not left or not right:
        return 0
    common = left & right
    if common and (left <= right or right <= left):
        return 100
    shared = " ".join(sorted(common))
    with_left = f"{shared} {' '.join(sorted(left - right))}".strip()
    with_right = f"{shared} {' '.join(sorted(right - left))}".strip()
    pairs = [(with_left, with_right)]
    if shared:
        pairs += [(shared, with_left), (shared, with_right)]
    return round(max(100 * ratio(a, b) for a, b in pairs))


def ratio(one: str, other: str) -> float:
    """Return twice the longest common subsequence over the sum of both lengths, 0 to 1."""
    length = len(one) + len(other)
    return 2 * common_subsequence(one, other) / length if length else 1.0


def common_subsequence(one: str, other: str) -> int:
    """Return the length of the longest common subsequence, computing a whole row in the bits of one number."""
    places: dict[str, int] = {}
    for index, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << index
    full = (1 << len(one)) - 1
    row = full
    for letter in other:
        met = row & places.get(letter, 0)
        row = (row + met | row - met) & full
    return len(one) - row.bit_count()
