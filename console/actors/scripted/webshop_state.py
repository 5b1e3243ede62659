"""The observed shop: what the scripted Actor has read, opened and chosen in a trial, taken from its steps alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from console.trajectory import Step

_OFFER = re.compile(r"\[(?P<asin>[A-Z0-9]{10})\] *\n(?P<title>[^\n\[]+?) *\n\$(?P<price>[\d,]+\.\d+)")
_OPTION = re.compile(r"^(?P<name>[a-z][a-z ]*?) (?P<values>\[.+\]) *$", re.MULTILINE)
_VALUE = re.compile(r"\[+([^\[\]]+)\]+")
_CLICK = re.compile(r"^\s*click\[(?P<target>.+)\]\s*$", re.DOTALL)
_CLICKED = re.compile(r"^You have clicked (?P<value>.+)\.\s*$")


@dataclass(frozen=True, slots=True)
class ListedProduct:
    """A listed product, one line of a results page; `price` in USD."""

    asin: str
    title: str
    price: float


@dataclass(slots=True)
class ObservedShop:
    """The observed shop: where the Actor stands and what it has read; `page` is start, results, item or sub."""

    page: str = "start"
    searches: int = 0
    turned: int = 0
    offers: dict[str, ListedProduct] = field(default_factory=dict)
    visible: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    features: dict[str, str] = field(default_factory=dict)
    options: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    chosen: dict[str, str] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)

    @property
    def asin(self) -> str:
        """The product that is open, or was opened last."""
        return self.opened[-1] if self.opened else ""


def observe_shop(steps: Iterable[Step]) -> ObservedShop:
    """The shop as these steps have shown it."""
    shop = ObservedShop()
    for step in steps:
        _read(shop, step.action, step.observation)
    return shop


def asked_values(options: dict[str, tuple[str, ...]], text: str) -> dict[str, str]:
    """The value of each option that the text names, the longest where it names several."""
    found: dict[str, str] = {}
    for name, values in options.items():
        named = [value for value in values if re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.]*\d)(?!\w)", text)]
        if named:
            found[name] = max(named, key=len)
    return found


def _read(shop: ObservedShop, action: str, observation: str) -> None:
    click = _CLICK.match(action)
    target = click["target"].strip() if click else ""
    clicked = _CLICKED.match(observation)
    if clicked:
        _choose(shop, clicked["value"])
    elif "(Total results:" in observation:
        shop.page, shop.chosen = "results", {}
        shop.searches += action.strip().startswith("search[")
        shop.turned += target.lower() == "next >"
        shop.visible = [_offered(shop, match) for match in _OFFER.finditer(observation)]
    elif "[Buy Now]" in observation:
        _open(shop, target, observation)
    elif target.lower() in ("features", "description", "reviews") and "[< Prev]" in observation:
        shop.page = "sub"
        if target.lower() == "features":
            shop.features[shop.asin] = observation.partition("[< Prev]")[2]
    elif observation.rstrip().endswith("[Search]"):
        shop.page, shop.chosen = "start", {}
    else:
        shop.failed.add(action.strip())


def _offered(shop: ObservedShop, match: re.Match[str]) -> str:
    price = float(match["price"].replace(",", ""))
    shop.offers.setdefault(match["asin"], ListedProduct(match["asin"], match["title"], price))
    return match["asin"]


def _open(shop: ObservedShop, target: str, observation: str) -> None:
    shop.page = "item"
    if target.upper() in shop.offers:
        shop.opened.append(target.upper())
        shop.chosen = {}
    head = observation.partition("\nPrice:")[0]
    shop.options[shop.asin] = {
        match["name"]: tuple(_VALUE.findall(match["values"])) for match in _OPTION.finditer(head)
    }


def _choose(shop: ObservedShop, value: str) -> None:
    for name, values in shop.options.get(shop.asin, {}).items():
        if value in values:
            shop.chosen[name] = value
            return
