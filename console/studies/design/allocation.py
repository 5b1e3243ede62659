"""The allocation of conditions, positions and tasks to participants, which a seed reproduces.

Condition orders and task blocks are squares (rows of integers from 0). `balance` counts how often an allocation
combines conditions, positions and tasks; `promise` states the guarantees of the design.

Tasks are distributed over blocks by properties that are known before any review, first by the outcome of trial 0: for
each outcome, the blocks differ by at most one task. Within an outcome, tasks with similar score and length go to
different blocks. Many distributions are sampled; the most balanced one is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations, product
from random import Random
from typing import Any

from console.errors import BadInput
from console.studies.design.model import Design, conditions
from console.trajectory import Outcome

Square = list[list[int]]


def williams_pair(n: int) -> tuple[Square, Square]:
    """Return two Latin squares in which each number follows each other number equally often (Williams, 1949)."""
    first = [(step + 1) // 2 if step % 2 else (n - step // 2) % n for step in range(n)]
    square = [[(number + row) % n for number in first] for row in range(n)]
    # For even n, one square is balanced by itself; for odd n, none is.
    return square, square if n % 2 == 0 else [row[::-1] for row in square]


def shifts(n: int) -> list[int]:
    """Return the rotation of each row's blocks; the rotations let each number meet each block once.

    For odd n, row + shift takes every residue once, so that blocks and positions form a Latin square too. For even n,
    no shifts achieve this: these shifts omit one residue and use n / 2 twice. A second square, rotated by n / 2,
    compensates for this repetition.
    """
    half = n // 2
    if n % 2:
        return list(range(n))
    return [*range(half), *range(half + 1, n), half] if n > 2 else [0, 1]


def blocks(numbers: Square, turn: int = 0) -> Square:
    """Return the block of tasks for each cell of a square of conditions; `turn` is 1 for a pair's second square."""
    n = len(numbers)
    extra = turn * (n // 2) if n % 2 == 0 else 0
    return [[(number + shift + extra) % n for number in row] for row, shift in zip(numbers, shifts(n), strict=True)]


@dataclass(frozen=True, slots=True)
class PlannedCondition:
    """One condition of one participant; numbers count from 1, `rule` holds a simulated reviewer's error rates."""

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
    """List the groups of participants, people first; omit empty groups."""
    people = design.participants
    noisy = [Group("noisy", one.count, one.model_dump(exclude={"count"})) for one in people.noisy]
    found = (Group("human", people.human, {}), Group("oracle", people.oracle, {}), *noisy)
    return tuple(group for group in (*found, Group("rules", people.rules, {})) if group.count)


def task_count(design: Design) -> int:
    """Return the number of tasks in the study: `tasks` once if all conditions share them, else per condition."""
    shared = design.same_tasks or design.comparison == "between"
    return design.tasks * (1 if shared else len(conditions(design)))


def sample_tasks(design: Design, keys: Sequence[str]) -> tuple[str, ...]:
    """Sample the study's tasks by seed, independent of the order of the keys; raise BadInput if there are too few."""
    known, wanted = sorted(set(keys)), task_count(design)
    if len(known) < wanted:
        raise BadInput(f"tasks: the design needs {wanted} tasks, but the source has {len(known)}. Ask for fewer tasks.")
    return tuple(Random(f"{design.seed} tasks").sample(known, wanted))


def allocate(design: Design, task_keys: Sequence[str]) -> tuple[PlannedCondition, ...]:
    """Return each participant's conditions in order, each with its tasks; raise BadInput on a wrong number of tasks."""
    if len(set(task_keys)) != len(task_keys) or len(task_keys) != task_count(design):
        raise BadInput(
            f"The design needs {task_count(design)} different tasks, not {len(set(task_keys))}. Give one key per task."
        )
    names = [condition.name for condition in conditions(design)]
    parts = [tuple(task_keys[at : at + design.tasks]) for at in range(0, len(task_keys), design.tasks)]
    total = sum(group.count for group in groups(design))
    order = "between" if design.comparison == "between" else design.order
    width, number, places = max(2, len(str(total))), 0, []
    for index, group in enumerate(groups(design)):
        rows = _ORDERS[order](len(names), Random(f"{design.seed} {index} {group.kind}"))
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


def plan_all(design: Design) -> tuple[PlannedCondition, ...]:
    """Return the allocation before tasks are sampled; `task 1`, `task 2` and so on are placeholders."""
    return allocate(design, [f"task {number}" for number in range(1, task_count(design) + 1)])


Row = list[tuple[int, int]]
"""A participant's pairs (condition, block of tasks) in order; numbers count from 0."""


def _latin_square(n: int, rng: Random) -> Iterator[Row]:
    while True:
        labels = rng.sample(range(n), n)
        for turn, square in enumerate(williams_pair(n)):
            rows = zip(square, blocks(square, turn), strict=True)
            cells = [[(labels[number], block) for number, block in zip(*row, strict=True)] for row in rows]
            yield from rng.sample(cells, n)


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
    """The frequency of each pair; a pair that never occurs has the count 0."""

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
    """Count condition x position, condition x tasks, position x tasks, and condition after condition."""
    names = sorted({place.condition for place in places})
    positions = [str(at) for at in sorted({place.position for place in places})]
    block_of = {tasks: f"tasks {number}" for number, tasks in enumerate(sorted({place.tasks for place in places}), 1)}
    blocks = list(block_of.values())
    at_position = [(place.condition, str(place.position)) for place in places]
    with_tasks = [(place.condition, block_of[place.tasks]) for place in places]
    when = [(str(place.position), block_of[place.tasks]) for place in places]
    ordered = sorted(places, key=lambda place: (place.number, place.position))
    followed = [(b.condition, a.condition) for a, b in pairwise(ordered) if a.number == b.number]
    return (
        _tally("condition at position", at_position, product(names, positions)),
        _tally("condition with tasks", with_tasks, product(names, blocks)),
        _tally("tasks at position", when, product(positions, blocks)),
        _tally("condition after condition", followed, permutations(names, 2)),
    )


def promise(design: Design) -> tuple[str, ...]:
    """Return sentences that describe the balance of the allocation within each group of participants."""
    n = len(conditions(design))
    if design.comparison == "between":
        return (
            f"Each participant has one condition, by permuted blocks of {n}: group sizes never differ by "
            "more than 1. All participants have the same tasks.",
        )
    if n == 1:
        return ("There is one condition; all participants have it on the same tasks.",)
    if design.same_tasks:
        shared: tuple[str, ...] = ("Each participant has every condition once, all on the same tasks.",)
    else:
        shared = (
            "Each participant has every condition once, each on tasks of its own.",
            f"In every {n} participants, each condition meets each block of tasks exactly once.",
        )
    if len(groups(design)) > 1:
        shared = (shared[0], "The balance holds within each kind of participants.", *shared[1:])
    said = _promise_of_order(design.order, n)
    if design.order == "fixed":
        said = (*said, f"The reason stated for the fixed order: {design.fixed_order_because.strip()}")
    return (*shared, *(one for one in said if not design.same_tasks or "block" not in one))


def _promise_of_order(order: str, n: int) -> tuple[str, ...]:
    if order == "fixed":
        return ("All participants have the conditions in the same order, so order and condition are confounded.",)
    if order == "random":
        return ("Each participant's order is random; positions are balanced on average only.",)
    alone, both = f"In every {n} participants", f"In every {2 * n} participants"
    carry = alone if n % 2 == 0 else both
    return (
        f"{alone}, each condition has each position exactly once (Latin square).",
        f"{carry}, each condition directly follows each other one equally often (Williams design).",
        f"{both if n % 2 == 0 else alone}, each block of tasks has each position equally often.",
        f"With an incomplete last set of {n} participants, positions and blocks of a condition differ by 1 at most.",
    )


def _tally(what: str, seen: Sequence[tuple[str, str]], possible: Iterable[tuple[str, str]]) -> PairCounts:
    counted = Counter(seen)
    return PairCounts(what, {pair: counted[pair] for pair in possible})


_DEALS = 50


@dataclass(frozen=True, slots=True)
class KnownTask:
    """The unreviewed trial 0 of a task, with its mean score over the detectors that use no model."""

    outcome: str
    score: float | None
    steps: int


Known = Mapping[str, KnownTask]
"""The known properties of tasks, by task key."""


def stratify(design: Design, task_keys: Sequence[str], known: Known) -> tuple[str, ...]:
    """Return the tasks in the order of their blocks, or in the given order if the properties of a task are unknown."""
    count = len(task_keys) // design.tasks
    if count < 2 or not known.keys() >= set(task_keys):
        return tuple(task_keys)
    rng = Random(f"{design.seed} blocks")
    deals = [_deal(task_keys, known, count, rng) for _ in range(_DEALS)]
    most_steps = max(one.steps for one in known.values()) or 1

    def unevenness(blocks: Sequence[Sequence[str]]) -> float:
        rows = [_row("", block, known) for block in blocks]
        return spread(rows, "score") + spread(rows, "steps") / most_steps

    best = min(deals, key=unevenness)
    return tuple(key for block in best for key in rng.sample(block, len(block)))


def _deal(task_keys: Sequence[str], known: Known, count: int, rng: Random) -> list[list[str]]:
    blocks: list[list[str]] = [[] for _ in range(count)]
    # A block that got an extra task of one outcome gets no extra task of the next until all blocks have one.
    turn, given = rng.sample(range(count), count), 0
    for outcome in sorted({known[key].outcome for key in task_keys}):
        stratum = [key for key in rng.sample(task_keys, len(task_keys)) if known[key].outcome == outcome]
        stratum.sort(key=lambda key: (known[key].score or 0.0, known[key].steps))
        for at in range(0, len(stratum), count):
            group = stratum[at : at + count]
            order = [turn[(given + place) % count] for place in range(len(group))]
            given += len(group)
            for key, block in zip(rng.sample(group, len(group)), order, strict=True):
                blocks[block].append(key)
    return blocks


def spread(rows: Sequence[Mapping[str, Any]], column: str) -> float:
    """Return the range of the column (largest minus smallest), or 0 if the column has no values."""
    values = [row[column] for row in rows if row[column] is not None]
    return max(values, default=0) - min(values, default=0)


def block_names(places: Sequence[PlannedCondition]) -> dict[tuple[str, ...], str]:
    """Return the blocks of tasks with their names."""
    return {tasks: f"block {number}" for number, tasks in enumerate(sorted({place.tasks for place in places}), 1)}


def block_rows(places: Sequence[PlannedCondition], known: Known) -> list[dict[str, Any]]:
    """Return the size, tasks solved at trial 0, mean score and mean steps of each block, or no rows if unknown."""
    blocks = block_names(places)
    if not known.keys() >= {key for tasks in blocks for key in tasks}:
        return []
    return [_row(name, tasks, known) for tasks, name in blocks.items()]


def _row(name: str, tasks: Sequence[str], known: Known) -> dict[str, Any]:
    found = [known[key] for key in tasks]
    scores = [one.score for one in found if one.score is not None]
    return {
        "block": name,
        "tasks": len(found),
        "solved": sum(one.outcome == Outcome.SUCCEEDED for one in found),
        "score": sum(scores) / len(scores) if scores else None,
        "steps": sum(one.steps for one in found) / len(found),
    }


def describe_blocks(places: Sequence[PlannedCondition], known: Known) -> tuple[str, ...]:
    """Describe how the blocks of tasks differ before any review; return no sentence for a single block."""
    if len(block_names(places)) < 2:
        return ()
    rows = block_rows(places, known)
    if not rows:
        return ("No outcome of the tasks is known in advance, so their blocks are random.",)
    apart = round(spread(rows, "solved"))
    solved = f"differ by at most {apart} in tasks solved" if apart else "have the same number of tasks solved"
    return (
        f"Before any review, blocks of tasks {solved} at trial 0. Their mean scores by the detectors without "
        f"a model differ by at most {spread(rows, 'score'):.3f}, their mean lengths by at most "
        f"{spread(rows, 'steps'):.2f} steps.",
    )
