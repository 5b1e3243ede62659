"""The scripted helper takes advice."""

import pytest

from console.actors.scripted.alfworld import HouseholdTask, parse_task
from console.environments import ENVIRONMENTS
from tests.later import Later

TASKS = Later(ENVIRONMENTS["alfworld"].tasks, 1, 60)


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("put a apple in fridge.", HouseholdTask("apple", "fridge")),
        ("put some mug on desk.", HouseholdTask("mug", "desk")),
        ("look at teddybear under the desklamp.", HouseholdTask("teddybear", "desklamp", looks=True)),
        ("examine the book with the desklamp.", HouseholdTask("book", "desklamp", looks=True)),
        ("put a clean egg in countertop.", HouseholdTask("egg", "countertop", "clean")),
        ("heat some potato and put it in countertop.", HouseholdTask("potato", "countertop", "heat")),
        ("put a cool tomato in microwave.", HouseholdTask("tomato", "microwave", "cool")),
        ("put two pillow in sofa.", HouseholdTask("pillow", "sofa", count=2)),
        ("find two pen and put them in drawer.", HouseholdTask("pen", "drawer", count=2)),
        ("sing a song", None),
    ],
)
def test_chores_are_understood(instruction, expected):
    assert parse_task(instruction) == expected


def test_every_task_of_the_environment_is_understood():
    for task in TASKS:
        found = parse_task(task.instruction)
        assert (found.thing, found.place) == (task.gold["thing"], task.gold["receptacle"])


def test_a_place_that_is_named_is_searched_first(play):
    task = next(task for task in TASKS if "fridge" in play(task).opening and "fridge" not in task.instruction)
    assert play(task, ("Look in the fridge.",)).actions[0] == "go to fridge 1"
    assert play(task, ("It is not in the fridge.",)).actions[0] != "go to fridge 1"


def test_what_is_to_be_done_to_the_thing_is_not_forgotten_twice(play):
    for task in TASKS:
        for verb in ("clean", "heat", "cool"):
            if verb in task.gold["type"]:
                trial = play(task, (f"Remember to {verb} it, open every door, take the right object.",))
                assert any(action.startswith(f"{verb} {task.gold['thing']}") for action in trial.critical)


def test_believing_all_done_it_looks_round_without_doing_harm(play):
    failed = [trial for task in TASKS if (trial := play(task)).outcome == "failed"]
    assert failed
    assert all(trial.actions[-1].split()[0] in ("go", "examine", "look") for trial in failed)
