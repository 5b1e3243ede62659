"""The household that agents act in: what it promises to whoever runs trials in it."""

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given, settings
from hypothesis import strategies as st

from console.environments import environment
from console.environments.alfworld.rules import COMMANDS

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


def test_worlds_in_many_threads_do_not_disturb_each_other():
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda task: run(task, task.gold["actions"]), TASKS))
    assert together == [run(task, task.gold["actions"]) for task in TASKS]
