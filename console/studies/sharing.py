"""How a design's known items are divided: some to practise on, a set of its own for each condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from console.designs import Design, conditions
from console.detection.detectors import Detector, detector
from console.errors import BadInput
from console.studies.known import Known
from console.trajectory import Label
from console.trajectory.checkpoints import checkpoint_at


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
    judges = _offline(design)
    for items in (bad, good):
        # What the detectors flag comes first: only that stands in a queue by itself.
        items.sort(key=lambda item: -_alarms(item, judges, design.seed))
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


def _offline(design: Design) -> list[Detector]:
    """The detectors of the conditions that ask no model; `rules` where all of them do."""
    found = [detector(name) for name in sorted({one.levels["detector"] for one in conditions(design)})]
    return [judge for judge in found if judge.judge is not None] or [detector("rules")]


def _alarms(item: Known, judges: Sequence[Detector], seed: int) -> int:
    seen = checkpoint_at(item.record, item.step, item.kind)
    return sum(judge.judge(seen, seed).score > judge.threshold for judge in judges if judge.judge is not None)
