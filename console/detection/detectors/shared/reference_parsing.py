"""Reply parsing as in the InferAct reference code, including its harmless faults, for paper mode.

None means that the reference code could not parse the reply; each detector treats None as the reference code does.
"""

from __future__ import annotations

import math
import re

from console.detection.detectors.shared.reply_parsing import ReplyForm
from console.llm import Reply

_STEP = re.compile(r"Step \d+: ([\d.]+)")
_LABELLED = re.compile(r"\w+: ([^\n]+)")
_BY_PLACE, _LABELS_THERE = "alfworld", 3
EVEN = 0.5


def read_verdict(text: str, form: ReplyForm, environment: str) -> str | None:
    """Return the text between the labels of verdict and reason, or in ALFWorld the second of three labelled texts."""
    if environment == _BY_PLACE:
        found = _LABELLED.findall(text)
        return found[1].strip() if len(found) >= _LABELS_THERE else None
    told = text.split(f"{form.verdict}:")
    parts = told[1].split(f"{form.reason}:") if len(told) > 1 else []
    return parts[0].strip() if len(parts) > 1 else None


def is_misaligned(text: str, form: ReplyForm, environment: str) -> bool | None:
    """Return whether the verdict contains a word for misaligned, or None if the verdict is missing."""
    told = read_verdict(text, form, environment)
    return None if told is None else any(word in told for word in form.misaligned)


def says_false(text: str) -> bool:
    """Return whether a reply to a true-or-false question contains "B."."""
    return "B." in text


def read_misaligned_share(reply: Reply) -> float | None:
    """Return P(B) from the last token equal to the first A or B, as in the reference code; None without tokens."""
    tokens = reply.token_logprobs[0]
    if not tokens:
        return None
    known = {token.text: math.exp(token.logprob) for token in tokens}
    first = _first(reply)
    if not first:
        return EVEN
    return known[first] if first.strip() == "B" else 1.0 - known[first]


def read_letter(reply: Reply) -> str:
    """Return the answer letter without regard to its probability, or "" if there is none."""
    return _first(reply).strip()


def _first(reply: Reply) -> str:
    tokens = reply.token_logprobs[0] or ()
    return next((token.text for token in tokens if token.text.strip() in ("A", "B")), "")


def read_steps(text: str, form: ReplyForm) -> tuple[float, ...] | None:
    """Return the probabilities in `Step N: number` before the justification, or None if one is missing or malformed."""
    try:
        found = tuple(float(value) for value in _STEP.findall(text.split(f"{form.justification}:")[0]))
    except ValueError:
        return None
    return found or None


def read_task(text: str, form: ReplyForm) -> str:
    """Return the first line of the task between the lead phrase and the reason's label, or "" if either is missing."""
    before, found, _ = text.partition(f"{form.reason}:")
    told = before.split(f"{form.task}:") if found else []
    return told[1].strip().split("\n")[0] if len(told) > 1 else ""


def compute_entropy(share: float) -> float:
    """Return the entropy of P(B) in bits; as in the reference code, 1 if P(B) is 0 or 1."""
    if share in (0.0, 1.0):
        return 1.0
    return sum(-p * math.log2(p) for p in (share, 1.0 - share))
