"""The fault in a household task: something done to the wrong thing, or something that was left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from console.environments.alfworld.task_setup import LOOK, TREATMENT, TWO
from console.review.simulated.faults.fault import Fault
from console.review.simulated.reviewer import ReviewCase
from console.trajectory import Step
from console.trajectory.checkpoints import CheckpointKind

_TREATING = re.compile(r"^(?:> )?(clean|heat|cool) ([a-z]+) \d+ with")
_TAKEN = re.compile(r"^You pick up the ([a-z]+) \d+")
_PUT = re.compile(r"^You move the ([a-z]+) \d+ to the ([a-z]+) \d+")
_DONE = re.compile(r"^You (clean|heat|cool) the ([a-z]+) \d+ using")
_TAKE = re.compile(r"^take [a-z]+ \d+ from ([a-z]+ \d+)$")


@dataclass(slots=True)
class _Deeds:
    taken: list[str] = field(default_factory=list)
    put: list[str] = field(default_factory=list)
    treated: list[tuple[str, str]] = field(default_factory=list)


def strays(case: ReviewCase) -> bool:
    """Whether a clean, heat or cool is not what the task asks, or not done to what it asks for."""
    treating = _TREATING.match(case.checkpoint.action.strip())
    gold = case.task.gold
    asked = (TREATMENT.get(str(gold["type"]), ""), str(gold["thing"]))
    return treating is None or treating.groups() != asked


def find(case: ReviewCase) -> Fault:
    """The fault: the first thing that went wrong on the way to the goal."""
    gold, seen = case.task.gold, case.checkpoint
    thing, treatment = str(gold["thing"]), TREATMENT.get(str(gold["type"]), "")
    treating = _TREATING.match(seen.action.strip())
    if seen.kind is CheckpointKind.ACTION and treating:
        return _mistreated(treating[1], treating[2], thing, treatment)
    last = (Step(action=seen.action),) if seen.action else ()
    deeds = _deeds((*seen.steps, *last))
    if thing not in deeds.taken:
        return _not_taken(case, deeds, thing)
    if treatment and (treatment, thing) not in deeds.treated:
        return Fault("untreated", {"thing": thing, "asked": treatment})
    if gold["type"] == TWO and deeds.put.count(thing) < 2:
        return Fault("second", {"thing": thing})
    return (
        Fault("light", {"thing": thing, "lamp": str(gold["receptacle"])}) if gold["type"] == LOOK else Fault("general")
    )


def _mistreated(done: str, handled: str, thing: str, treatment: str) -> Fault:
    if handled != thing:
        return Fault("object", {"thing": thing, "handled": handled})
    if not treatment:
        return Fault("unasked", {"thing": thing, "done": done})
    return Fault("treatment", {"thing": thing, "done": done, "asked": treatment})


def _not_taken(case: ReviewCase, deeds: _Deeds, thing: str) -> Fault:
    if deeds.taken:
        return Fault("object", {"thing": thing, "handled": deeds.taken[-1]})
    homes = {match[1] for action in case.task.gold["actions"] if (match := _TAKE.match(str(action)))}
    shut = any(f"{home} is closed" in step.observation for step in case.checkpoint.steps for home in homes)
    return Fault("closed" if shut else "search", {"thing": thing})


def _deeds(steps: Sequence[Step]) -> _Deeds:
    deeds = _Deeds()
    for step in steps:
        if taken := _TAKEN.match(step.observation):
            deeds.taken.append(taken[1])
        elif put := _PUT.match(step.observation):
            deeds.put.append(put[1])
        elif done := _DONE.match(step.observation):
            deeds.treated.append((done[1], done[2]))
    return deeds
