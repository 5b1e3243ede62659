"""Parsing as the InferAct reference code does it, faults that are no crash included: what paper mode reads replies by.

None stands for the reference's own "could not be parsed"; what follows from that differs by detector, as there.
"""

from __future__ import annotations

import math
import re

from console.detection.detectors.shared.reply_form import ReplyForm
from console.llm import Reply

_STEP = re.compile(r"Step \d+: ([\d.]+)")
_LABELLED_LINE = re.compile(r"^[^:\n]*: ?(.*)$", re.MULTILINE)
_BY_PLACE = "alfworld"
EVEN = 0.5


def misaligned(text: str, form: ReplyForm, environment: str) -> bool | None:
    """Whether the verdict holds the word for misaligned: behind its label, in ALFWorld on the second labelled line."""
    if environment == _BY_PLACE:
        lines = _LABELLED_LINE.findall(text)
        told = lines[1] if len(lines) > 1 else None
    else:
        _, found, rest = text.partition(f"{form.verdict}:")
        told = rest.split(f"{form.reason}:")[0] if found else None
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
    first = next((token for token in tokens if token.text.strip() in ("A", "B")), None)
    if first is None:
        return EVEN
    share = known[first.text]
    return share if first.text.strip() == "B" else 1.0 - share


def steps(text: str) -> tuple[float, ...] | None:
    """The probabilities of `Step N: number`, as many as there are; None without any, or where one is no number."""
    try:
        found = tuple(float(value) for value in _STEP.findall(text))
    except ValueError:
        return None
    return found or None


def task(text: str, form: ReplyForm) -> str:
    """The inferred task: before the reason's label, behind the lead phrase, its first line alone."""
    before = text.split(f"{form.reason}:")[0]
    lead, found, behind = before.partition(f"{form.task}:")
    lines = (behind if found else lead).strip().splitlines()
    return lines[0].strip() if lines else ""


def entropy(share: float) -> float:
    """The entropy of P(B) in bits; 1 for a sure answer, whose logarithm is no number there."""
    if share in (0.0, 1.0):
        return 1.0
    return sum(-p * math.log2(p) for p in (share, 1.0 - share))


def majority(votes: list[bool | None]) -> bool | None:
    """The commonest of five verdicts; one that cannot be parsed voids them all."""
    if None in votes:
        return None
    return sum(map(bool, votes)) * 2 > len(votes)
