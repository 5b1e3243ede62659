import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.environments.hotpotqa import HOTPOTQA, start, tasks
from console.errors import BadInput
from tests.oracles import answering


def play(task):
    world = start(task)
    actions = [f"Search[{task.instruction}]", *answering(task)]
    return [world.reset(options={"step_cap": 9}), *map(world.step, actions)]


def test_the_environment_offers_its_embedded_edition():
    assert (HOTPOTQA.tasks, HOTPOTQA.start) == (tasks, start)
    assert (HOTPOTQA.step_cap, HOTPOTQA.replayable, HOTPOTQA.terminal) == (6, True, ("Finish[*]",))


@settings(max_examples=20, deadline=None)
@given(st.integers(-1000, 1000), st.integers(0, 60))
def test_tasks_are_distinct_and_follow_from_the_seed(seed, count):
    found = tasks(seed, count)
    assert len({task.task_id for task in found}) == len({task.instruction for task in found}) == count
    assert found == tasks(seed, count)
    assert {task.environment for task in found} <= {"hotpotqa"}


def test_another_seed_gives_other_tasks():
    first, second = ({task.task_id for task in tasks(seed, 20)} for seed in (1, 2))
    assert len(first & second) < 5


@pytest.mark.parametrize("count", [-1, 100_000])
def test_more_tasks_than_there_are_is_refused(count):
    with pytest.raises(BadInput, match=f"{count} is not a valid number of hotpotqa tasks"):
        tasks(0, count)


def test_who_knows_where_the_answers_stand_succeeds_within_the_cap():
    found = tasks(11, 300)
    for task in found:
        world, actions = start(task), answering(task)
        results = [world.step(action) for action in actions]
        assert len(actions) <= HOTPOTQA.step_cap
        assert results[-1][4]["success"] is True
        assert results[-1][1:4] == (1.0, True, False)
        shown = "\n".join(result[0] for result in results)
        assert all(fact["sentence"] in shown for fact in task.gold["supporting_facts"])


def test_tasks_are_of_several_kinds():
    found = tasks(5, 200)
    kinds = [(task.gold["type"], task.gold["level"]) for task in found]
    assert kinds.count(("comparison", "easy")) + kinds.count(("comparison", "hard")) == 40
    assert all(kinds.count((kind, level)) >= 5 for kind in ("bridge", "comparison") for level in ("easy", "hard"))
    answers = [task.gold["answer"] for task in found]
    assert answers.count("yes") >= 3
    assert answers.count("no") >= 3


def test_hard_questions_need_a_lookup_and_easy_ones_do_not():
    for task in tasks(8, 100):
        needed = any(action.startswith("Lookup") for action in answering(task))
        assert needed == (task.gold["level"] == "hard")


def test_gold_is_never_told_where_no_page_tells_it():
    for task in tasks(9, 200):
        world = start(task)
        opening, info = world.reset()
        told = opening.removeprefix(f"Question: {task.instruction}") + repr(info)
        told += world.step("Lookup[x]")[0] + world.step("Compare[x]")[0] + world.step("Finish[nonsense]")[0]
        if task.gold["answer"] not in ("yes", "no"):
            assert task.gold["answer"] not in told
        assert set(task.options) == set()


def test_worlds_in_many_threads_see_what_one_alone_sees():
    found = tasks(21, 60)
    alone = [play(task) for task in found]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(play, found * 4)) == alone * 4


def test_steps_are_fast(record_property):
    found = tasks(2, 300)
    plans = [(start(task), answering(task)) for task in found]
    begun = time.perf_counter()
    steps = sum(len([world.step(action) for action in actions]) for world, actions in plans)
    per_second = steps / (time.perf_counter() - begun)
    record_property("steps_per_second", round(per_second))
    print(f"hotpotqa: {per_second:,.0f} steps a second")
    assert steps > 900
