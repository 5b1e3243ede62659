"""Checks of a purchase: its price, options and page against the user's request."""

from __future__ import annotations

import re
from collections.abc import Sequence

from console.detection.detectors.rules.finding import (
    MONEY,
    PATTERNS,
    Finding,
    broken,
    quote_action,
    quote_beside,
    quote_option,
    quote_price,
    quote_term,
    quoted,
    terms_of_option,
)
from console.environments.evidence import WORDS, Evidence, TermState
from console.environments.webshop.purchase import BUYS, EXACT, GENERIC, Choice
from console.trajectory.requirements import Line, Quote, RequirementKind
from console.trajectory.terms import FUNCTION_WORDS, Term, TermKind, lowered

_MOST_WORDS = 5
_COMPLETING = PATTERNS["shopping.completing"]
"""Nouns that need the word before them."""
_QUALIFYING = frozenset(
    {"easy", "high", "low", "long", "non", "anti", "ultra", "light", "dark", "heavy", "full", "wide"}
)
"""Words that need the word after them."""
_JOINING = frozenset({"", " ", "-", " to "})


def price_above_limit(evidence: Evidence) -> Finding | None:
    """Find a price above the user's limit, or a range of prices that exceeds the limit in part."""
    shown = evidence.purchase
    limits = [float(term.value) for term in evidence.terms if term.kind is TermKind.PRICE_MAX]
    if not limits or (shown and shown.high <= min(limits)):
        return None
    limit = min(limits)
    if not shown:
        return _all_above(limit, evidence)
    if shown.low > limit:
        price = f"{shown.low:.2f}" + (f" to {shown.high:.2f}" if shown.high > shown.low else "")
        told = f"The user set a limit of {limit:.2f}; the chosen page shows {price}."
        return Finding(1.0, told, ("price",), _price_line(TermKind.PRICE_MAX, shown.low, evidence))
    range_ = f"from {shown.low:.2f} to {shown.high:.2f}"
    return Finding(0.1, f"The user set a limit of {limit:.2f}; the prices on the chosen page go {range_}.", ("price",))


def _all_above(limit: float, evidence: Evidence) -> Finding | None:
    """Find a purchase without an opened product page if every price shown is above the limit."""
    prices = [float(figure.replace(",", "")) for figure in MONEY.findall(evidence.read_before)]
    if not prices or min(prices) <= limit or not BUYS.search(evidence.pending.action):
        return None
    told = f"The user set a limit of {limit:.2f}; the lowest price that was shown is {min(prices):.2f}."
    return Finding(1.0, told, ("price",), _price_line(TermKind.PRICE_MAX, min(prices), evidence))


def _price_line(kind: TermKind, price: float, evidence: Evidence) -> Line:
    """Return the broken line of the user's price limit, with the price as the shop showed it."""
    stated = next(term for term in evidence.terms if term.kind is kind)
    return broken(RequirementKind.LIMIT, "price", quote_term(stated, evidence), quote_price(price, evidence))


def _option_line(choice: Choice, shown: Quote, evidence: Evidence) -> Line | None:
    said = terms_of_option(choice.asked, evidence)
    if not said:
        return None
    return broken(RequirementKind.OPTION, choice.name, quote_beside(said[0], said, evidence), shown)


def price_below_floor(evidence: Evidence) -> Finding | None:
    """Find a price below the user's minimum price."""
    shown = evidence.purchase
    floors = [float(term.value) for term in evidence.terms if term.kind is TermKind.PRICE_MIN]
    if not shown or not floors or shown.high >= max(floors):
        return None
    sentence = f"The user asked for at least {max(floors):.2f}; the chosen page shows {shown.high:.2f}."
    return Finding(1.0, sentence, ("price",), _price_line(TermKind.PRICE_MIN, shown.high, evidence))


def option_not_chosen(evidence: Evidence) -> Finding | None:
    """Find options that the user asked for and the shop offered, but the agent did not choose."""
    left = [choice for choice in _choices(evidence) if choice.asked and not choice.chosen]
    if not left:
        return None
    told = "; ".join(f'{choice.name} "{choice.asked[:60]}"' for choice in left[:3])
    line = _option_line(left[0], quote_option(left[0].asked, evidence), evidence)
    facts = tuple(choice.name for choice in left)
    return Finding(1.0, f"Asked for and offered, but never chosen: {told}.", facts, line)


def option_differs(evidence: Evidence) -> Finding | None:
    """Find a choice that differs from the offered option that the user asked for."""
    worse = [choice for choice in _choices(evidence) if choice.asked and choice.chosen not in ("", choice.asked)]
    if not worse:
        return None
    name, asked, chosen = worse[0].name, worse[0].asked[:60], worse[0].chosen[:60]
    sentence = f'For {name} the agent chose "{chosen}"; the user asked for "{asked}", which was offered.'
    pressed = [act.step for act in evidence.acts if lowered(act.argument) == lowered(worse[0].chosen)]
    shown = quote_action(evidence, worse[0].chosen, pressed[-1]) if pressed else quote_option(worse[0].chosen, evidence)
    return Finding(1.0, sentence, (name,), _option_line(worse[0], shown, evidence))


