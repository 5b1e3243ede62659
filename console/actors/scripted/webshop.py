"""The scripted shopper.

It searches for the words of the wish, opens the result whose title shares most of them, chooses the options that the
wish names, and buys. Its weaknesses, drawn from the wish: it overlooks an option, pays no heed to the price, or
believes a title without reading the features (so a near-duplicate fools it); now and then it browses without deciding.

Words in its memory mend that: prices make it mind the price, options make it choose every one, named or missing
properties make it read the features and pass over what lacks them, a refused product is left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from console.actors.move import ActorView, Move, Reflection
from console.actors.scripted.hints import Advice, advice, amount_near, last_wanted, vocabulary, words
from console.actors.scripted.webshop_state import ListedProduct, ObservedShop, asked_values, observe_shop

_PATIENCE = 15
_LIMIT = re.compile(r"(?:lower|less|under|below|cheaper|up to|at most|within|max\w*)\D{0,20}?(\d+(?:\.\d+)?)")
_PRICE_PART = re.compile(r",? ?(?:and )?price .*$|(?:lower|less|under|below|cheaper) than .*$")
_CODE = re.compile(r"\bB0[A-Z0-9]{8}\b")
_PICKING = re.compile(r"\b(?:choos|chose|select|pick|click|take|tick|set|colou?r|size|want|need|should be|in the)")
_FILLER = vocabulary(
    "a an the i it me my m am in on for with that which is are be of to and or please looking look find get need want "
    "wants buy would like can could you show help choose prefer should made one some any them this user asked"
)


@dataclass(frozen=True, slots=True)
class ShoppingRequest:
    """What is asked: the words that a product must live up to, and the highest price in USD if one is stated."""

    text: str
    words: tuple[str, ...]
    limit: float | None


@dataclass(frozen=True, slots=True)
class ShoppingCare:
    """How carefully it shops.

    `checked` are the words that the features must bear out, `stressed` those of the wish that the memory names.
    """

    heeds_price: bool
    skipped_option: float | None
    checked: frozenset[str]
    stressed: frozenset[str]
    decides: bool
    limit: float | None
    left_alone: frozenset[str]


def move(view: ActorView) -> Move:
    """The shopper's next move."""
    found = advice(view.memory)
    asked = shopping_request(view.instruction)
    care = _care(view, asked, found)
    seen = observe_shop(view.steps)
    if seen.page == "start":
        return Move("I search for what the user asked.", f"search[{_query(asked, seen)}]")
    if seen.page == "results":
        return _from_results(asked, care, seen, len(view.steps))
    if seen.page == "sub":
        return Move("I have read the features and go back to the product.", "click[< Prev]")
    return _from_item(asked, care, found, seen, len(view.steps))


def plan(reflection: Reflection) -> str:
    """What it means to do differently: it leaves the refused product alone, or sees an option that it overlooked."""
    seen, asked = observe_shop(reflection.steps), shopping_request(reflection.instruction)
    if not reflection.rejected_action:
        return "I ran out of steps while browsing. Next time I decide on the best result in time and buy it."
    wanted = asked_values(seen.options.get(seen.asin, {}), asked.text)
    missed = [value for name, value in wanted.items() if seen.chosen.get(name) != value]
    rng = Random(f"plan {reflection.instruction} {len(reflection.memory)}")
    if missed and rng.random() < 0.4:
        return f"Buying {seen.asin} was refused. I overlooked something on its page: I will select {missed[0]}."
    return f"Buying {seen.asin} was refused. I will leave {seen.asin} alone and take what comes after it."


@lru_cache(maxsize=1024)
def shopping_request(instruction: str) -> ShoppingRequest:
    """The wish in an instruction."""
    text = instruction.lower()
    limit = _LIMIT.search(text)
    bare = _PRICE_PART.sub("", text)
    asked = dict.fromkeys(word for word in words(bare) if word not in _FILLER and (len(word) > 1 or word.isdigit()))
    return ShoppingRequest(bare, tuple(asked), float(limit[1]) if limit else None)


def _care(view: ActorView, asked: ShoppingRequest, found: Advice) -> ShoppingCare:
    rng = Random(f"shopper {view.instruction}")
    blind, overlooks, trusting, dithers, which = (rng.random() for _ in range(5))
    spoken = found.about("price")
    stressed = frozenset(word for word in asked.words if found.names(word))
    reads = bool(stressed) or found.about("features")
    return ShoppingCare(
        heeds_price=blind > 0.35 or spoken,
        skipped_option=which if overlooks < 0.4 and not found.about("option") else None,
        checked=frozenset(asked.words) if reads or trusting > 0.8 else frozenset(),
        stressed=stressed,
        decides=dithers > 0.08 or bool(view.memory),
        limit=_limit(asked, found) if spoken else asked.limit,
        left_alone=frozenset(code for code in _CODE.findall(found.raw) if found.refuses(code) or not found.wants(code)),
    )


