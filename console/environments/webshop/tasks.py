"""Shopping tasks: a wanted product, some of its attributes and a price limit, and the reward of a purchase.

The reward, 0 to 1 (WebShop, section 3.2), states how well the bought item matches the request:
reward = r_type * (attributes met + options met + price met) / (attributes asked + options asked + 1)

The original tags parts of speech to compare titles. Here, every word counts except numbers and stop words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from random import Random
from typing import Any

from console.environments.environment import TaskSpec
from console.environments.webshop.catalogue import Product, ProductKind, catalogue, without_article
from console.errors import BadInput
from console.trajectory.strict_yaml import read_data

_WITH_PRICE = 0.8
_WITHOUT_OPTIONS = 0.2
_PRICE_STEP = 10.0


def tasks(seed: int, count: int) -> Sequence[TaskSpec]:
    """Return `count` tasks for different products, in the seed's order; raise BadInput for too many tasks."""
    products = list(catalogue().values())
    if not 0 <= count <= len(products):
        raise BadInput(f"{count} is not a valid number of webshop tasks. Use 0 to {len(products)}.")
    Random(seed).shuffle(products)
    return [_task(seed, index, product) for index, product in enumerate(products[:count])]


def _task(seed: int, index: int, target: Product) -> TaskSpec:
    rng = Random(f"{seed} {target.asin}")
    parts = _parts(target, rng)
    part = without_article(parts.part) if parts.part else None
    gold = {
        "asin": target.asin,
        "name": target.title,
        "attributes": [value for value in (parts.style, parts.material, *parts.traits, part) if value],
        "options": dict(parts.options),
        "price": target.price,
        "price_limit": parts.price,
    }
    return TaskSpec(f"webshop-{seed}-{index}", "webshop", instruction(parts, rng), gold)


def _parts(target: Product, rng: Random) -> InstructionParts:
    asked = rng.sample(target.attributes, rng.randint(2, 3))
    kind = target.kind
    return InstructionParts(
        kind=kind,
        style=next((value for value in asked if value in kind.styles), None),
        material=next((value for value in asked if value in kind.materials), None),
        traits=[value for value in asked if value in kind.traits],
        part=next((part for part in kind.parts if without_article(part) in asked), None),
        options=_options(target, rng),
        price=_limit(target.price, rng),
    )


def _options(target: Product, rng: Random) -> dict[str, str]:
    if rng.random() < _WITHOUT_OPTIONS:
        return {}
    names = sorted(target.options)
    asked = rng.sample(names, rng.randint(1, len(names)))
    return {name: rng.choice(target.options[name]) for name in asked}


def _limit(price: float, rng: Random) -> float | None:
    if rng.random() >= _WITH_PRICE:
        return None
    return _PRICE_STEP * (math.floor(price / _PRICE_STEP) + rng.choice((1, 1, 2)))


_FORMS = read_data(files(__package__) / "tables" / "instructions.yaml", dict[str, tuple[str, ...]])
_SPEAK_FOR_THEMSELVES = ("color", "shade", "finish")


@dataclass(frozen=True, slots=True)
class InstructionParts:
    """The parts of an instruction by position; `part` has an article, and `price` is a limit in USD."""

    kind: ProductKind
    style: str | None
    material: str | None
    traits: Sequence[str]
    part: str | None
    options: Mapping[str, str]
    price: float | None


def instruction(parts: InstructionParts, rng: Random) -> str:
    """Return the request as a shopper's sentence, in lower case."""
    before = [parts.style] if parts.style else []
    made_of = [f"made of {parts.material}"] if parts.material else []
    if parts.material and rng.random() < 0.5:
        before.append(parts.material)
        made_of = []
    after = [f"with {parts.part}"] if parts.part else []
    if parts.traits and not before and rng.random() < 0.3:
        before = [*parts.traits]
    elif parts.traits:
        after.append(f"that {'are' if parts.kind.plural else 'is'} {' and '.join(parts.traits)}")
    rng.shuffle(after)
    thing = " ".join([*before, parts.kind.noun, *made_of, *after])
    article = "an" if thing[0] in "aeiou" and not thing.startswith(("us", "eu", "one")) else "a"
    text = rng.choice(_FORMS["openings"]).format(thing if parts.kind.bare else f"{article} {thing}")
    text += _choice(parts.options, rng)
    return text if parts.price is None else f"{text}, and price lower than {parts.price:.2f} dollars"


def _choice(options: Mapping[str, str], rng: Random) -> str:
    if not options:
        return ""
    names = [*options]
    rng.shuffle(names)
    return rng.choice(_FORMS["choices"]).format(" and ".join(_option(name, options[name], rng) for name in names))


def _option(name: str, value: str, rng: Random) -> str:
    forms = [f"{name} {value}", f"{value} {name}", f"the {value} {name}", f"{name}: {value}"]
    if name in value:
        forms = [value]
    elif name in _SPEAK_FOR_THEMSELVES:
        forms += [value, value]
    return rng.choice(forms)


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
