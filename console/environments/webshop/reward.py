"""The reward of a purchase, 0 to 1 (WebShop, section 3.2): how well the item bought fits what was asked.

reward = r_type * (attributes met + options met + price met) / (attributes asked + options asked + 1)

The original tags parts of speech to compare titles; here every word counts that is neither a number nor a stop word.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from console.environments.webshop.catalogue import Product, catalogue
from console.environments.webshop.similarity import token_set_ratio
from console.errors import BadInput

ALIKE = 85
_WORD = re.compile(r"[a-z]+")
_LINKS = {"and", "are", "as", "at", "by", "for", "from", "in", "is", "of", "on", "or", "that", "to", "with"}
STOP_WORDS = frozenset({"a", "an", "the", "i", "it", "me", "my"} | _LINKS)


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of a task: what was asked for. `price` is the highest price in USD, None where any will do."""

    target: Product
    attributes: tuple[str, ...]
    options: Mapping[str, str]
    price: float | None


def goal_of(gold: Mapping[str, Any]) -> Goal:
    """The goal in a task's gold; raises BadInput where an entry is missing or the product is not in this catalogue."""
    try:
        target = catalogue()[gold["asin"]]
        options = {name: str(value) for name, value in dict(gold["options"]).items()}
        limit = gold["price_limit"]
        return Goal(target, tuple(map(str, gold["attributes"])), options, None if limit is None else float(limit))
    except (KeyError, TypeError, ValueError) as broken:
        needs = "an asin of the embedded catalogue, attributes, options and price_limit"
        raise BadInput(f"This webshop task cannot be scored ({broken!r}); its gold needs {needs}.") from broken


def reward(goal: Goal, bought: Product, chosen: Mapping[str, str]) -> float:
    """The reward for buying that product with those options; exactly 1.0 is a success."""
    met = sum(has_attribute(bought, attribute) for attribute in goal.attributes)
    met += sum(_alike(option, chosen.values()) for option in goal.options.values())
    met += goal.price is None or bought.price <= goal.price
    return type_factor(goal.target, bought) * met / (len(goal.attributes) + len(goal.options) + 1)


def has_attribute(product: Product, attribute: str) -> bool:
    """Whether the product has the attribute, or one so worded, or names it anywhere on its page."""
    if _alike(attribute, product.attributes):
        return True
    page = " ".join([product.title, *product.features, product.description]).lower()
    return attribute in page


def type_factor(wanted: Product, bought: Product) -> float:
    """The type factor: 1 for the same kind of thing, 0.5 for another, 0.1 and 0 where titles share next to nothing."""
    words, others = _title_words(wanted.title), _title_words(bought.title)
    share = len(words & others) / len(words) if words else 0.2
    if share == 0.0:
        return 0.0
    if share < 0.1:
        return 0.1
    same_category = len(set(wanted.category) & set(bought.category)) >= 2
    return 1.0 if wanted.query == bought.query or same_category or share > 0.2 else 0.5


def _alike(wanted: str, offered: Collection[str]) -> bool:
    return any(token_set_ratio(value, wanted) > ALIKE for value in offered)


def _title_words(title: str) -> set[str]:
    return set(_WORD.findall(title.lower())) - STOP_WORDS
