"""Parsing as the InferAct reference code does it, faults that are no crash included: what paper mode reads replies by.

None stands for the reference's own "could not be parsed"; what follows from that differs by detector, as there.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from console.detection.detectors.shared.reply_form import ReplyForm
from console.llm import Reply

_STEP = re.compile(r"Step \d+: ([\d.]+)")
_LABELLED = re.compile(r"\w+: ([^\n]+)")
_BY_PLACE, _LABELS_THERE = "alfworld", 3
EVEN = 0.5


def verdict(text: str, form: ReplyForm, environment: str) -> str | None:
    """The words of the verdict: between its label and the reason's, in ALFWorld the second of three labelled texts."""
    if environment == _BY_PLACE:
        found = _LABELLED.findall(text)
        return found[1].strip() if len(found) >= _LABELS_THERE else None
    told = text.split(f"{form.verdict}:")
    parts = told[1].split(f"{form.reason}:") if len(told) > 1 else []
    return parts[0].strip() if len(parts) > 1 else None


def misaligned(text: str, form: ReplyForm, environment: str) -> bool | None:
    """Whether the verdict holds the word for misaligned."""
    told = verdict(text, form, environment)
    return None if told is None else any(word in told for word in form.misaligned)


def says_false(text: str) -> bool:
    """Whether a reply to a true-or-false question says false: "B." stands anywhere in it."""
    return "B." in text


def misaligned_share(reply: Reply) -> float | None:
    """P(B): at the first token that is A or B its probability, or 1 less that; even without one, None without tokens.

    Of a token that occurs again the last probability counts, since the reference keeps them by their text.
    """
    tokens = reply.token_logprobs[0]
    if not tokens:
        return None
    known = {token.text: math.exp(token.logprob) for token in tokens}
    first = _first(reply)
    if not first:
        return EVEN
    return known[first] if first.strip() == "B" else 1.0 - known[first]


def letter(reply: Reply) -> str:
    """The letter that answers, whatever its probability; empty without one."""
    return _first(reply).strip()


def _first(reply: Reply) -> str:
    tokens = reply.token_logprobs[0] or ()
    return next((token.text for token in tokens if token.text.strip() in ("A", "B")), "")


def steps(text: str, form: ReplyForm) -> tuple[float, ...] | None:
    """The probabilities of `Step N: number` before the justification; None without any, or where one is no number."""
    try:
        found = tuple(float(value) for value in _STEP.findall(text.split(f"{form.justification}:")[0]))
    except ValueError:
        return None
    return found or None


def task(text: str, form: ReplyForm) -> str:
    """The inferred task: behind the lead phrase, before the reason's label, its first line; empty where one lacks."""
    before, found, _ = text.partition(f"{form.reason}:")
    told = before.split(f"{form.task}:") if found else []
    return told[1].strip().split("\n")[0] if len(told) > 1 else ""


def entropy(share: float) -> float:
    """The entropy of P(B) in bits; 1 for a sure answer, whose logarithm is no number there."""
    if share in (0.0, 1.0):
        return 1.0
    return sum(-p * math.log2(p) for p in (share, 1.0 - share))


def majority(votes: Sequence[str | None]) -> str | None:
    """The commonest of five verdicts, letter by letter; one that cannot be parsed voids them all."""
    told = [vote for vote in votes if vote is not None]
    return Counter(told).most_common(1)[0][0] if told and len(told) == len(votes) else None
