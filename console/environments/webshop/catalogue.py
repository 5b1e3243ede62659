"""The products of the shop, from the attribute tables: families of near-duplicates with one difference each."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from random import Random
from typing import Any

_DEPARTMENTS = ("clothing", "home", "care", "grocery", "electronics", "outdoors")


@dataclass(frozen=True, slots=True)
class ProductKind:
    """A kind of product: `traits` follow "that is", `parts` follow "with" (with article), `price` is a range in USD.

    `options` are the buyer's choices, name -> values. `bare` nouns take no article: plurals and substances.
    """

    noun: str
    department: str
    group: str
    price: tuple[int, int]
    materials: tuple[str, ...]
    styles: tuple[str, ...]
    traits: tuple[str, ...]
    parts: tuple[str, ...]
    uses: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]
    plural: bool
    bare: bool

    @property
    def attributes(self) -> tuple[str, ...]:
        """Every attribute that a product of this kind may have, without articles."""
        return (*self.materials, *self.styles, *self.traits, *map(without_article, self.parts))


def without_article(part: str) -> str:
    """Return a part as an attribute, without its article: "a side zipper" becomes "side zipper"."""
    return part.removeprefix("a ").removeprefix("an ")


@lru_cache(maxsize=1)
def list_kinds() -> tuple[ProductKind, ...]:
    """Return all product kinds in the tables, in table order."""
    values = _table("options")
    found: list[ProductKind] = []
    for name in _DEPARTMENTS:
        table = _table(name)
        found += [_kind(row, table["department"], values) for row in table["kind"]]
    return tuple(found)


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "tables" / f"{name}.toml").read_text("utf-8"))


def _kind(row: Mapping[str, Any], department: str, values: Mapping[str, list[str]]) -> ProductKind:
    lists: dict[str, Any] = {name: tuple(row[name]) for name in ("price", "styles", "traits", "parts", "uses")}
    return ProductKind(
        noun=row["noun"],
        department=department,
        group=row["group"],
        materials=tuple(row.get("materials", ())),
        options={name: tuple(values[source]) for name, source in row["options"].items()},
        plural=bool(row.get("plural")),
        bare=bool(row.get("plural") or row.get("mass")),
        **lists,
    )


_SEED = 20221111
_FAMILIES_PER_KIND = 10
_LETTERS = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"
_BRAND_STARTS = ("Vor", "Mel", "Tas", "Quin", "Bre", "Zal", "Oru", "Fen", "Lom", "Dra", "Kiv", "Sol", "Pel")
_BRAND_ENDS = ("tavi", "mundo", "lique", "dero", "shan", "bexa", "rinth", "plo", "vane", "qora", "sido", "zette")
_NEVER_CAPITALISED = {"for", "with", "and", "in", "on", "of"}


@dataclass(frozen=True, slots=True)
class Product:
    """A product as its page shows it, with the attributes, the category and the query that the reward compares."""

    asin: str
    title: str
    price: float
    description: str
    features: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]
    attributes: tuple[str, ...]
    category: tuple[str, ...]
    query: str
    family: int
    kind: ProductKind


@dataclass(frozen=True, slots=True)
class ProductDraft:
    """A product before its texts are written; its title contains the slots in `shown`; `order` sorts the features."""

    kind: ProductKind
    brand: str
    slots: Mapping[str, str]
    price: float
    options: Mapping[str, tuple[str, ...]]
    shown: tuple[str, ...]
    order: tuple[str, ...]


@lru_cache(maxsize=1)
def catalogue() -> Mapping[str, Product]:
    """Return every product by its ASIN; every call returns the same shared mapping."""
    rng = Random(_SEED)
    made: dict[str, Product] = {}
    family = 0
    for kind in list_kinds():
        for _ in range(_FAMILIES_PER_KIND):
            for draft in _siblings(_first(kind, rng), rng):
                while (asin := "B0" + "".join(rng.choices(_LETTERS, k=8))) in made:
                    continue
                made[asin] = _product(asin, family, draft, rng)
            family += 1
    return made


def _first(kind: ProductKind, rng: Random) -> ProductDraft:
    one, two = rng.sample(kind.traits, 2)
    slots = {"style": rng.choice(kind.styles), "trait": one, "second trait": two, "part": rng.choice(kind.parts)}
    if kind.materials:
        slots["material"] = rng.choice(kind.materials)
    names = sorted(slots)
    low, high = kind.price
    return ProductDraft(
        kind=kind,
        brand=rng.choice(_BRAND_STARTS) + rng.choice(_BRAND_ENDS),
        slots=slots,
        price=rng.randrange(low, high) + rng.choice((0.49, 0.95, 0.99)),
        options={name: _some(values, rng) for name, values in kind.options.items()},
        shown=tuple(rng.sample(names, 3)),
        order=tuple(rng.sample(names, len(names))),
    )


def _some(values: tuple[str, ...], rng: Random) -> tuple[str, ...]:
    count = rng.randint(max(3, len(values) // 2), min(len(values), 7))
    kept = sorted(rng.sample(range(len(values)), count))
    return tuple(values[index] for index in kept)


def _siblings(first: ProductDraft, rng: Random) -> Iterator[ProductDraft]:
    family = [first, *(_other_slot(first, name, rng) for name in first.slots)]
    family.append(replace(first, price=round(first.price * rng.uniform(1.6, 2.6), 2)))
    name = rng.choice(sorted(first.options))
    values = first.options[name]
    kept = sorted(rng.sample(range(len(values)), (len(values) + 1) // 2))
    family.append(replace(first, options={**first.options, name: tuple(values[index] for index in kept)}))
    rng.shuffle(family)
    for draft in family:
        yield replace(draft, price=round(draft.price * rng.uniform(0.96, 1.04), 2))


def _other_slot(first: ProductDraft, name: str, rng: Random) -> ProductDraft:
    source = {"style": "styles", "material": "materials", "part": "parts"}.get(name, "traits")
    free = [value for value in getattr(first.kind, source) if value not in first.slots.values()]
    return replace(first, slots={**first.slots, name: rng.choice(free)})


def _product(asin: str, family: int, draft: ProductDraft, rng: Random) -> Product:
    kind = draft.kind
    model = f"{draft.brand[:2].upper()}{rng.randrange(1000, 9999)}"
    uses = " and ".join(kind.uses[:2])
    return Product(
        asin=asin,
        title=_title(draft),
        price=draft.price,
        description=f"{draft.brand} {kind.noun} for {uses}. Item model number: {model}-{asin[-3:]}.",
        features=tuple(_bullet(name, draft.slots[name]) for name in draft.order),
        options=draft.options,
        attributes=tuple(without_article(value) for value in draft.slots.values()),
        category=(kind.department, kind.group, kind.noun),
        query=kind.noun,
        family=family,
        kind=kind,
    )


def _title(draft: ProductDraft) -> str:
    named = {name: draft.slots[name] for name in draft.shown}
    before = [named[name] for name in ("style", "material") if name in named]
    after = [named[name] for name in ("trait", "second trait") if name in named]
    after += [f"with {without_article(named['part'])}"] if "part" in named else []
    head = " ".join([draft.brand, *before, draft.kind.noun, "for", draft.kind.uses[-1]])
    words = ", ".join([head, *after]).split()
    return " ".join(word if word in _NEVER_CAPITALISED else word[:1].upper() + word[1:] for word in words)


def _bullet(name: str, value: str) -> str:
    words = {"material": f"Material: {value}", "style": f"Style: {value}", "part": f"Comes with {value}"}
    return words.get(name, value[:1].upper() + value[1:])
