"""Who gets which condition, at which position, on which tasks: the same seed, the same allocation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from console.designs.design import Design, conditions
from console.designs.squares import Square, blocks, williams_pair
from console.errors import BadInput


@dataclass(frozen=True, slots=True)
class Place:
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
    """How many tasks the study needs: `tasks` for each condition; between participants, everybody has the same ones."""
    return design.tasks * (len(conditions(design)) if design.comparison == "within" else 1)


def sample_tasks(design: Design, keys: Sequence[str]) -> tuple[str, ...]:
    """The study's tasks in a seeded order, the same for any order of keys; raises BadInput where there are too few."""
    known, wanted = sorted(set(keys)), task_count(design)
    if len(known) < wanted:
        raise BadInput(f"tasks: the design needs {wanted} tasks, the source has {len(known)}; ask for fewer tasks.")
    return tuple(Random(f"{design.seed} tasks").sample(known, wanted))


def allocate(design: Design, task_keys: Sequence[str]) -> tuple[Place, ...]:
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
                Place(number, code, group.kind, group.rule, position, names[condition], parts[block])
                for position, (condition, block) in enumerate(row, 1)
            ]
    return tuple(places)


def planned(design: Design) -> tuple[Place, ...]:
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
