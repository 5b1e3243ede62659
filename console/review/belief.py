"""The belief of an agent beside what was asked: the terms that the task inferred from its actions lacks or goes beyond.

It stands alone because it compares two texts, where all else of a presentation comes from one evidence object.
"""

from __future__ import annotations

from collections.abc import Sequence

from console.environments.evidence import LIMITS, WORDS
from console.trajectory.terms import Term, TermKind, lowered, mentions, terms


def compare(stated: Sequence[Term], text: str) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """The terms that the text speaks of, and those that it does not, the telling ones first."""
    lower = lowered(text)
    once = {term.text.lower(): term for term in reversed(stated) if term.kind not in LIMITS}
    mentioned = {term: mentions(term, lower) for term in reversed(once.values())}
    order = sorted(mentioned, key=lambda term: term.kind in WORDS)
    return tuple(term for term in order if mentioned[term]), tuple(term for term in order if not mentioned[term])


def unbelieved(stated: Sequence[Term], belief: str) -> tuple[Term, ...]:
    """The terms that an inferred task lacks, and the price limits that a price in it does not keep."""
    prices = [float(term.value) for term in terms(belief) if term.kind in _PRICES]
    broken = [term for term in stated if any(_breaks(price, term) for price in prices)]
    return (*broken, *compare(stated, belief)[1])


_PRICES = frozenset({TermKind.PRICE, TermKind.PRICE_MAX})


def _breaks(price: float, limit: Term) -> bool:
    if limit.kind is TermKind.PRICE_MAX:
        return price > float(limit.value)
    return limit.kind is TermKind.PRICE_MIN and price < float(limit.value)
