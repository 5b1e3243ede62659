"""Shopping tasks: a product somebody wants, part of what it is and what it may cost, and the actions that buy it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from console.environments.environment import TaskSpec
from console.environments.webshop.catalogue import Product, catalogue
from console.environments.webshop.instructions import InstructionParts, instruction
from console.environments.webshop.product_kinds import without_article
from console.errors import BadInput

_WITH_PRICE = 0.8
_WITHOUT_OPTIONS = 0.2
_PRICE_STEP = 10.0


def tasks(seed: int, count: int) -> Sequence[TaskSpec]:
    """That many shopping tasks, no two for the same product; more of the same seed only adds tasks.

    Raises BadInput where `count` is below 0 or above the number of products.
    """
    products = list(catalogue().values())
    if not 0 <= count <= len(products):
        raise BadInput(f"The webshop has tasks for 0 to {len(products)} at a time, not {count}; ask for fewer.")
    Random(seed).shuffle(products)
    return [_task(seed, index, product) for index, product in enumerate(products[:count])]


def _task(seed: int, index: int, target: Product) -> TaskSpec:
    rng = Random(f"{seed} {target.asin}")
    parts = _parts(target, rng)
    gold = {
        "asin": target.asin,
        "name": target.title,
        "attributes": _attributes(parts),
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


def _attributes(parts: InstructionParts) -> list[str]:
    part = without_article(parts.part) if parts.part else None
    return [value for value in (parts.style, parts.material, *parts.traits, part) if value]


def _options(target: Product, rng: Random) -> dict[str, str]:
    if rng.random() < _WITHOUT_OPTIONS:
        return {}
    names = sorted(target.options)
    asked = rng.sample(names, rng.randint(1, len(names)))
    return {name: rng.choice(target.options[name]) for name in asked}


def _limit(price: float, rng: Random) -> float | None:
    """A round price above the product's own, or none."""
    if rng.random() >= _WITH_PRICE:
        return None
    return _PRICE_STEP * (math.floor(price / _PRICE_STEP) + rng.choice((1, 1, 2)))
