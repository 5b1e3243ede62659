"""The fault of a purchase, or of one that never came; the shop's file among FINDERS."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from console.environments.webshop.catalogue import Product, catalogue
from console.environments.webshop.reward import Goal, goal_of, has_attribute, type_factor
from console.review.simulated.faults.fault import Fault
from console.review.simulated.reviewer import ReviewCase
from console.trajectory import Step
from console.trajectory.checkpoints import CheckpointKind

_CLICK = re.compile(r"^\s*click\[(.+)\]\s*$", re.DOTALL)


def find(case: ReviewCase) -> Fault:
    """The first fault that a buyer would notice: the kind of product, its properties, its options, its price."""
    if case.checkpoint.kind is CheckpointKind.HALTED:
        return Fault("halted")
    product, chosen = _basket(case.checkpoint.steps)
    if product is None:
        return Fault("general")
    goal = goal_of(case.task.gold)
    slots = {"code": "" if product.asin == goal.target.asin else product.asin}
    return _fault(goal, product, chosen, slots)


def _fault(goal: Goal, product: Product, chosen: Mapping[str, str], slots: dict[str, str]) -> Fault:
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
    """The product that is open after these steps, and its chosen options."""
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
