"""How a design's known items are divided: some to practise on, a set of its own for each condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from console.critical import checkpoint_at
from console.designs import Design, conditions
from console.detectors import detector
from console.errors import BadInput
from console.studies.known import Known
from console.trajectory import Label


@dataclass(frozen=True, slots=True)
class Share:
    """The known items to practise on, and those of each condition; no item twice."""

    practice: tuple[Known, ...]
    good: tuple[tuple[Known, ...], ...]
    bad: tuple[tuple[Known, ...], ...]


def share_out(design: Design, pool: Sequence[Known]) -> Share:
    """The pool divided by the design's seed; raises BadInput where it is too small for the design."""
    count, wanted = len(conditions(design)), design.checks
    rng = Random(f"{design.seed} known items")
    bad = rng.sample([item for item in pool if item.label is Label.MISALIGNED], k=_count(pool, Label.MISALIGNED))
    good = rng.sample([item for item in pool if item.label is Label.ALIGNED], k=_count(pool, Label.ALIGNED))
    # A detector's false alarms first: only those stand in a queue by themselves.
    good.sort(key=lambda item: not _alarms(item))
    first_bad, first_good = (design.practice + 1) // 2, design.practice // 2
    for what, found, needed in (
        ("known_bad", len(bad), first_bad + count * wanted.known_bad),
        ("known_good", len(good), first_good + count * wanted.known_good),
    ):
        if found < needed:
            raise BadInput(
                f"checks.{what}: practice and checks need {needed} such items, the source has {found} outside the "
                "study's own tasks; ask for fewer."
            )
    practised = [*bad[:first_bad], *good[:first_good]]
    rng.shuffle(practised)
    return Share(
        tuple(practised),
        _sets(good[first_good:], wanted.known_good, count),
        _sets(bad[first_bad:], wanted.known_bad, count),
    )


def _count(pool: Sequence[Known], label: Label) -> int:
    return sum(item.label is label for item in pool)


def _sets(items: Sequence[Known], size: int, count: int) -> tuple[tuple[Known, ...], ...]:
    return tuple(tuple(items[at * size : (at + 1) * size]) for at in range(count))


def _alarms(item: Known) -> bool:
    rules = detector("rules")
    seen = checkpoint_at(item.record, item.step, item.kind)
    return rules.judge is not None and rules.judge(seen, 0).score > rules.threshold
