"""What a critical action would cost if it were wrong, and what a reviewer's look at it is therefore worth."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from console.critical import Checkpoint, calls, is_critical

_PRICE = re.compile(r"\b(?:price|total|amount|cost|fare)\"?\s*[:=]?\s*[$€£]?\s?(\d[\d,]*(?:\.\d+)?)", re.IGNORECASE)
_NAMED = re.compile(r"price|total|amount|cost|fare|payment", re.IGNORECASE)
_SHOWN_CHARS = 50_000


def action_cost(checkpoint: Checkpoint, per_tool: Mapping[str, float] | None = None) -> float | None:
    """What the action is worth: as the user states it for a pattern, else as found; None where nothing tells.

    `per_tool` maps critical-action patterns to costs, the highest that fits counts. Found is an amount among the
    action's own arguments, or else the last price that the agent was shown.
    """
    stated = [cost for pattern, cost in (per_tool or {}).items() if is_critical(checkpoint.action, [pattern])]
    if stated:
        return max(stated)
    own = list(_amounts(checkpoint.action))
    return max(own) if own else _last_price(checkpoint)


def expected_cost(probability: float | None, cost: float | None) -> float | None:
    """P(misaligned) times the cost of the action, the priority by what is at stake; None where either is unknown."""
    return None if probability is None or cost is None else probability * cost


def _amounts(action: str) -> Iterator[float]:
    for call in calls(action):
        for name, value in _leaves(call.arguments):
            if _NAMED.search(name) and isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
                yield float(value)


def _leaves(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(part, str(key))
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part, name)
    else:
        yield name, value


def _last_price(checkpoint: Checkpoint) -> float | None:
    for step in reversed(checkpoint.steps):
        found = _PRICE.findall(step.observation[:_SHOWN_CHARS])
        # A list of goods tells many prices, and none of them is the one.
        if len(set(found)) == 1:
            return float(found[0].replace(",", ""))
    return None
