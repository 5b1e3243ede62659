"""The costs of wrong actions, as stated by the user. The queue ranks items by P(misaligned) times cost.

The run's options store the costs. An action without a matching pattern has the cost 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from console.errors import BadInput
from console.runs import Costs
from console.trajectory.checkpoints import Checkpoint, is_critical

PRICE = "price"
_SEEN_PRICE = re.compile(r"\bprice\b\W{0,4}\$?\s*(\d[\d,]*(?:\.\d+)?)", re.IGNORECASE)
_USUAL = 1.0


def parse(stated: Sequence[str]) -> dict[str, float | str]:
    """Parse strings of the form PATTERN=AMOUNT or PATTERN=price into costs by pattern; raise BadInput if a string has
    another form.
    """
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
        raise BadInput(
            f"{text!r} is not a valid cost. Write PATTERN=AMOUNT, as in refund_*=50, or click[Buy Now]=price."
        )
    return pattern, value


def cost(costs: Costs, checkpoint: Checkpoint) -> float:
    """Return the cost of a wrong action; if several patterns match, return the highest cost."""
    found = [
        _amount(stated, checkpoint) for pattern, stated in costs.items() if is_critical(checkpoint.action, [pattern])
    ]
    return max(found, default=_USUAL)


def priority(costs: Costs, checkpoint: Checkpoint, score: float, probability: float | None) -> float:
    """Return the expected cost of running the action, or the score if the user stated no costs."""
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
