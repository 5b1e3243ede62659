"""The scripted Actor in the shop.

The Actor searches for the words of the request, opens the result whose title contains most of these words, chooses the
requested options, and buys. The request determines the Actor's weaknesses: the Actor overlooks an option, ignores the
price, reads no features (so a near-duplicate misleads it), or browses without deciding. Feedback in the memory corrects
these weaknesses: the Actor checks prices, chooses every option, rejects products without the mentioned properties, and
avoids a refused product.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from random import Random

from console.actors.move import ActorView, Move, Reflection
from console.actors.scripted.hints import Advice, find_amount, find_last_wanted, read_advice, split_words
from console.trajectory import Step
from console.trajectory.strict_yaml import Words, read_data

_PATIENCE = 15
_LIMIT = re.compile(r"(?:lower|less|under|below|cheaper|up to|at most|within|max\w*)\D{0,20}?(\d+(?:\.\d+)?)")
_PRICE_PART = re.compile(r",? ?(?:and )?price .*$|(?:lower|less|under|below|cheaper) than .*$")
_CODE = re.compile(r"\bB0[A-Z0-9]{8}\b")
_PICKING = re.compile(r"\b(?:choos|chose|select|pick|click|take|tick|set|colou?r|size|want|need|should be|in the)")
_FILLER = read_data(files(__package__) / "webshop.yaml", dict[str, Words])["filler"]


@dataclass(frozen=True, slots=True)
class ShoppingRequest:
    """The request in an instruction: the required words, and the highest price in USD, if there is one."""

    text: str
    words: tuple[str, ...]
    limit: float | None


@dataclass(frozen=True, slots=True)
class ShoppingCare:
    """The Actor's shopping habits; `checked` words must be on the page, and `stressed` words are also in the memory."""

    heeds_price: bool
    skipped_option: float | None
    checked: frozenset[str]
    stressed: frozenset[str]
    decides: bool
    limit: float | None
    left_alone: frozenset[str]


