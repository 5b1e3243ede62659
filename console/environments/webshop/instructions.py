"""The instructions of shopping tasks: how a shopper words the same request in many forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from random import Random

from console.environments.webshop.product_kinds import ProductKind
from console.trajectory.data_files import read_data

_FORMS = read_data(files(__package__) / "tables" / "instructions.yaml", dict[str, tuple[str, ...]])
_SPEAK_FOR_THEMSELVES = ("color", "shade", "finish")


@dataclass(frozen=True, slots=True)
class InstructionParts:
    """The parts of an instruction, sorted by how it is said; `parts` keep their articles, `price` is a limit in USD."""

    kind: ProductKind
    style: str | None
    material: str | None
    traits: Sequence[str]
    part: str | None
    options: Mapping[str, str]
    price: float | None


def instruction(parts: InstructionParts, rng: Random) -> str:
    """The instruction: the request as a shopper's sentence, in lower case."""
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
    text = rng.choice(_FORMS["openings"]).format(thing if parts.kind.bare else f"{_article(thing)} {thing}")
    return text + _choice(parts.options, rng) + _limit(parts.price)


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


def _limit(price: float | None) -> str:
    return "" if price is None else f", and price lower than {price:.2f} dollars"


def _article(words: str) -> str:
    return "an" if words[0] in "aeiou" and not words.startswith(("us", "eu", "one")) else "a"