def options_left(evidence: Evidence) -> Finding | None:
    """Find groups of options without a choice. The finding changes only the score."""
    left = [choice.name for choice in _choices(evidence) if not choice.chosen]
    return Finding(min(1.0, len(left) / 2)) if left else None


def option_chosen(evidence: Evidence) -> Finding | None:
    """Find choices that the user asked for. The finding counts in favour of the agent."""
    right = [choice.chosen for choice in _choices(evidence) if choice.chosen and choice.asked == choice.chosen]
    return Finding(min(1.0, len(right) / 2)) if right else None


def stated_missing(evidence: Evidence) -> Finding | None:
    """Find stated terms that neither the product's pages nor its options mention."""
    missing = evidence.by_state[TermState.MISSING] if evidence.buys else ()
    if not evidence.purchase or not missing:
        return None
    told = [term for term in missing if term.kind not in WORDS] + _phrases(missing, evidence)
    phrases = [one if isinstance(one, str) else _whole(one, evidence) for one in told]
    unopened = " or ".join(", ".join(name.capitalize() for name in evidence.purchase.unopened).rsplit(", ", 1))
    where = f"; the agent did not open {unopened}" if unopened else ""
    sentence = f"The chosen page does not show {quoted(phrases[:_MOST_WORDS], _MOST_WORDS)}{where}."
    return Finding(len(missing) / len(evidence.wanted), sentence if phrases else "", tuple(map(lowered, phrases)))


def figures_missing(evidence: Evidence) -> Finding | None:
    """Find missing or unchosen sizes, quantities, colours and materials. The finding changes only the score."""
    open_ = (*evidence.by_state[TermState.MISSING], *evidence.by_state[TermState.OFFERED]) if evidence.purchase else ()
    exact = [term for term in open_ if term.kind in EXACT]
    return Finding(min(1.0, 0.5 + len(exact) / 4)) if exact else None


def _choices(evidence: Evidence) -> tuple[Choice, ...]:
    return evidence.purchase.choices if evidence.purchase else ()


def _phrases(missing: Sequence[Term], evidence: Evidence) -> list[str]:
    """Return the missing words as phrases: join adjacent words and add the words that complete them.

    A single missing word between two found words is omitted, because the page may use a shorter name.
    """
    text, found = evidence.checkpoint.instruction, list[tuple[int, int]]()
    plain = sorted((term for term in missing if term.kind in WORDS), key=lambda term: term.start)
    for term in plain:
        if found and text[found[-1][1] : term.start] in _JOINING:
            found[-1] = (found[-1][0], term.end)
        else:
            found.append((term.start, term.end))
    told = [term for term, state in evidence.states.items() if state is not TermState.MISSING]
    starts, ends = {term.start for term in told}, {term.end for term in told}
    found = [(start, end) for start, end in found if not (start - 1 in ends and end + 1 in starts)]
    found = [(start, end) for start, end in found if not is_tail(start, end, evidence)]
    return [text[slice(*complete_phrase(start, end, evidence))] for start, end in found]


def is_tail(start: int, end: int, evidence: Evidence) -> bool:
    """Return whether [start, end) is a word after one that the product's pages contain (`room` of `living room`)."""
    text = evidence.checkpoint.instruction
    before = re.search(r"([^\W\d_]{3,})[ -]$", text[:start])
    is_one = not re.search(r"[ -]", text[start:end])
    return (
        is_one
        and before is not None
        and lowered(before[1]) not in FUNCTION_WORDS | GENERIC | _QUALIFYING
        and (lowered(before[1]) in evidence.read)
    )


def complete_phrase(start: int, end: int, evidence: Evidence) -> tuple[int, int]:
    """Return [start, end) of a phrase, extended by a general noun after it and a qualifying word before it."""
    text = evidence.checkpoint.instruction
    after = _COMPLETING.match(text, end) or _PURPOSE.match(text, end)
    before = re.search(r"([a-z]+|\d+[a-z]*)(?:( to )| |-)$", text[:start], re.IGNORECASE)
    known = before is not None and (before[1][0].isdigit() or lowered(before[1]) in _QUALIFYING)
    is_before = known or (before is not None and before[2] is not None and lowered(before[1]) not in FUNCTION_WORDS)
    return (before.start(1) if before and is_before else start), after.end() if after else end


_PURPOSE = re.compile(r" to [a-z]+\b")
"""The words after an adjective such as `ready`."""


def _whole(term: Term, evidence: Evidence) -> str:
    """Return the term as the instruction writes it, with the rest of a hyphenated word (`5-shelf`)."""
    after = re.match(r"-[a-z]+", evidence.checkpoint.instruction[term.end :])
    return term.text + (after[0] if after else "")
