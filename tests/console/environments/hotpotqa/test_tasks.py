"""Tasks of the embedded world and of question files."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.environments.hotpotqa import HOTPOTQA, start, tasks, tasks_from_file
from console.errors import BadInput, UnreadableFile
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


QUESTION = {
    "_id": "q1",
    "question": " Where is the mill? ",
    "answer": "Vellwick",
    "type": "bridge",
    "level": "hard",
    "supporting_facts": [
        ["Mill &amp; Sons", 0],
        ["Mill &amp; Sons", 1],
        ["Mill &amp; Sons", 2],
        ["Mill &amp; Sons", 9],
        ["No", 0],
    ],
    "context": [["Mill &amp; Sons", ["It grinds.", " It is in Vellwick.", ""]], ["Vellwick", ["A town."]]],
}


def columns(question):
    context, facts = question["context"], question["supporting_facts"]
    return question | {
        "context": {"title": [c[0] for c in context], "sentences": [c[1] for c in context]},
        "supporting_facts": {"title": [f[0] for f in facts], "sent_id": [f[1] for f in facts]},
    }


def written(path, *records, lines=False):
    texts = [json.dumps(record) for record in records]
    path.write_text("\n".join(texts) if lines else f"[{', '.join(texts)}]", encoding="utf-8")
    return path


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("form", [columns, dict])
def test_both_forms_of_the_official_file_are_read(tmp_path, form, lines):
    path = written(tmp_path / "q.json", form(QUESTION), lines=lines)
    (task,) = tasks_from_file(path)
    assert (task.task_id, task.environment, task.instruction) == ("q1", "hotpotqa", "Where is the mill?")
    assert task.gold["answer"] == "Vellwick"
    assert task.gold["supporting_facts"] == [
        {"title": "Mill & Sons", "sentence": "It grinds."},
        {"title": "Mill & Sons", "sentence": "It is in Vellwick."},
    ]
    world = start(task)
    assert world.step("Search[Mill & Sons]")[0] == "It grinds. It is in Vellwick."
    assert world.step("Search[mill &amp; sons]")[0] == "It grinds. It is in Vellwick."


def test_all_questions_of_a_file_share_one_corpus(tmp_path):
    other = QUESTION | {"_id": "q2", "context": [["Orchard", ["Trees."]], ["Vellwick", ["A town.", "It is old."]]]}
    first, _ = tasks_from_file(written(tmp_path / "q.json", QUESTION, other))
    world = start(first)
    assert world.step("Search[Orchard]")[0] == "Trees."
    assert world.step("Search[Vellwick]")[0] == "A town. It is old."


def test_a_changed_file_is_read_again(tmp_path):
    path = written(tmp_path / "q.json", QUESTION)
    (task,) = tasks_from_file(path)
    start(task)
    written(path, QUESTION | {"context": [["Mill", ["Another text altogether."]]]})
    assert start(task).step("Search[Mill]")[0] == "Another text altogether."


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (QUESTION | {"answer": None}, 'no "answer"'),
        ({"question": "?", "answer": "!"}, 'no "context"'),
        (["no object"], "not a question object"),
        (QUESTION | {"context": "text"}, "neither pairs nor two columns"),
        (QUESTION | {"context": [["Title", "text"]]}, "are not a list"),
        (QUESTION, "occurs twice"),
    ],
)
def test_a_record_that_cannot_be_used_is_named_by_file_and_number(tmp_path, record, reason):
    path = written(tmp_path / "q.json", QUESTION, record)
    with pytest.raises(UnreadableFile, match=reason) as refused:
        tasks_from_file(path)
    assert (refused.value.path, refused.value.line) == (str(path), 2)


def test_broken_json_and_missing_files_are_named(tmp_path):
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTION) + "\n\n{broken")
    with pytest.raises(UnreadableFile, match=r"q\.jsonl, line 3: this is not valid JSON"):
        tasks_from_file(tmp_path / "q.jsonl")
    with pytest.raises(UnreadableFile, match="cannot be opened"):
        tasks_from_file(tmp_path / "none.json")


def test_a_task_whose_file_is_gone_says_so(tmp_path):
    path = written(tmp_path / "q.json", QUESTION)
    (task,) = tasks_from_file(path)
    path.unlink()
    with pytest.raises(UnreadableFile, match="Restore the file"):
        start(task)


def test_all_hundred_shared_questions_can_be_answered(shared_data):
    found = tasks_from_file(shared_data("hotpotqa/questions_100.jsonl"))
    assert len(found) == 100
    assert sum(len(task.gold["supporting_facts"]) for task in found) == 249
    lookups = 0
    for task in found:
        world, actions = start(task), answering(task)
        world.reset(options={"step_cap": 20})
        results = [world.step(action) for action in actions]
        shown = "\n".join(result[0] for result in results)
        assert all(fact["sentence"] in shown for fact in task.gold["supporting_facts"])
        assert results[-1][4]["success"] is True
        lookups += sum(action.startswith("Lookup") for action in actions)
    assert lookups == 5
    assert not any("&amp;" in fact["title"] for task in found for fact in task.gold["supporting_facts"])
