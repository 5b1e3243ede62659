import json

import pytest

from console.environments.hotpotqa import start, tasks_from_file
from console.errors import UnreadableFile
from tests.oracles import answering

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
