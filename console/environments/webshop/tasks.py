"""Shopping tasks: a wanted product, some of its attributes and a price limit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from random import Random

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
