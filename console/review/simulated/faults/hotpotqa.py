"""The fault of an answer, by the pages that were opened and the sentences that were read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from console.review.simulated.faults.fault import Fault
from console.review.simulated.reviewer import ReviewCase
from console.trajectory import Step
from console.trajectory.checkpoints import CheckpointKind

_CALL = re.compile(r"^\s*(search|lookup)\[(.*)\]\s*$", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Reading:
    titles: tuple[str, ...]
    text: str


def find(case: ReviewCase) -> Fault:
    """The fault: the first fact on the way to the answer that was missed, and how."""
    read = _reading(case.checkpoint.steps)
    facts = [(str(fact["title"]), str(fact["sentence"])) for fact in case.task.gold.get("supporting_facts", ())]
    for number, (title, sentence) in enumerate(facts):
        if title.lower() not in read.titles:
            return _unopened(case, title, number, read)
        if sentence not in read.text:
            return Fault("further", {"page": _named(title, case)})
    return Fault("halted" if case.checkpoint.kind is CheckpointKind.HALTED else "misread")


def _unopened(case: ReviewCase, title: str, number: int, read: _Reading) -> Fault:
    namesake = next((opened for opened in read.titles if _bare(opened) == _bare(title)), "")
    if namesake:
        return Fault("namesake", {"page": namesake, "kind": _kind(title, case)})
    if case.task.gold.get("type") == "comparison":
        return Fault("both", {"page": _named(title, case)})
    if number == 0 or case.checkpoint.kind is CheckpointKind.HALTED:
        return Fault("page", {"page": _named(title, case), "kind": _kind(title, case)})
    other = read.titles[-1] if len(read.titles) > 1 else ""
    return Fault("astray", {"page": other}) if other else Fault("half")


def _reading(steps: Sequence[Step]) -> _Reading:
    calls = [(call, step.observation) for step in steps if (call := _CALL.match(step.action))]
    titles = [call[2].strip() for call, seen in calls if call[1].lower() == "search" and not seen.startswith("Could")]
    return _Reading(tuple(title.lower() for title in titles), "\n".join(seen for _, seen in calls))


def _named(title: str, case: ReviewCase) -> str:
    """What the question calls the page, empty where it does not."""
    bare = title.partition(" (")[0]
    return bare if bare in case.task.instruction else ""


def _kind(title: str, case: ReviewCase) -> str:
    mark = title.partition(" (")[2].rstrip(")")
    return mark if mark and mark in case.task.instruction else ""


def _bare(title: str) -> str:
    return title.partition(" (")[0].lower()
