"""Answer scoring: how an answer is compared with the gold one (SQuAD's normalisation, HotPotQA's F1).

It stands apart from the world, since these are the formulas of others, each to be checked against its source.
"""

from __future__ import annotations

import re
import string
from collections import Counter

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_CLOSED = frozenset({"yes", "no", "noanswer"})


def normalise(answer: str) -> str:
    """The answer in lower case, without ASCII punctuation, articles and surplus blanks."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, gold: str) -> bool:
    """Whether both answers are the same once normalised (exact match, EM)."""
    return normalise(answer) == normalise(gold)


def lenient_match(answer: str, gold: str) -> bool:
    """Whether one normalised answer contains the other, as InferAct's code counts success; an empty one never does."""
    given, wanted = normalise(answer), normalise(gold)
    return bool(given and wanted) and (given in wanted or wanted in given)


def f1(answer: str, gold: str) -> float:
    """The F1 score, the overlap of words, 0 to 1; yes, no and noanswer count only as a whole."""
    given, wanted = normalise(answer), normalise(gold)
    if given != wanted and (given in _CLOSED or wanted in _CLOSED):
        return 0.0
    given_words, wanted_words = given.split(), wanted.split()
    shared = sum((Counter(given_words) & Counter(wanted_words)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(given_words), shared / len(wanted_words)
    return 2 * precision * recall / (precision + recall)
