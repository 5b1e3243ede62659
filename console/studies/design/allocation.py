"""The allocation: who gets which condition, at which position, on which tasks; the same seed, the same allocation.

Orders of conditions and blocks of tasks are squares, rows of numbers from 0. What an allocation balances is counted
from its table alone, and beside it stands what its design promises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations, product
from random import Random

from console.errors import BadInput
from console.studies.design.model import Design, conditions

Square = list[list[int]]


def williams(n: int) -> Square:
    """A Latin square; for even n every number follows every other one exactly once (Williams, 1949)."""
    first = [(step + 1) // 2 if step % 2 else (n - step // 2) % n for step in range(n)]
    return [[(number + row) % n for number in first] for row in range(n)]


def williams_pair(n: int) -> tuple[Square, Square]:
    """Two Latin squares that together have every number follow every other one equally often, whatever n is.

    For odd n the second mirrors the first, as one alone cannot be balanced so; for even n each of them is.
    """
    square = williams(n)
    return square, square if n % 2 == 0 else [row[::-1] for row in square]


def shifts(n: int) -> list[int]:
    """By how much row r's blocks are turned against its numbers: each shift once, so that each number meets each block.

    Row + shift runs through all residues for odd n, which makes blocks and positions a Latin square as well. No
    shifts can do that for even n; these leave out one residue, have the one half way round twice, and so even out
    with a second square that is turned by n / 2.
    """
    half = n // 2
    if n % 2:
        return list(range(n))
    return [*range(half), *range(half + 1, n), half] if n > 2 else [0, 1]


def blocks(numbers: Square, turn: int = 0) -> Square:
    """The block of tasks in each cell of a square of conditions; `turn` is 1 for the second square of a pair."""
    n = len(numbers)
    extra = turn * (n // 2) if n % 2 == 0 else 0
    return [[(number + shift + extra) % n for number in row] for row, shift in zip(numbers, shifts(n), strict=True)]


@dataclass(frozen=True, slots=True)
class PlannedCondition:
    """One condition of one participant; numbers and positions count from 1, `rule` says how a simulated one errs."""

    number: int
    code: str
    kind: str
    rule: Mapping[str, float]
    position: int
    condition: str
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Participants of one kind; the allocation is balanced within each group."""

    kind: str
    count: int
    rule: Mapping[str, float]


def groups(design: Design) -> tuple[Group, ...]:
    """The groups of participants, people first; empty ones are left out."""
    people = design.participants
    noisy = [Group("noisy", one.count, one.model_dump(exclude={"count"})) for one in people.noisy]
    found = (Group("human", people.human, {}), Group("oracle", people.oracle, {}), *noisy)
    return tuple(group for group in (*found, Group("rules", people.rules, {})) if group.count)


def task_count(design: Design) -> int:
    """How many tasks the study needs: `tasks` for each condition, or once where all conditions have the same ones."""
    return design.tasks * (1 if _shared_tasks(design) else len(conditions(design)))


def _shared_tasks(design: Design) -> bool:
    return design.same_tasks or design.comparison == "between"


def sample_tasks(design: Design, keys: Sequence[str]) -> tuple[str, ...]:
    """The study's tasks in a seeded order, the same for any order of keys; raises BadInput where there are too few."""
    known, wanted = sorted(set(keys)), task_count(design)
    if len(known) < wanted:
        raise BadInput(f"tasks: the design needs {wanted} tasks, the source has {len(known)}; ask for fewer tasks.")
    return tuple(Random(f"{design.seed} tasks").sample(known, wanted))


def allocate(design: Design, task_keys: Sequence[str]) -> tuple[PlannedCondition, ...]:
    """Every participant's conditions in their order with their tasks, out of the sampled tasks.

    Raises BadInput unless there are exactly as many different tasks as the design needs.
    """
    if len(set(task_keys)) != len(task_keys) or len(task_keys) != task_count(design):
        raise BadInput(f"The design needs {task_count(design)} different tasks, not {len(set(task_keys))}.")
    names = [condition.name for condition in conditions(design)]
    parts = [tuple(task_keys[at : at + design.tasks]) for at in range(0, len(task_keys), design.tasks)]
    total = sum(group.count for group in groups(design))
    width, number, places = max(2, len(str(total))), 0, []
    for index, group in enumerate(groups(design)):
        rows = _ORDERS[_scheme(design)](len(names), Random(f"{design.seed} {index} {group.kind}"))
        for _, row in zip(range(group.count), rows, strict=False):
            number += 1
            code = f"P{number:0{width}d}"
            places += [
                PlannedCondition(
                    number, code, group.kind, group.rule, position, names[condition], parts[block % len(parts)]
                )
                for position, (condition, block) in enumerate(row, 1)
            ]
    return tuple(places)


def planned(design: Design) -> tuple[PlannedCondition, ...]:
    """The allocation before tasks are sampled: in their place stand `task 1` and so on."""
    return allocate(design, [f"task {number}" for number in range(1, task_count(design) + 1)])


Row = list[tuple[int, int]]
"""A participant's (condition, block of tasks) in their order, numbers from 0."""


def _scheme(design: Design) -> str:
    return "between" if design.comparison == "between" else design.order


def _latin_square(n: int, rng: Random) -> Iterator[Row]:
    while True:
        labels = rng.sample(range(n), n)
        for turn, square in enumerate(williams_pair(n)):
            rows = _cells(square, blocks(square, turn), labels)
            yield from rng.sample(rows, n)


def _cells(square: Square, turned: Square, labels: Sequence[int]) -> list[Row]:
    return [
        [(labels[number], block) for number, block in zip(row, row_blocks, strict=True)]
        for row, row_blocks in zip(square, turned, strict=True)
    ]


def _random(n: int, rng: Random) -> Iterator[Row]:
    for row in _fixed(n, rng):
        yield rng.sample(row, n)


def _fixed(n: int, rng: Random) -> Iterator[Row]:
    while True:
        for shift in rng.sample(range(n), n):
            yield [(condition, (condition + shift) % n) for condition in range(n)]


def _between(n: int, rng: Random) -> Iterator[Row]:
    while True:
        for condition in rng.sample(range(n), n):
            yield [(condition, 0)]


_ORDERS = {"latin-square": _latin_square, "random": _random, "fixed": _fixed, "between": _between}


@dataclass(frozen=True, slots=True)
class PairCounts:
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


def balance(places: Sequence[PlannedCondition]) -> tuple[PairCounts, ...]:
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
    if design.same_tasks:
        shared: tuple[str, ...] = ("Each participant has every condition once, all on the same tasks.",)
    else:
        shared = (
            "Each participant has every condition once, each on tasks of its own.",
            f"In every {n} participants, each condition meets each block of tasks exactly once.",
        )
    said = _promise_of_order(design.order, n)
    return (*shared, *(one for one in said if not design.same_tasks or "block" not in one))


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


def _blocks(places: Sequence[PlannedCondition]) -> dict[tuple[str, ...], str]:
    found = sorted({place.tasks for place in places})
    return {tasks: f"tasks {number}" for number, tasks in enumerate(found, 1)}


def _followed(places: Sequence[PlannedCondition]) -> list[tuple[str, str]]:
    ordered = sorted(places, key=lambda place: (place.number, place.position))
    return [(b.condition, a.condition) for a, b in pairwise(ordered) if a.number == b.number]


def _tally(what: str, seen: Sequence[tuple[str, str]], possible: Iterable[tuple[str, str]]) -> PairCounts:
    counted = Counter(seen)
    return PairCounts(what, {pair: counted[pair] for pair in possible})
