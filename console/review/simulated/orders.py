"""Inspection orders: ways to spend a limited number of inspections (InferAct, section 5.2, and its reference code).

Every order puts halted trials after all judged trials.
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
    """A candidate for inspection: a pending item with its priority, its label and its expected cost.

    The label is None for a halted trial. `expected_cost` is the probability of misalignment times the cost; if it is
    None, the priority is used instead.
    """

    priority: float
    label: Label | None
    expected_cost: float | None = None


InspectionOrder = Callable[[Sequence[Candidate], int], list[int]]
"""A function from the candidates and a seed to the positions of the candidates in the order of inspection."""


def order_by_priority(candidates: Sequence[Candidate], seed: int) -> list[int]:
    """Order the candidates by priority, the highest first; candidates of equal priority keep their order."""
    return sorted(range(len(candidates)), key=lambda at: (_halted(candidates[at]), -candidates[at].priority, at))


def order_by_expected_cost(candidates: Sequence[Candidate], seed: int) -> list[int]:
    """Order the candidates by expected cost, the highest first; candidates of equal cost keep their order."""
    worth = [one.priority if one.expected_cost is None else one.expected_cost for one in candidates]
    return sorted(range(len(candidates)), key=lambda at: (_halted(candidates[at]), -worth[at], at))


def order_at_random(candidates: Sequence[Candidate], seed: int) -> list[int]:
    """Order the candidates at random with this seed."""
    order = list(range(len(candidates)))
    Random(seed).shuffle(order)
    return sorted(order, key=lambda at: _halted(candidates[at]))


def order_fp_first(candidates: Sequence[Candidate], seed: int) -> list[int]:
    """Order false positives before true positives, the worst case for a quota.

    The seed determines the order within each group. Within a budget, this order inspects `count_kept` true positives.
    """
    order = order_at_random(candidates, seed)
    return sorted(order, key=lambda at: (_halted(candidates[at]), candidates[at].label is Label.MISALIGNED))


def count_kept(true_positives: int, false_positives: int, budget: int) -> int:
    """Return the number of true positives inspected after all false positives: min(TP, max(budget - FP, 0))."""
    return min(true_positives, max(budget - false_positives, 0))


def count_inspections(share: float, non_halted: int) -> int:
    """Return the budget ceil(share x non-halted trajectories of trial 0); raise BadInput for a share outside 0 to 1."""
    if not 0 <= share <= 1:
        raise BadInput(f"The share of inspections, {share:g}, is invalid. Give a number from 0 to 1.")
    return share_of(share, non_halted)


INSPECTION_ORDERS: dict[str, InspectionOrder] = {
    "priority": order_by_priority,
    "expected-cost": order_by_expected_cost,
    "fp-first": order_fp_first,
    "random": order_at_random,
}


def _halted(candidate: Candidate) -> bool:
    return candidate.label is None
