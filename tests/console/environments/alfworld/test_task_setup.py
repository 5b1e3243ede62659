"""What a task asks for, and the options that are refused."""

from dataclasses import replace

import pytest

from console.environments import ENVIRONMENTS
from console.environments.alfworld.household import FIXED, HOLDS
from console.environments.alfworld.tasks import WORDINGS, TaskSetup, choices, task_setup
from console.errors import BadInput
from tests.later import Later

ALFWORLD = ENVIRONMENTS["alfworld"]
TASKS = Later(ALFWORLD.tasks, 11, 240)


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"type": "pick_a_fight"}, "pick_a_fight"), ({"thing": "piano"}, "piano"), ({"wording": 7}, "7")],
)
def test_options_of_no_task_are_refused_with_their_content(changes, told):
    task = replace(TASKS[0], options={**TASKS[0].options, **changes})
    with pytest.raises(BadInput, match=told):
        ALFWORLD.start(task)


def test_options_that_lack_something_are_refused_by_its_name():
    with pytest.raises(BadInput, match="'seed'"):
        ALFWORLD.start(replace(TASKS[0], options={k: v for k, v in TASKS[0].options.items() if k != "seed"}))


def test_the_instruction_is_worded_as_alfworlds_templates_are():
    said = {task.instruction for task in ALFWORLD.tasks(11, 600)}
    assert {"examine", "look", "put", "clean", "heat", "cool", "find"} == {text.split()[0] for text in said}
    hot_apple = TaskSetup("pick_heat_then_place_in_recep", "kitchen", "apple", "fridge", 0, "any")
    assert hot_apple.instruction == "put a hot apple in fridge."
    assert replace(hot_apple, wording=1).instruction == "heat some apple and put it in fridge."
    assert all(text.endswith(".") for text in said)


@pytest.mark.parametrize("name", WORDINGS)
def test_only_what_can_be_carried_and_fits_is_asked_for(name):
    assert len(choices(name)) > 30
    for _, thing, receptacle in choices(name):
        assert thing not in FIXED
        assert receptacle == "desklamp" or thing in HOLDS[receptacle]


def test_the_setup_of_a_task_is_the_one_its_options_write_down():
    for task in TASKS[:30]:
        assert task_setup(task.options).instruction == task.instruction


def test_an_unknown_type_of_task_has_no_choices():
    assert choices("pick_a_fight") == ()
