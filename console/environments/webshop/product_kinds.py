"""Kinds of products: the attribute tables in this folder, one row each."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
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
    """Return the part as an attribute: "a side zipper" is "side zipper"."""
    return part.removeprefix("a ").removeprefix("an ")


@lru_cache(maxsize=1)
def list_kinds() -> tuple[ProductKind, ...]:
    """Return every kind of the tables, in their order."""
    values = _table("options")
    found: list[ProductKind] = []
    for name in _DEPARTMENTS:
        table = _table(name)
        found += [_kind(row, table["department"], values) for row in table["kind"]]
    return tuple(found)


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "tables" / f"{name}.toml").read_text("utf-8"))


def _kind(row: Mapping[str, Any], department: str, values: Mapping[str, list[str]]) -> ProductKind:
    low, high = row["price"]
    return ProductKind(
        noun=row["noun"],
        department=department,
        group=row["group"],
        price=(low, high),
        materials=tuple(row.get("materials", ())),
        styles=tuple(row["styles"]),
        traits=tuple(row["traits"]),
        parts=tuple(row["parts"]),
        uses=tuple(row["uses"]),
        options={name: tuple(values[source]) for name, source in row["options"].items()},
        plural=bool(row.get("plural")),
        bare=bool(row.get("plural") or row.get("mass")),
    )
