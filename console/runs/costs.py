"""What a wrong action costs, as the user states it: items rank by P(misaligned) times that.

A run keeps the costs among its options. An action that no pattern matches costs 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from console.errors import BadInput
from console.runs.options import Costs
from console.trajectory.checkpoints import Checkpoint, is_critical

PRICE = "price"
_SEEN_PRICE = re.compile(r"\bprice\b\W{0,4}\$?\s*(\d[\d,]*(?:\.\d+)?)", re.IGNORECASE)
_USUAL = 1.0


def parse(stated: Sequence[str]) -> dict[str, float | str]:
    """Costs by pattern from texts of the form PATTERN=AMOUNT or PATTERN=price; raises BadInput for any other."""
    return dict(map(_entry, stated))


def _entry(text: str) -> tuple[str, float | str]:
    pattern, _, amount = (part.strip() for part in text.rpartition("="))
    if pattern and amount.lower() == PRICE:
        return pattern, PRICE
    try:
        value = float(amount)
    except ValueError:
        value = math.nan
    if not pattern or not (math.isfinite(value) and value >= 0):
        raise BadInput(f"{text!r} states no cost; write PATTERN=AMOUNT, as in refund_*=50, or click[Buy Now]=price.")
    return pattern, value


def cost(costs: Costs, checkpoint: Checkpoint) -> float:
    """What the action costs if it is wrong; of several patterns that match the dearest counts."""
    found = [
        _amount(stated, checkpoint) for pattern, stated in costs.items() if is_critical(checkpoint.action, [pattern])
    ]
    return max(found, default=_USUAL)


def priority(costs: Costs, checkpoint: Checkpoint, score: float, probability: float | None) -> float:
    """The expected cost of letting the action run; without stated costs the score alone."""
    if not costs:
        return score
    return (score if probability is None else probability) * cost(costs, checkpoint)


def _amount(stated: float | str, checkpoint: Checkpoint) -> float:
    if not isinstance(stated, str):
        return float(stated)
    for step in reversed(checkpoint.steps):
        if seen := _SEEN_PRICE.findall(step.observation):
            return float(seen[-1].replace(",", ""))
    return _USUAL
