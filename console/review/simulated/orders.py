"""Inspection orders: how a limited number of inspections is spent (InferAct, section 5.2, and its reference code).

Every order puts halted trials after all judged ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from console.errors import BadInput
from console.runs import share_of
from console.trajectory import Label


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate for inspection: an item that waits, its priority, its label, and what its error may cost.

    The label is None for a halted trial. `expected_cost` is the probability of misalignment times the cost; None
    stands for the priority.
    """

    priority: float
    label: Label | None
    expected_cost: float | None = None


InspectionOrder = Callable[[Sequence[Candidate], int], list[int]]
"""From the candidates and a seed to their positions in the order of inspection."""


def by_priority(candidates: Sequence[Candidate], seed: int) -> list[int]:
    """The order by priority: the highest first, equals as they came."""
    return sorted(range(len(candidates)), key=lambda at: (_halted(candidates[at]), -candidates[at].priority, at))


def by_expected_cost(candidates: Sequence[Candidate], seed: int) -> list[int]:
    """The order by expected cost: the highest first, equals as they came."""
    worth = [one.priority if one.expected_cost is None else one.expected_cost for one in candidates]
    return sorted(range(len(candidates)), key=lambda at: (_halted(candidates[at]), -worth[at], at))


def at_random(candidates: Sequence[Candidate], seed: int) -> list[int]:
    """An order that the seed draws."""
    order = list(range(len(candidates)))
    Random(seed).shuffle(order)
    return sorted(order, key=lambda at: _halted(candidates[at]))


def fp_first(candidates: Sequence[Candidate], seed: int) -> list[int]:
    """False positives before true ones, as if every inspection before a true one had been in vain; seeded among equals.

    Within a budget that leaves `kept` true positives inspected.
    """
    order = at_random(candidates, seed)
    return sorted(order, key=lambda at: (_halted(candidates[at]), candidates[at].label is Label.MISALIGNED))


def kept(true_positives: int, false_positives: int, budget: int) -> int:
    """The true positives that are inspected when false ones come first: min(TP, max(budget - FP, 0))."""
    return min(true_positives, max(budget - false_positives, 0))


def inspections(share: float, non_halted: int) -> int:
    """The budget ceil(share x non-halted trajectories of trial 0); raises BadInput for a share outside 0 to 1."""
    if not 0 <= share <= 1:
        raise BadInput(f"A share of inspections lies between 0 and 1, not {share:g}.")
    return share_of(share, non_halted)


INSPECTION_ORDERS: dict[str, InspectionOrder] = {
    "priority": by_priority,
    "expected-cost": by_expected_cost,
    "fp-first": fp_first,
    "random": at_random,
}


def _halted(candidate: Candidate) -> bool:
    return candidate.label is None
