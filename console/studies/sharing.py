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
    bad, good = _drawn(pool, Label.MISALIGNED, rng), _drawn(pool, Label.ALIGNED, rng)
    # A detector's false alarms first: only those stand in a queue by themselves.
    good.sort(key=lambda item: not _alarms(item))
    _enough("known_bad", len(bad), (design.practice + 1) // 2 + count * wanted.known_bad)
    _enough("known_good", len(good), design.practice // 2 + count * wanted.known_good)
    practised = [*bad[len(bad) - (design.practice + 1) // 2 :], *good[len(good) - design.practice // 2 :]]
    rng.shuffle(practised)
    return Share(tuple(practised), _sets(good, wanted.known_good, count), _sets(bad, wanted.known_bad, count))


def _enough(what: str, found: int, needed: int) -> None:
    if found < needed:
        raise BadInput(
            f"checks.{what}: practice and checks need {needed} such items, the source has {found} outside the "
            "study's own tasks; ask for fewer."
        )


def _drawn(pool: Sequence[Known], label: Label, rng: Random) -> list[Known]:
    found = [item for item in pool if item.label is label]
    return rng.sample(found, len(found))


def _sets(items: Sequence[Known], size: int, count: int) -> tuple[tuple[Known, ...], ...]:
    return tuple(tuple(items[at * size : (at + 1) * size]) for at in range(count))


def _alarms(item: Known) -> bool:
    rules = detector("rules")
    seen = checkpoint_at(item.record, item.step, item.kind)
    return rules.judge is not None and rules.judge(seen, 0).score > rules.threshold
