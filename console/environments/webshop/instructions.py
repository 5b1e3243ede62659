"""How a shopper words a wish: the same goal in many forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from console.environments.webshop.product_kinds import ProductKind

_OPENINGS = (
    "i am looking for {}",
    "i'm looking for {}",
    "i need {}",
    "i want {}",
    "i want to buy {}",
    "i would like {}",
    "find me {}",
    "get me {}",
    "can you find {}",
    "please show me {}",
    "help me choose {}",
    "looking for {}",
)
_CHOICES = (
    " in {}",
    ". i want it in {}",
    ", and it should be {}",
    ". choose {}",
    ", {} please",
    ". i prefer {}",
)
_SPEAK_FOR_THEMSELVES = ("color", "shade", "finish")


@dataclass(frozen=True, slots=True)
class InstructionParts:
    """What is asked, sorted by how it is said; `parts` keep their articles, `price` is a limit in USD."""

    kind: ProductKind
    style: str | None
    material: str | None
    traits: Sequence[str]
    part: str | None
    options: Mapping[str, str]
    price: float | None


def instruction(wish: InstructionParts, rng: Random) -> str:
    """The wish as a shopper's sentence, in lower case."""
    before = [wish.style] if wish.style else []
    made_of = [f"made of {wish.material}"] if wish.material else []
    if wish.material and rng.random() < 0.5:
        before.append(wish.material)
        made_of = []
    after = [f"with {wish.part}"] if wish.part else []
    if wish.traits and not before and rng.random() < 0.3:
        before = [*wish.traits]
    elif wish.traits:
        after.append(f"that {'are' if wish.kind.plural else 'is'} {' and '.join(wish.traits)}")
    rng.shuffle(after)
    thing = " ".join([*before, wish.kind.noun, *made_of, *after])
    text = rng.choice(_OPENINGS).format(thing if wish.kind.bare else f"{_article(thing)} {thing}")
    return text + _choice(wish.options, rng) + _limit(wish.price)


def _choice(options: Mapping[str, str], rng: Random) -> str:
    if not options:
        return ""
    names = [*options]
    rng.shuffle(names)
    return rng.choice(_CHOICES).format(" and ".join(_option(name, options[name], rng) for name in names))


def _option(name: str, value: str, rng: Random) -> str:
    forms = [f"{name} {value}", f"{value} {name}", f"the {value} {name}", f"{name}: {value}"]
    if name in value:
        forms = [value]
    elif name in _SPEAK_FOR_THEMSELVES:
        forms += [value, value]
    return rng.choice(forms)


def _limit(price: float | None) -> str:
    return "" if price is None else f", and price lower than {price:.2f} dollars"


def _article(words: str) -> str:
    return "an" if words[0] in "aeiou" and not words.startswith(("us", "eu", "one")) else "a"
