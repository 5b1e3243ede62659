"""Tasks: distinct, repeatable, and telling all that the reward asks for."""

import json
import re
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.environments.environment import TaskSpec
from console.environments.webshop import WEBSHOP
from console.environments.webshop.catalogue import catalogue
from console.environments.webshop.goals import tasks
from console.errors import BadInput

seeds = st.integers(min_value=0, max_value=2**32)


@given(seeds, st.integers(0, 40))
def test_a_seed_always_gives_the_same_tasks_and_more_of_them_only_adds(seed, count):
    assert tasks(seed, count) == tasks(seed, count + 10)[:count]
    assert len(tasks(seed, count)) == count


@given(seeds)
def test_tasks_of_one_seed_are_distinct_and_another_seed_has_others(seed):
    one, other = tasks(seed, 50), tasks(seed + 1, 50)
    assert len({task.task_id for task in one}) == len({task.instruction for task in one}) == 50
    assert {task.instruction for task in one} != {task.instruction for task in other}
    assert not {task.task_id for task in one} & {task.task_id for task in other}


def test_every_product_can_be_asked_for_once():
    everything = tasks(1, len(catalogue()))
    assert {task.gold["asin"] for task in everything} == set(catalogue())


@pytest.mark.parametrize("count", [-1, 10**6])
def test_a_count_that_the_shop_cannot_give_is_refused(count):
    with pytest.raises(BadInput, match="ask for fewer"):
        tasks(0, count)


def test_the_instruction_says_every_attribute_option_and_limit_of_the_gold():
    for task in tasks(4, 300):
        gold = task.gold
        for value in [*gold["attributes"], *gold["options"].values()]:
            assert value in task.instruction, task
        limit = re.search(r"price lower than (\d+\.\d\d) dollars$", task.instruction)
        assert (limit and float(limit[1])) == gold["price_limit"]


def test_the_instruction_names_neither_the_product_nor_its_brand():
    for task in tasks(4, 300):
        assert task.gold["asin"].lower() not in task.instruction
        assert task.gold["name"].split()[0].lower() not in task.instruction.split()


def test_the_target_meets_the_limit():
    assert all(t.gold["price_limit"] is None or t.gold["price"] < t.gold["price_limit"] for t in tasks(4, 300))


def test_gold_has_what_a_reviewer_needs():
    gold = tasks(4, 1)[0].gold
    assert set(gold) == {"asin", "name", "attributes", "options", "price", "price_limit"}
    assert gold["name"] == catalogue()[gold["asin"]].title


def test_a_task_that_was_stored_as_json_starts_as_before():
    task = tasks(4, 1)[0]
    stored = TaskSpec(**json.loads(json.dumps(asdict(task))))
    assert stored == task
    assert WEBSHOP.start(stored).reset() == WEBSHOP.start(task).reset()
