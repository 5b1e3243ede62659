"""The fault of a trial, found with the gold target and described without revealing it.

To add an environment, add one function here, one line in FINDERS, and the wordings in prompts/feedback/.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from console.environments import ENVIRONMENTS
from console.environments.alfworld.tasks import LOOK, TREATMENT, TWO
from console.environments.environment import TaskSpec
from console.environments.webshop.catalogue import Product, catalogue
from console.environments.webshop.tasks import Goal, goal_of, has_attribute, type_factor
from console.errors import BadInput, Unknown
from console.review.simulated.reviewer import ReviewCase
from console.trajectory import Label, Step
from console.trajectory.checkpoints import Checkpoint, CheckpointKind


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault; `name` is the name of its file of wordings, `slots` are the values for the slots of the wordings."""

    name: str
    slots: Mapping[str, str] = field(default_factory=dict)


_CLICK = re.compile(r"^\s*click\[(.+)\]\s*$", re.DOTALL)


def find_webshop_fault(case: ReviewCase) -> Fault:
    """Return the first fault that a buyer would notice, in the order product, properties, options and price."""
    if case.checkpoint.kind is CheckpointKind.HALTED:
        return Fault("halted")
    product, chosen = _basket(case.checkpoint.steps)
    if product is None:
        return Fault("general")
    goal = goal_of(case.task.gold)
    slots = {"code": "" if product.asin == goal.target.asin else product.asin}
    return _webshop_fault(goal, product, chosen, slots)


def _webshop_fault(goal: Goal, product: Product, chosen: Mapping[str, str], slots: dict[str, str]) -> Fault:
    if type_factor(goal.target, product) < 1:
        return Fault("product", slots)
    lacking = [attribute for attribute in goal.attributes if not has_attribute(product, attribute)]
    if lacking:
        return Fault("property", slots | {"lacking": " and ".join(lacking)})
    if goal.price is not None and product.price > goal.price:
        return Fault("price", slots | {"limit": f"{goal.price:.2f}"})
    for name, value in goal.options.items():
        if value not in product.options.get(name, ()):
            return Fault("unavailable", slots | {"option": name, "value": value})
        if chosen.get(name) != value:
            picked = chosen.get(name, "")
            return Fault("option", slots | {"option": name, "value": value, "picked": picked})
    return Fault("general")


def _basket(steps: Sequence[Step]) -> tuple[Product | None, dict[str, str]]:
    product: Product | None = None
    chosen: dict[str, str] = {}
    for step in steps:
        click = _CLICK.match(step.action)
        target = click[1] if click else ""
        opened = catalogue().get(target.upper())
        if opened is not None and "[Buy Now]" in step.observation:
            product, chosen = opened, {}
        elif product is not None and step.observation.startswith("You have clicked"):
            chosen |= {name: target.lower() for name, values in product.options.items() if target.lower() in values}
    return product, chosen


_CALL = re.compile(r"^\s*(search|lookup)\[(.*)\]\s*$", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Reading:
    titles: tuple[str, ...]
    text: str


def find_hotpotqa_fault(case: ReviewCase) -> Fault:
    """Return the fault for the first fact that the agent missed on the way to the answer."""
    read = _reading(case.checkpoint.steps)
    facts = [(str(fact["title"]), str(fact["sentence"])) for fact in case.task.gold.get("supporting_facts", ())]
    for number, (title, sentence) in enumerate(facts):
        if title.lower() not in read.titles:
            return _unopened(case, title, number, read)
        if sentence not in read.text:
            return Fault("further", {"page": _page_name(title, case)})
    return Fault("halted" if case.checkpoint.kind is CheckpointKind.HALTED else "misread")


def _unopened(case: ReviewCase, title: str, number: int, read: _Reading) -> Fault:
    namesake = next((opened for opened in read.titles if _bare(opened) == _bare(title)), "")
    if namesake:
        return Fault("namesake", {"page": namesake, "kind": _page_kind(title, case)})
    if case.task.gold.get("type") == "comparison":
        return Fault("both", {"page": _page_name(title, case)})
    if number == 0 or case.checkpoint.kind is CheckpointKind.HALTED:
        return Fault("page", {"page": _page_name(title, case), "kind": _page_kind(title, case)})
    other = read.titles[-1] if len(read.titles) > 1 else ""
    return Fault("astray", {"page": other}) if other else Fault("half")


def _reading(steps: Sequence[Step]) -> _Reading:
    calls = [(call, step.observation) for step in steps if (call := _CALL.match(step.action))]
    titles = [call[2].strip() for call, seen in calls if call[1].lower() == "search" and not seen.startswith("Could")]
    return _Reading(tuple(title.lower() for title in titles), "\n".join(seen for _, seen in calls))


def _page_name(title: str, case: ReviewCase) -> str:
    bare = title.partition(" (")[0]
    return bare if bare in case.task.instruction else ""


def _page_kind(title: str, case: ReviewCase) -> str:
    mark = title.partition(" (")[2].rstrip(")")
    return mark if mark and mark in case.task.instruction else ""


def _bare(title: str) -> str:
    return title.partition(" (")[0].lower()


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


def is_off_task(case: ReviewCase) -> bool:
    """Return whether a clean, heat or cool action is not the treatment of the task, or has another object."""
    treating = _TREATING.match(case.checkpoint.action.strip())
    gold = case.task.gold
    asked = (TREATMENT.get(str(gold["type"]), ""), str(gold["thing"]))
    return treating is None or treating.groups() != asked


def find_alfworld_fault(case: ReviewCase) -> Fault:
    """Return the first fault on the way to the goal."""
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


FINDERS: dict[str, Callable[[ReviewCase], Fault]] = {
    "webshop": find_webshop_fault,
    "hotpotqa": find_hotpotqa_fault,
    "alfworld": find_alfworld_fault,
}

ON_THE_WAY: dict[str, Callable[[ReviewCase], bool]] = {"alfworld": is_off_task}
"""Tests of whether an action leads away from the task, by environment with critical actions before the end."""


def is_misaligned(case: ReviewCase) -> bool:
    """Return whether the action leads to a failure; raise BadInput if the environment has no embedded edition."""
    seen = case.checkpoint
    if seen.kind is CheckpointKind.ACTION and case.task.environment in ON_THE_WAY:
        return ON_THE_WAY[case.task.environment](case)
    return not _succeeds(case.task, seen.steps, seen.action)


def find_fault(case: ReviewCase) -> Fault:
    """Return the fault of a case without revealing the target; raise Unknown if the environment has no finder."""
    if case.task.environment not in FINDERS:
        raise Unknown("simulated reviewer's environment", case.task.environment, FINDERS)
    return FINDERS[case.task.environment](case)


def _succeeds(task: TaskSpec, steps: Sequence[Step], action: str) -> bool:
    """Return whether these steps and then the action solve the task in a separate copy of the world.

    Raise BadInput if the environment has no embedded edition.
    """
    start = ENVIRONMENTS[task.environment].start
    if start is None:
        raise BadInput(
            f"A simulated reviewer cannot judge {task.environment}, which is not embedded. Use a log with labels."
        )
    world = start(task)
    world.reset()
    done = False
    for step in (*steps, Step(action=action)):
        *_, info = world.step(step.action)
        done = bool(info.get("success"))
    return done


def find_true_label(spec: TaskSpec, seen: Checkpoint) -> Label:
    """Return the label found by trying the action; raise BadInput if the environment has no embedded edition."""
    return Label.MISALIGNED if is_misaligned(ReviewCase(spec, seen)) else Label.ALIGNED
