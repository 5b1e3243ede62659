"""The scripted Actor in the shop.

It searches for the words of the request, opens the result whose title shares most of them, chooses the options that the
request names, and buys. Its weaknesses, drawn from the request: it overlooks an option, pays no heed to the price, or
believes a title without reading the features (so a near-duplicate fools it); now and then it browses without deciding.

Words in its memory mend that: prices make it mind the price, options make it choose every one, named or missing
properties make it read the features and pass over what lacks them, a refused product is left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from random import Random

from console.actors.move import ActorView, Move, Reflection
from console.actors.scripted.hints import Advice, amount_near, last_wanted, read_advice, words
from console.actors.scripted.webshop_state import ListedProduct, ObservedShop, asked_values, observe_shop
from console.trajectory.data_files import read_data

_PATIENCE = 15
_LIMIT = re.compile(r"(?:lower|less|under|below|cheaper|up to|at most|within|max\w*)\D{0,20}?(\d+(?:\.\d+)?)")
_PRICE_PART = re.compile(r",? ?(?:and )?price .*$|(?:lower|less|under|below|cheaper) than .*$")
_CODE = re.compile(r"\bB0[A-Z0-9]{8}\b")
_PICKING = re.compile(r"\b(?:choos|chose|select|pick|click|take|tick|set|colou?r|size|want|need|should be|in the)")
_FILLER = read_data(files(__package__) / "webshop.yaml", dict[str, frozenset[str]])["filler"]


@dataclass(frozen=True, slots=True)
class ShoppingRequest:
    """The request in an instruction: the words that a product must live up to, and the highest price in USD if any."""

    text: str
    words: tuple[str, ...]
    limit: float | None


@dataclass(frozen=True, slots=True)
class ShoppingCare:
    """The care that it takes in shopping.

    `checked` are the words that the features must bear out, `stressed` those of the request that the memory names.
    """

    heeds_price: bool
    skipped_option: float | None
    checked: frozenset[str]
    stressed: frozenset[str]
    decides: bool
    limit: float | None
    left_alone: frozenset[str]


def move(view: ActorView) -> Move:
    """The next move in the shop."""
    advice = read_advice(view.memory)
    request = shopping_request(view.instruction)
    care = _care(view, request, advice)
    shop = observe_shop(view.steps)
    if shop.page == "start":
        return Move("I search for what the user asked.", f"search[{_query(request, shop)}]")
    if shop.page == "results":
        return _from_results(request, care, shop, len(view.steps))
    if shop.page == "sub":
        return Move("I have read the features and go back to the product.", "click[< Prev]")
    return _from_item(request, care, advice, shop, len(view.steps))


def plan(reflection: Reflection) -> str:
    """The plan after a refusal: it leaves the refused product alone, or sees an option that it overlooked."""
    shop, request = observe_shop(reflection.steps), shopping_request(reflection.instruction)
    if not reflection.rejected_action:
        return "I ran out of steps while browsing. Next time I decide on the best result in time and buy it."
    wanted = asked_values(shop.options.get(shop.asin, {}), request.text)
    missed = [value for name, value in wanted.items() if shop.chosen.get(name) != value]
    rng = Random(f"plan {reflection.instruction} {len(reflection.memory)}")
    if missed and rng.random() < 0.4:
        return f"Buying {shop.asin} was refused. I overlooked something on its page: I will select {missed[0]}."
    return f"Buying {shop.asin} was refused. I will leave {shop.asin} alone and take what comes after it."


@lru_cache(maxsize=1024)
def shopping_request(instruction: str) -> ShoppingRequest:
    """The shopping request in an instruction."""
    text = instruction.lower()
    limit = _LIMIT.search(text)
    bare = _PRICE_PART.sub("", text)
    asked = dict.fromkeys(word for word in words(bare) if word not in _FILLER and (len(word) > 1 or word.isdigit()))
    return ShoppingRequest(bare, tuple(asked), float(limit[1]) if limit else None)


def _care(view: ActorView, request: ShoppingRequest, advice: Advice) -> ShoppingCare:
    rng = Random(f"shopper {view.instruction}")
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
    stated = amount_near(advice, "price")
    if stated is None or stated <= 0:
        return request.limit
    return stated if request.limit is None else min(stated, request.limit)


def _query(request: ShoppingRequest, shop: ObservedShop) -> str:
    """The words of the request; once nothing was found with them, the first half of them."""
    return " ".join(request.words[: max(2, len(request.words) // 2)] if shop.searches else request.words)


def _ranked(request: ShoppingRequest, care: ShoppingCare, shop: ObservedShop) -> list[ListedProduct]:
    """The visible results still to be opened: first those that share most words, what was stressed counting twice.

    A brand that it has opened in vain comes later.
    """
    fresh = [shop.offers[asin] for asin in shop.visible if asin not in shop.opened and asin not in care.left_alone]
    if care.heeds_price and care.limit is not None:
        fresh = [offer for offer in fresh if offer.price <= care.limit]
    tried = {shop.offers[asin].title.split()[0] for asin in shop.opened if asin in shop.offers}
    return sorted(fresh, key=lambda offer: (offer.title.split()[0] in tried) - _shared(offer, request, care))


def _shared(offer: ListedProduct, request: ShoppingRequest, care: ShoppingCare) -> int:
    title = set(words(offer.title))
    return len(title & set(request.words)) + len(title & care.stressed)


def _from_results(request: ShoppingRequest, care: ShoppingCare, shop: ObservedShop, steps: int) -> Move:
    ranked = _ranked(request, care, shop)
    if not care.decides and shop.turned < 3 and len(shop.opened) > shop.turned:
        return Move("Perhaps there is something better on the next page.", "click[Next >]")
    if ranked:
        return Move(f'"{ranked[0].title}" looks closest to what was asked.', f"click[{ranked[0].asin}]")
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
        return Move("It does not say all that was asked; I go back to the results.", "click[< Prev]")
    if not care.decides:
        return Move("I am not sure about this one.", "click[< Prev]")
    for value in left.values():
        if f"click[{value}]" not in shop.failed:
            return Move(f"The user asked for {value}.", f"click[{value}]")
    return Move("This is what was asked; I buy it.", "click[Buy Now]")


def _wanted(
    options: dict[str, tuple[str, ...]], request: ShoppingRequest, care: ShoppingCare, advice: Advice
) -> dict[str, str]:
    wanted = asked_values(options, request.text)
    if care.skipped_option is not None and wanted:
        skipped = sorted(wanted)[int(care.skipped_option * len(wanted))]
        if not advice.names(wanted[skipped]):
            del wanted[skipped]
    for name, values in options.items():
        stated = last_wanted(advice, values)
        if stated and (name not in wanted or advice.refuses(wanted[name])) and _picked(stated, advice):
            wanted[name] = stated
    return wanted


def _picked(value: str, advice: Advice) -> bool:
    return any(value in clause.text and _PICKING.search(clause.text) for clause in advice.clauses)


def _unfit(care: ShoppingCare, shop: ObservedShop, options: dict[str, tuple[str, ...]]) -> bool:
    """Whether the page of the open product lacks a word that it must bear out."""
    offer = shop.offers.get(shop.asin)
    if offer is None or not care.checked or shop.asin not in shop.features:
        return False
    values = (value for name, offered in options.items() for value in (name, *offered))
    page = set(words(" ".join([offer.title, shop.features[shop.asin], *values])))
    return not all(word in page or word.rstrip("s") in page for word in care.checked)
