"""The shopper who knows the target: for tests, and for reviewers that are simulated."""

from __future__ import annotations

from console.environments.environment import TaskSpec
from console.environments.webshop.catalogue import Product
from console.environments.webshop.reward import goal_of
from console.environments.webshop.search import search


def oracle_actions(task: TaskSpec) -> tuple[str, ...]:
    """Actions from the start page to a purchase worth 1.0, at most 8 and Buy Now the last; raises BadInput as `start`.

    The search is the target's title where that brings it among the first three results, else its model number too.
    """
    goal = goal_of(task.gold)
    options = (f"click[{value}]" for value in goal.options.values())
    return (f"search[{_query(goal.target)}]", f"click[{goal.target.asin}]", *options, "click[Buy Now]")


def _query(target: Product) -> str:
    if target.asin in search(target.title)[:3]:
        return target.title
    return target.description.rpartition(": ")[2].rstrip(".").replace("-", " ")
