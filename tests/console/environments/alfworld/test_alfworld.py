"""The household that agents act in: what it promises to whoever runs trials in it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.environments import environment
from console.environments.alfworld.briefs import WORDINGS
from console.environments.alfworld.oracle import oracle_actions
from console.environments.alfworld.rules import COMMANDS
from console.errors import BadInput

ALFWORLD = environment("alfworld")
TASKS = ALFWORLD.tasks(11, 240)
WORDS = [*COMMANDS, "to", "from", "in/on", "with"]


def run(task, actions):
    """Every (observation, reward, terminated, truncated, info) of a fresh trial, with the opening first."""
    world = ALFWORLD.start(task)
    return [world.reset()] + [world.step(action) for action in actions]


def names(task):
    """Every receptacle named in the opening, and every thing that gold speaks of."""
    opening = ALFWORLD.start(task).reset()[0].split("you see ")[1].split(".")[0]
    seen = [name.removeprefix("and ").removeprefix("a ") for name in opening.split(", ")]
    return seen + [f"{task.gold['thing']} {number}" for number in (1, 2, 3)] + ["desklamp 1", "knife 1", "bowl 1"]


@st.composite
def trials(draw):
    """A task with a mixture of its gold actions, commands put together from its words, and any text."""
    task = draw(st.sampled_from(TASKS))
    word = st.sampled_from(WORDS + names(task))
    loose = st.lists(word, min_size=1, max_size=4).map(" ".join)
    return task, draw(st.lists(st.sampled_from(task.gold["actions"]) | loose | st.text(), max_size=60))


def test_the_registry_offers_tasks_and_worlds_that_can_be_replayed():
    assert ALFWORLD.replayable
    assert ALFWORLD.step_cap == 49
    assert ALFWORLD.terminal == ()
    assert ALFWORLD.ends


def test_tasks_are_distinct_and_of_all_six_types():
    assert len({task.task_id for task in TASKS}) == len(TASKS)
    assert len({str(dict(task.options)) for task in TASKS}) == len(TASKS)
    counts = {name: sum(task.gold["type"] == name for task in TASKS) for name in WORDINGS}
    assert set(counts.values()) == {40}


def test_tasks_of_a_seed_are_always_the_same_and_more_of_them_begin_alike():
    assert ALFWORLD.tasks(11, 240) == TASKS
    assert ALFWORLD.tasks(11, 7) == TASKS[:7]


def test_another_seed_gives_other_tasks():
    others = ALFWORLD.tasks(12, 240)
    assert not {str(dict(task.options)) for task in others} & {str(dict(task.options)) for task in TASKS}


@pytest.mark.parametrize("name", WORDINGS)
def test_the_oracle_does_every_task_within_the_cap(name):
    for task in (task for task in TASKS if task.gold["type"] == name):
        actions = oracle_actions(task)
        steps = run(task, actions)[1:]
        assert [step[2] for step in steps] == [False] * (len(actions) - 1) + [True]
        assert steps[-1][1] == 1.0
        assert steps[-1][4] == {"success": True, "score": 1.0}
        assert not any(step[0].startswith(ALFWORLD.not_executed) for step in steps)
        assert len(actions) <= ALFWORLD.step_cap


def test_the_opening_names_the_furniture_and_the_task_and_nothing_of_gold():
    for task in TASKS[:60]:
        opening, info = ALFWORLD.start(task).reset()
        assert opening.startswith("You are in the middle of a room. Looking quickly around you, you see a ")
        assert opening.endswith(f"\n\nYour task is to: {task.instruction}")
        assert not any(action in opening for action in task.gold["actions"])
        assert info == {"success": False, "score": 0.0}


@settings(max_examples=150, deadline=None)
@given(trials())
def test_any_text_is_answered_in_words_and_a_replay_answers_the_same(trial):
    task, actions = trial
    first, second = run(task, actions), run(task, actions)
    assert first == second
    assert all(isinstance(step[0], str) and step[0] for step in first)
    assert all(step[4]["score"] == float(step[4]["success"]) for step in first[1:])
    assert not any(step[2] and step[3] for step in first[1:])


@settings(max_examples=50, deadline=None)
@given(trials())
def test_a_world_that_is_reset_begins_again(trial):
    task, actions = trial
    world = ALFWORLD.start(task)
    opening = world.reset()
    seen = [world.step(action) for action in actions]
    assert world.reset() == opening
    assert [world.step(action) for action in actions] == seen


def test_reset_with_another_tasks_options_sets_that_task_up():
    first, second = TASKS[:2]
    assert ALFWORLD.start(first).reset(options=second.options) == ALFWORLD.start(second).reset()


def test_a_trial_is_cut_off_after_fifty_actions_and_stays_so():
    steps = run(TASKS[0], ["look"] * 52)[1:]
    assert [step[3] for step in steps] == [False] * 49 + [True] * 3
    assert steps[-1][0] == "Nothing happens."
    assert not any(step[2] for step in steps)


def test_after_the_task_is_done_nothing_more_happens():
    task = TASKS[0]
    steps = run(task, [*task.gold["actions"], "inventory"])
    assert steps[-1][0] == "Nothing happens."
    assert steps[-1][1:] == (0.0, True, False, {"success": True, "score": 1.0})


def test_the_older_wording_of_putting_is_understood():
    task = next(task for task in TASKS if task.gold["type"] == "pick_and_place_simple")
    *before, last = task.gold["actions"]
    thing, receptacle = last.removeprefix("move ").split(" to ")
    assert run(task, [*before, f"put {thing} in/on {receptacle}"])[-1] == run(task, [*before, last])[-1]


@pytest.mark.parametrize(("pattern", "treatment"), [("clean", "clean"), ("heat", "hot"), ("cool", "cool")])
def test_the_critical_action_of_a_task_comes_before_its_end(pattern, treatment):
    for task in (task for task in TASKS if task.gold["type"] == f"pick_{pattern}_then_place_in_recep"):
        actions = task.gold["actions"]
        critical = [index for index, action in enumerate(actions) if action.startswith(pattern + " ")]
        assert len(critical) == 1
        assert critical[0] < len(actions) - 1
        untreated = [action for index, action in enumerate(actions) if index not in critical]
        assert not run(task, untreated)[-1][2]


def test_worlds_in_many_threads_do_not_disturb_each_other():
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda task: run(task, task.gold["actions"]), TASKS))
    assert together == [run(task, task.gold["actions"]) for task in TASKS]


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