def move(view: ActorView) -> Move:
    """Return the next move in the shop."""
    advice = read_advice(view.memory)
    request = parse_request(view.instruction)
    care = _care(view, request, advice)
    shop = observe_shop(view.steps)
    if shop.page == "start":
        # After a search without results, the first half of the words has to do.
        query = request.words[: max(2, len(request.words) // 2)] if shop.searches else request.words
        return Move("I search for what the user asked for.", f"search[{' '.join(query)}]")
    if shop.page == "results":
        return _from_results(request, care, shop, len(view.steps))
    if shop.page == "sub":
        return Move("I have read the features and go back to the product.", "click[< Prev]")
    return _from_item(request, care, advice, shop, len(view.steps))


def plan(reflection: Reflection) -> str:
    """Write the plan after a rejection: avoid the refused product, or choose an option that the Actor overlooked."""
    shop, request = observe_shop(reflection.steps), parse_request(reflection.instruction)
    if not reflection.rejected_action:
        return "I ran out of steps while browsing. Next time I decide on the best result in time and buy it."
    wanted = find_asked_values(shop.options.get(shop.asin, {}), request.text)
    missed = [value for name, value in wanted.items() if shop.chosen.get(name) != value]
    rng = Random(f"plan {reflection.instruction} {len(reflection.memory)}")
    if missed and rng.random() < 0.4:
        return f"Buying {shop.asin} was refused. I overlooked something on its page: I will select {missed[0]}."
    return f"Buying {shop.asin} was refused. I will leave {shop.asin} alone and take what comes after it."


@lru_cache(maxsize=1024)
def parse_request(instruction: str) -> ShoppingRequest:
    """Parse the shopping request of an instruction."""
    text = instruction.lower()
    limit = _LIMIT.search(text)
    bare = _PRICE_PART.sub("", text)
    asked = dict.fromkeys(
        word for word in split_words(bare) if word not in _FILLER and (len(word) > 1 or word.isdigit())
    )
    return ShoppingRequest(bare, tuple(asked), float(limit[1]) if limit else None)


def _care(view: ActorView, request: ShoppingRequest, advice: Advice) -> ShoppingCare:
    rng = Random(f"shopper {view.instruction}" + " again" * view.take)
    blind, overlooks, trusting, dithers, which = (rng.random() for _ in range(5))
    spoken = advice.about("price")
    stressed = frozenset(word for word in request.words if advice.names(word))
    reads = bool(stressed) or advice.about("features")
    return ShoppingCare(
        heeds_price=blind > 0.35 or spoken,
        skipped_option=which if overlooks < 0.4 and not advice.about("option") else None,
        checked=frozenset(request.words) if reads or trusting > 0.8 else frozenset(),
        stressed=stressed,
        decides=dithers > 0.08 or bool(view.memory),
        limit=_limit(request, advice) if spoken else request.limit,
        left_alone=frozenset(
            code for code in _CODE.findall(advice.raw) if advice.refuses(code) or not advice.wants(code)
        ),
    )


def _limit(request: ShoppingRequest, advice: Advice) -> float | None:
    stated = find_amount(advice, "price")
    if stated is None or stated <= 0:
        return request.limit
    return stated if request.limit is None else min(stated, request.limit)


def _rank_results(request: ShoppingRequest, care: ShoppingCare, shop: ObservedShop) -> list[ListedProduct]:
    """Rank the visible, unopened results by shared words; stressed words count twice, an opened brand minus one."""
    fresh = [shop.offers[asin] for asin in shop.visible if asin not in shop.opened and asin not in care.left_alone]
    if care.heeds_price and care.limit is not None:
        fresh = [offer for offer in fresh if offer.price <= care.limit]
    tried = {shop.offers[asin].title.split()[0] for asin in shop.opened if asin in shop.offers}

    def rank(offer: ListedProduct) -> int:
        title = set(split_words(offer.title))
        return (offer.title.split()[0] in tried) - len(title & set(request.words)) - len(title & care.stressed)

    return sorted(fresh, key=rank)


def _from_results(request: ShoppingRequest, care: ShoppingCare, shop: ObservedShop, steps: int) -> Move:
    ranked = _rank_results(request, care, shop)
    if not care.decides and shop.turned < 3 and len(shop.opened) > shop.turned:
        return Move("Perhaps there is something better on the next page.", "click[Next >]")
    if ranked:
        return Move(f'"{ranked[0].title}" looks closest to the request.', f"click[{ranked[0].asin}]")
    if shop.visible and shop.turned < 3 and steps < _PATIENCE - 5:
        return Move("None of these will do; I look at the next page.", "click[Next >]")
    settled = [asin for asin in shop.visible if asin not in care.left_alone] or shop.visible
    if not settled:
        return Move("Nothing was found; I try other words.", "click[Back to Search]")
    return Move("I settle for this one.", f"click[{settled[0]}]")


def _from_item(request: ShoppingRequest, care: ShoppingCare, advice: Advice, shop: ObservedShop, steps: int) -> Move:
    options = shop.options.get(shop.asin, {})
    wanted = _wanted(options, request, care, advice)
    left = {name: value for name, value in wanted.items() if shop.chosen.get(name) != value}
    spare = _PATIENCE - steps - len(left)
    if care.checked and shop.asin not in shop.features and spare >= 3:
        return Move("I read the features before I decide.", "click[Features]")
    if _unfit(care, shop, options) and spare >= 5:
        return Move("It does not mention everything that the user asked for, so I go back.", "click[< Prev]")
    if not care.decides:
        return Move("I am not sure about this one.", "click[< Prev]")
    for value in left.values():
        if f"click[{value}]" not in shop.failed:
            return Move(f"The user asked for {value}.", f"click[{value}]")
    return Move("This is what the user asked for, so I buy it.", "click[Buy Now]")


def _wanted(
    options: dict[str, tuple[str, ...]], request: ShoppingRequest, care: ShoppingCare, advice: Advice
) -> dict[str, str]:
    wanted = find_asked_values(options, request.text)
    if care.skipped_option is not None and wanted:
        skipped = sorted(wanted)[int(care.skipped_option * len(wanted))]
        if not advice.names(wanted[skipped]):
            del wanted[skipped]
    for name, values in options.items():
        stated = find_last_wanted(advice, values)
        if stated and (name not in wanted or advice.refuses(wanted[name])) and _picked(stated, advice):
            wanted[name] = stated
    return wanted


def _picked(value: str, advice: Advice) -> bool:
    return any(value in clause.text and _PICKING.search(clause.text) for clause in advice.clauses)


def _unfit(care: ShoppingCare, shop: ObservedShop, options: dict[str, tuple[str, ...]]) -> bool:
    offer = shop.offers.get(shop.asin)
    if offer is None or not care.checked or shop.asin not in shop.features:
        return False
    values = (value for name, offered in options.items() for value in (name, *offered))
    page = set(split_words(" ".join([offer.title, shop.features[shop.asin], *values])))
    return not all(word in page or word.rstrip("s") in page for word in care.checked)


_OFFER = re.compile(r"\[(?P<asin>[A-Z0-9]{10})\] *\n(?P<title>[^\n\[]+?) *\n\$(?P<price>[\d,]+\.\d+)")
_OPTION = re.compile(r"^(?P<name>[a-z][a-z ]*?) (?P<values>\[.+\]) *$", re.MULTILINE)
_VALUE = re.compile(r"\[+([^\[\]]+)\]+")
_CLICK = re.compile(r"^\s*click\[(?P<target>.+)\]\s*$", re.DOTALL)
_CLICKED = re.compile(r"^You have clicked (?P<value>.+)\.\s*$")


@dataclass(frozen=True, slots=True)
class ListedProduct:
    """A listed product, one line of a results page; `price` is in USD."""

    asin: str
    title: str
    price: float


@dataclass(slots=True)
class ObservedShop:
    """The observed shop: the Actor's page and the texts it has read; `page` is start, results, item or sub."""

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
        """The ASIN of the product that is open or was opened last."""
        return self.opened[-1] if self.opened else ""


def observe_shop(steps: Iterable[Step]) -> ObservedShop:
    """Build the observed shop from the observations of these steps."""
    shop = ObservedShop()
    for step in steps:
        _read(shop, step.action, step.observation)
    return shop


def find_asked_values(options: dict[str, tuple[str, ...]], text: str) -> dict[str, str]:
    """Return, for each option, the value that the text names; if it names several values, return the longest."""
    found: dict[str, str] = {}
    for name, values in options.items():
        named = [value for value in values if re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.]*\d)(?!\w)", text)]
        if named:
            found[name] = max(named, key=len)
    return found


def _read(shop: ObservedShop, action: str, observation: str) -> None:
    click = _CLICK.match(action)
    target = click["target"].strip() if click else ""
    if clicked := _CLICKED.match(observation):
        value, groups = clicked["value"], shop.options.get(shop.asin, {})
        if name := next((name for name, values in groups.items() if value in values), ""):
            shop.chosen[name] = value
    elif "(Total results:" in observation:
        shop.page, shop.chosen = "results", {}
        shop.searches += action.strip().startswith("search[")
        shop.turned += target.lower() == "next >"
        shop.visible = [match["asin"] for match in _OFFER.finditer(observation)]
        for asin, title, price in _OFFER.findall(observation):
            shop.offers.setdefault(asin, ListedProduct(asin, title, float(price.replace(",", ""))))
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


def _open(shop: ObservedShop, target: str, observation: str) -> None:
    shop.page = "item"
    if target.upper() in shop.offers:
        shop.opened.append(target.upper())
        shop.chosen = {}
    head = observation.partition("\nPrice:")[0]
    shop.options[shop.asin] = {
        match["name"]: tuple(_VALUE.findall(match["values"])) for match in _OPTION.finditer(head)
    }
