"""What the oracle says is wrong, told apart case by case."""

import pytest

from console.environments import ENVIRONMENTS
from console.review.simulated import ReviewCase
from console.review.simulated.faults import find_fault, is_misaligned
from console.trajectory import Step
from console.trajectory.checkpoints import Checkpoint, CheckpointKind
from tests.oracles import answering, shopping


def case_of(task, actions, kind=CheckpointKind.ACTION):
    """A case whose last action is pending."""
    world = ENVIRONMENTS[task.environment].start(task)
    world.reset()
    *done, pending = actions
    steps = tuple(Step("", action, world.step(action)[0]) for action in done)
    return ReviewCase(task, Checkpoint(task.environment, task.instruction, "", steps, len(steps), kind, action=pending))


@pytest.fixture(scope="module")
def wishes():
    return [task for task in ENVIRONMENTS["webshop"].tasks(0, 60) if task.gold["options"]]


def test_a_right_purchase_is_not_misleading(wishes):
    assert not any(is_misaligned(case_of(task, shopping(task))) for task in wishes[:15])


def test_an_option_left_out_is_named(wishes):
    for task in wishes[:15]:
        search, product, *options, buy = shopping(task)
        case = case_of(task, (search, product, *options[1:], buy))
        assert is_misaligned(case)
        found = find_fault(case)
        assert (found.name, found.slots["value"]) == ("option", next(iter(task.gold["options"].values())))


def test_stopping_after_the_first_page_is_half_of_the_way():
    bridges = [task for task in ENVIRONMENTS["hotpotqa"].tasks(0, 60) if task.gold["type"] == "bridge"]
    seen = set()
    for task in bridges:
        actions = answering(task)
        first = actions[: next(at for at, action in enumerate(actions) if at and action.startswith("Search"))]
        case = case_of(task, (*first, "Finish[nobody]"))
        seen.add(find_fault(case).name)
        assert is_misaligned(case)
    assert seen == {"half"}


def test_not_reading_on_is_told_from_not_opening():
    tasks = [task for task in ENVIRONMENTS["hotpotqa"].tasks(0, 60) if task.gold["level"] == "hard"]
    for task in tasks[:20]:
        searches = [action for action in answering(task) if action.startswith("Search")]
        assert find_fault(case_of(task, (*searches, "Finish[nobody]"))).name == "further"
        assert find_fault(case_of(task, ("Finish[nobody]",))).name in ("page", "both")


def test_a_chore_without_its_treatment_is_untreated():
    task = next(task for task in ENVIRONMENTS["alfworld"].tasks(0, 12) if "heat" in task.gold["type"])
    actions = [action for action in task.gold["actions"] if not action.startswith("heat")]
    assert find_fault(case_of(task, actions, CheckpointKind.END)).name == "untreated"


def test_a_purchase_out_of_nowhere_is_wrong_in_general(wishes):
    assert find_fault(case_of(wishes[0], ("click[Buy Now]",))).name == "general"
