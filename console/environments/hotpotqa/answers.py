"""Answer scoring against the gold answer (SQuAD's normalisation, HotPotQA's F1).

A separate module, so that each published formula can be checked against its source.
"""

from __future__ import annotations

import re
import string
from collections import Counter

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_CLOSED = frozenset({"yes", "no", "noanswer"})


def normalise(answer: str) -> str:
    """Return the answer in lower case, without ASCII punctuation, articles and extra blanks."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, gold: str) -> bool:
    """Return whether both answers are equal after normalisation (exact match, EM)."""
    return normalise(answer) == normalise(gold)


def lenient_match(answer: str, gold: str) -> bool:
    """Return whether one normalised answer contains the other, as in InferAct's code; False if either is empty."""
    given, wanted = normalise(answer), normalise(gold)
    return bool(given and wanted) and (given in wanted or wanted in given)


def f1(answer: str, gold: str) -> float:
    """Return the F1 score of shared words, 0 to 1; `yes`, `no` and `noanswer` must match exactly."""
    given, wanted = normalise(answer), normalise(gold)
    if given != wanted and (given in _CLOSED or wanted in _CLOSED):
        return 0.0
    given_words, wanted_words = given.split(), wanted.split()
    shared = sum((Counter(given_words) & Counter(wanted_words)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(given_words), shared / len(wanted_words)
    return 2 * precision * recall / (precision + recall)
