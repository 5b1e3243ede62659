"""How a product reads: its title and its features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from console.environments.webshop.product_kinds import ProductKind, without_article

_SMALL = {"for", "with", "and", "in", "on", "of"}


@dataclass(frozen=True, slots=True)
class Draft:
    """A product not yet put into words; its title names the slots `shown`, its features stand in `order`."""

    kind: ProductKind
    brand: str
    slots: Mapping[str, str]
    price: float
    options: Mapping[str, tuple[str, ...]]
    shown: tuple[str, ...]
    order: tuple[str, ...]


def title(draft: Draft) -> str:
    """Brand, kind and use, with those attributes that the title names."""
    named = {name: draft.slots[name] for name in draft.shown}
    before = [named[name] for name in ("style", "material") if name in named]
    after = [named[name] for name in ("trait", "second trait") if name in named]
    after += [f"with {without_article(named['part'])}"] if "part" in named else []
    head = " ".join([draft.brand, *before, draft.kind.noun, "for", draft.kind.uses[-1]])
    return ", ".join(_capitals(text) for text in [head, *after])


def _capitals(text: str) -> str:
    return " ".join(word if word in _SMALL else word[:1].upper() + word[1:] for word in text.split())


def bullet(name: str, value: str) -> str:
    """One attribute as a line among the features."""
    words = {"material": f"Material: {value}", "style": f"Style: {value}", "part": f"Comes with {value}"}
    return words.get(name, value[:1].upper() + value[1:])
