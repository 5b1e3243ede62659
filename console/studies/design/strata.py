"""Strata: tasks are distributed over blocks by properties that are known before any review.

Tasks are first stratified by the outcome of trial 0: for each outcome, the blocks differ by at most one task. Within an
outcome, tasks with similar score and length go to different blocks. Many distributions are sampled; the most balanced
one is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from console.studies.design.allocation import PlannedCondition
from console.studies.design.model import Design
from console.trajectory import Outcome

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
