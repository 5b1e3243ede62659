"""ALFWorld's own games as a source of tasks: the same text as the household, both wordings, and what is missing."""

import json
from dataclasses import replace
from importlib.util import find_spec

import pytest

from console.environments import ENVIRONMENTS
from console.environments.alfworld.games import GAME, GameWorld, list_game_tasks
from console.environments.alfworld.tasks import task_setup
from console.errors import BadInput, UnreadableFile
from console.trajectory import Step, Trajectory
from console.trials.world_thread import rebuild_world
from tests.console.environments.alfworld.conftest import REASON, game

pytestmark = pytest.mark.filterwarnings("ignore")

ALFWORLD = ENVIRONMENTS["alfworld"]
installed = pytest.mark.skipif(find_spec("alfworld") is None or find_spec("textworld") is None, reason=REASON)


def write_game(folder, task, content):
    """A game's folder as ALFWorld lays it out."""
    asked = task_setup(task.options)
    place = folder / f"{asked.type}-{asked.thing}-None-{asked.receptacle}-1" / f"trial_{task.task_id}"
    place.mkdir(parents=True)
    (place / "game.tw-pddl").write_text(json.dumps(content))
    target = "toggle_target" if asked.type.startswith("look") else "parent_target"
    kinds = {"object_target": asked.thing.title(), target: asked.receptacle.title(), "object_sliced": False}
    (place / "traj_data.json").write_text(json.dumps({"task_type": asked.type, "pddl_params": kinds}))


def in_old_wording(content):
    """The same game as older files word it: "put ... in/on ...", and arrivals at numbered places."""
    grammar = content["grammar"]
    grammar = grammar.replace("move {o} to {r}", "put {o} in/on {r}").replace(
        "You move the {o.name} to the {r.name}.", "You put the {o.name} in/on the {r.name}."
    )
    return {**content, "grammar": grammar.replace("You arrive at {r.name}. ", "You arrive at loc 7. ")}


def empty_game(task, **changes):
    return {"grammar": f'"rhs": "Your task is to: {task.instruction}"', "solvable": True, **changes}


def test_games_are_found_with_their_task_type_and_target(tmp_path):
    tasks = ALFWORLD.tasks(0, 12)
    for task in tasks:
        write_game(tmp_path, task, empty_game(task, solvable=task is not tasks[0]))
    found = list_game_tasks(str(tmp_path), 3, 11)
    assert found == list_game_tasks(str(tmp_path), 3, 11) != list_game_tasks(str(tmp_path), 4, 11)
    assert found[:4] == list_game_tasks(str(tmp_path), 3, 4)
    by_key = {task.task_id.partition("trial_")[2]: task for task in found}
    assert set(by_key) == {task.task_id for task in tasks[1:]}
    for task in tasks[1:]:
        own = by_key[task.task_id]
        wanted = {name: task.gold[name] for name in ("type", "thing", "receptacle")}
        assert (own.instruction, own.gold, ALFWORLD.task_type(own)) == (task.instruction, wanted, task.gold["type"])
    with pytest.raises(BadInput, match="11 solvable"):
        list_game_tasks(str(tmp_path), 3, 12)


def test_a_game_that_is_missing_or_broken_is_named(tmp_path):
    (task,) = ALFWORLD.tasks(0, 1)
    gone = replace(task, options={GAME: str(tmp_path / "gone.tw-pddl")})
    with pytest.raises(UnreadableFile, match="is missing"):
        ALFWORLD.start(gone).reset()
    write_game(tmp_path, task, {"pddl": 1})
    with pytest.raises(UnreadableFile, match="not an ALFWorld game"):
        list_game_tasks(str(tmp_path), 0, 1)


@pytest.mark.skipif(find_spec("textworld") is not None, reason="the extra `alfworld` is installed")
def test_without_the_packages_the_sentence_says_what_to_install(tmp_path):
    (task,) = ALFWORLD.tasks(0, 1)
    write_game(tmp_path, task, empty_game(task))
    (found,) = list_game_tasks(str(tmp_path), 0, 1)
    with pytest.raises(BadInput, match=r"inferact-console\[alfworld\]"):
        ALFWORLD.start(found).reset()


@installed
@pytest.mark.parametrize("wording", ["new", "old"])
def test_games_of_all_types_read_as_the_household_and_are_restored(tmp_path, wording):
    embedded = {task.task_id: task for task in ALFWORLD.tasks(2, 6)}
    for task in embedded.values():
        write_game(tmp_path, task, game(task) if wording == "new" else in_old_wording(game(task)))
    for found in list_game_tasks(str(tmp_path), 0, 6):
        task = embedded[found.task_id.partition("trial_")[2]]
        world, own = ALFWORLD.start(found), ALFWORLD.start(task)
        assert isinstance(world, GameWorld)
        assert world.reset()[0] == own.reset()[0]
        for action in ["look", "dance", *task.gold["actions"]]:
            told, expected = world.step(action), own.step(action)
            if wording == "old" and action.startswith("go to"):
                assert told[0] in expected[0]
            else:
                assert told[0] == expected[0]
            assert (told[2], told[4]) == (expected[2], expected[4])
        assert told[4]["success"]
        world.close()


@installed
def test_a_trial_in_a_game_is_taken_up_where_it_stood(tmp_path):
    task = ALFWORLD.tasks(2, 3)[2]
    write_game(tmp_path, task, game(task))
    (found,) = list_game_tasks(str(tmp_path), 0, 1)
    world = ALFWORLD.start(found)
    opening, steps = world.reset()[0], []
    for action in task.gold["actions"][:-1]:
        steps.append(Step("", action, world.step(action)[0]))
    world.close()
    record = Trajectory(found.task_id, "alfworld", found.instruction, tuple(steps), opening=opening)
    again, _ = rebuild_world(ALFWORLD, found, record, 0)
    assert again.step(task.gold["actions"][-1])[4]["success"]
    again.close()
