"""Similarity of two short texts, word by word: the measure that the reward uses (WebShop, appendix on rewards).

It stands apart from the reward as an algorithm of its own, known as the token set ratio.
"""

from __future__ import annotations

import re
from functools import lru_cache

_NOT_A_WORD = re.compile(r"[^a-z0-9]+")


@lru_cache(maxsize=65536)
def token_set_ratio(one: str, other: str) -> int:
    """The similarity, 0 to 100: the best likeness among the common words and the common words with each side's rest.

    Case, order and repetition of words do not matter; a text whose words are all in the other one gives 100.
    """
    left, right = _words(one), _words(other)
    if not left or not right:
        return 0
    common = left & right
    if common and (left <= right or right <= left):
        return 100
    shared = " ".join(sorted(common))
    with_left = f"{shared} {' '.join(sorted(left - right))}".strip()
    with_right = f"{shared} {' '.join(sorted(right - left))}".strip()
    pairs = [(with_left, with_right)]
    if shared:
        pairs += [(shared, with_left), (shared, with_right)]
    return round(max(100 * ratio(a, b) for a, b in pairs))


def ratio(one: str, other: str) -> float:
    """The ratio of likeness: twice the longest common subsequence over both lengths: 0 to 1."""
    length = len(one) + len(other)
    return 2 * common_subsequence(one, other) / length if length else 1.0


def common_subsequence(one: str, other: str) -> int:
    """The length of the longest common subsequence, all of a row at once in the bits of one number."""
    places: dict[str, int] = {}
    for index, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << index
    full = (1 << len(one)) - 1
    row = full
    for letter in other:
        met = row & places.get(letter, 0)
        row = (row + met | row - met) & full
    return len(one) - row.bit_count()


def _words(text: str) -> set[str]:
    return set(_NOT_A_WORD.sub(" ", text.lower()).split())