def _limit(asked: ShoppingRequest, found: Advice) -> float | None:
    told = amount_near(found, "price")
    if told is None or told <= 0:
        return asked.limit
    return told if asked.limit is None else min(told, asked.limit)


def _query(asked: ShoppingRequest, seen: ObservedShop) -> str:
    """The words of the wish; once nothing was found with them, the first half of them."""
    return " ".join(asked.words[: max(2, len(asked.words) // 2)] if seen.searches else asked.words)


def _ranked(asked: ShoppingRequest, care: ShoppingCare, seen: ObservedShop) -> list[ListedProduct]:
    """The visible results still to be opened: first those that share most words, what was stressed counting twice.

    A brand that it has opened in vain comes later.
    """
    fresh = [seen.offers[asin] for asin in seen.visible if asin not in seen.opened and asin not in care.left_alone]
    if care.heeds_price and care.limit is not None:
        fresh = [offer for offer in fresh if offer.price <= care.limit]
    tried = {seen.offers[asin].title.split()[0] for asin in seen.opened if asin in seen.offers}
    return sorted(fresh, key=lambda offer: (offer.title.split()[0] in tried) - _shared(offer, asked, care))


def _shared(offer: ListedProduct, asked: ShoppingRequest, care: ShoppingCare) -> int:
    title = set(words(offer.title))
    return len(title & set(asked.words)) + len(title & care.stressed)


def _from_results(asked: ShoppingRequest, care: ShoppingCare, seen: ObservedShop, steps: int) -> Move:
    ranked = _ranked(asked, care, seen)
    if not care.decides and seen.turned < 3 and len(seen.opened) > seen.turned:
        return Move("Perhaps there is something better on the next page.", "click[Next >]")
    if ranked:
        return Move(f'"{ranked[0].title}" looks closest to what was asked.', f"click[{ranked[0].asin}]")
    if seen.visible and seen.turned < 3 and steps < _PATIENCE - 5:
        return Move("None of these will do; I look at the next page.", "click[Next >]")
    settled = [asin for asin in seen.visible if asin not in care.left_alone] or seen.visible
    if not settled:
        return Move("Nothing was found; I try other words.", "click[Back to Search]")
    return Move("I settle for this one.", f"click[{settled[0]}]")


def _from_item(asked: ShoppingRequest, care: ShoppingCare, found: Advice, seen: ObservedShop, steps: int) -> Move:
    options = seen.options.get(seen.asin, {})
    wanted = _wanted(options, asked, care, found)
    left = {name: value for name, value in wanted.items() if seen.chosen.get(name) != value}
    spare = _PATIENCE - steps - len(left)
    if care.checked and seen.asin not in seen.features and spare >= 3:
        return Move("I read the features before I decide.", "click[Features]")
    if _unfit(care, seen, options) and spare >= 5:
        return Move("It does not say all that was asked; I go back to the results.", "click[< Prev]")
    if not care.decides:
        return Move("I am not sure about this one.", "click[< Prev]")
    for value in left.values():
        if f"click[{value}]" not in seen.failed:
            return Move(f"The user asked for {value}.", f"click[{value}]")
    return Move("This is what was asked; I buy it.", "click[Buy Now]")


def _wanted(
    options: dict[str, tuple[str, ...]], asked: ShoppingRequest, care: ShoppingCare, found: Advice
) -> dict[str, str]:
    wanted = asked_values(options, asked.text)
    if care.skipped_option is not None and wanted:
        skipped = sorted(wanted)[int(care.skipped_option * len(wanted))]
        if not found.names(wanted[skipped]):
            del wanted[skipped]
    for name, values in options.items():
        told = last_wanted(found, values)
        if told and (name not in wanted or found.refuses(wanted[name])) and _picked(told, found):
            wanted[name] = told
    return wanted


def _picked(value: str, found: Advice) -> bool:
    return any(value in clause.text and _PICKING.search(clause.text) for clause in found.clauses)


def _unfit(care: ShoppingCare, seen: ObservedShop, options: dict[str, tuple[str, ...]]) -> bool:
    """Whether the page of the open product lacks a word that it must bear out."""
    offer = seen.offers.get(seen.asin)
    if offer is None or not care.checked or seen.asin not in seen.features:
        return False
    values = (value for name, found in options.items() for value in (name, *found))
    page = set(words(" ".join([offer.title, seen.features[seen.asin], *values])))
    return not all(word in page or word.rstrip("s") in page for word in care.checked)
