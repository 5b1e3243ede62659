"""What an allocation balances, counted from its table alone, and what its design promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations, product

from console.designs.allocation import Place
from console.designs.design import Design, conditions


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each pair occurs; pairs that never do are counted as 0."""

    what: str
    counts: Mapping[tuple[str, str], int]

    @property
    def least(self) -> int:
        """The smallest count."""
        return min(self.counts.values(), default=0)

    @property
    def most(self) -> int:
        """The largest count."""
        return max(self.counts.values(), default=0)

    @property
    def even(self) -> bool:
        """Whether every pair occurs equally often."""
        return self.least == self.most


def balance(places: Sequence[Place]) -> tuple[Tally, ...]:
    """Counts of condition x position, condition x tasks, position x tasks, and condition after condition.

    Pass the places of one kind of participant to see how they are balanced among themselves.
    """
    names = sorted({place.condition for place in places})
    positions = [str(at) for at in sorted({place.position for place in places})]
    block_of = _blocks(places)
    blocks = list(dict.fromkeys(block_of.values()))
    at_position = [(place.condition, str(place.position)) for place in places]
    with_tasks = [(place.condition, block_of[place.tasks]) for place in places]
    when = [(str(place.position), block_of[place.tasks]) for place in places]
    return (
        _tally("condition at position", at_position, product(names, positions)),
        _tally("condition with tasks", with_tasks, product(names, blocks)),
        _tally("tasks at position", when, product(positions, blocks)),
        _tally("condition after condition", _followed(places), permutations(names, 2)),
    )


def promise(design: Design) -> tuple[str, ...]:
    """Sentences that say exactly what is balanced in each group of participants of one kind."""
    n = len(conditions(design))
    if design.comparison == "between":
        return (
            f"Each participant has one condition, by permuted blocks of {n}: the sizes of the groups never differ by "
            "more than 1. All participants have the same tasks.",
        )
    if n == 1:
        return ("There is one condition, and each participant has it on the same tasks.",)
    shared = (
        "Each participant has every condition once, each on tasks of its own.",
        f"In every {n} participants, each condition meets each block of tasks exactly once.",
    )
    return (*shared, *_promise_of_order(design.order, n))


def _promise_of_order(order: str, n: int) -> tuple[str, ...]:
    if order == "fixed":
        return ("Every participant has the conditions in the same order: order and condition cannot be told apart.",)
    if order == "random":
        return ("Each participant's order is drawn: positions are balanced on average only.",)
    alone, both = f"In every {n} participants", f"In every {2 * n} participants"
    carry = alone if n % 2 == 0 else both
    return (
        f"{alone}, each condition stands at each position exactly once (Latin square).",
        f"{carry}, each condition directly follows each other one equally often (Williams design).",
        f"{both if n % 2 == 0 else alone}, each block of tasks stands at each position equally often.",
        f"A last set of fewer than {n} participants leaves the positions and the blocks of a condition uneven by 1 at "
        "most.",
    )


def _blocks(places: Sequence[Place]) -> dict[tuple[str, ...], str]:
    found = sorted({place.tasks for place in places})
    return {tasks: f"tasks {number}" for number, tasks in enumerate(found, 1)}


def _followed(places: Sequence[Place]) -> list[tuple[str, str]]:
    ordered = sorted(places, key=lambda place: (place.number, place.position))
    return [(b.condition, a.condition) for a, b in pairwise(ordered) if a.number == b.number]


def _tally(what: str, seen: Sequence[tuple[str, str]], possible: Iterable[tuple[str, str]]) -> Tally:
    counted = Counter(seen)
    return Tally(what, {pair: counted[pair] for pair in possible})
