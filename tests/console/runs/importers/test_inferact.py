"""The InferAct reference's own files: WebShop, HotPotQA, ALFWorld."""

import orjson
import pytest

from console.errors import UnreadableFile


def human(content: str) -> dict:
    return {"type": "human", "data": {"content": content}}


def ai(content: str) -> dict:
    return {"type": "ai", "data": {"content": content}}


def page(instruction: str, rest: str) -> str:
    return f"WebShop [SEP] Instruction: [SEP] {instruction} [SEP] {rest}"


@pytest.fixture
def imported(write, trajectories):
    def of(record: dict, name: str = "trial_1/17.json"):
        (found,) = trajectories(write(name, orjson.dumps(record, option=orjson.OPT_INDENT_2)))
        return found

    return of


EXAMPLE = [
    human("You shop."),
    ai("OK."),
    human(page("find a blue hat", "Search")),
    ai("Thought: I search.\nAction: search[blue hat]"),
    human(page("find a blue hat", "results")),
    ai("Thought: I buy.\nAction: click[Buy Now]"),
]


def test_webshop_begins_after_the_worked_example(imported):
    task = "Now your own task.\n- The last cup was too big.\n" + page("find a red cup", "Search")
    steps = [ai("Thought: I search.\nAction: search[red cup]"), human(page("find a red cup", "results"))]
    steps += [
        ai("Thought: I take it.\n\nAction:\nclick[Buy Now]"),
        human("Thank you for shopping with us! [SEP] Your score 1.0"),
    ]
    item = {"asin": "B1", "instruction_text": "find a red cup"}
    found = imported(
        {"path": [*EXAMPLE, human(task), *steps], "trace_correct": 1, "is_halted": False, "true_item": item}
    )
    assert (found.task_id, found.trial, found.environment) == ("17", 1, "webshop")
    assert found.instruction == "find a red cup"
    assert found.memory == ("The last cup was too big.",)
    assert found.opening == page("find a red cup", "Search")
    assert [(s.thought, s.action) for s in found.steps] == [
        ("I search.", "search[red cup]"),
        ("I take it.", "click[Buy Now]"),
    ]
    assert found.critical_action == "click[Buy Now]"
    assert (found.outcome, found.gold) == ("succeeded", {"label": "aligned", "true_item": item})


def test_webshop_without_an_example(imported):
    found = imported(
        {"path": [human(page("find a red cup", "Search")), ai("search[red cup]")], "is_halted": True}, "3.json"
    )
    assert (found.outcome, found.label, found.trial) == ("halted", None, 0)
    assert [step.action for step in found.steps] == ["search[red cup]"]


def test_hotpotqa(imported):
    scratchpad = (
        "\nThought 1: I look.\nAction 1: Search[river]\nObservation 1: A river.\nThought 2: So.\nAction 2: Finish[Wey]"
    )
    scratchpad += "\nObservation 2: Answer is INCORRECT"
    record = {
        "path": [human("Question: Which river?"), ai(scratchpad)],
        "trace_correct": 0,
        "is_halted": False,
        "predicted_answer": "Wey",
        "golden_answer": "Mole",
        "reflection": ["Look twice."],
    }
    found = imported(record)
    assert (found.environment, found.instruction, found.memory) == ("hotpotqa", "Which river?", ("Look twice.",))
    assert [step.action for step in found.steps] == ["Search[river]", "Finish[Wey]"]
    assert (found.outcome, found.label) == ("failed", "misaligned")
    assert found.gold["answer"] == "Mole"
    assert found.critical_action == "Finish[Wey]"


def test_alfworld(imported):
    prompt = (
        "Here are two examples.\nYou are in the middle of a room.\nYour task is to: find a fork.\n> look\n"
        "Your memory for the task below:\nTrial 0:\nI forgot the sink.\n"
        "Here is the task:\nYou are in the middle of a room. You see a sinkbasin 1.\nYour task is to: clean a cup."
    )
    path = [
        human(prompt),
        ai("> think: first the cup"),
        human("OK."),
        ai("> clean cup 1 with sinkbasin 1"),
        human("You clean it."),
    ]
    found = imported({"path": path, "trace_correct": True, "is_halted": False, "env_name": "e", "info": {"steps": 2}})
    assert (found.environment, found.instruction) == ("alfworld", "clean a cup.")
    assert found.opening == "You are in the middle of a room. You see a sinkbasin 1."
    assert found.memory == ("I forgot the sink.",)
    assert [step.action for step in found.steps] == ["think: first the cup", "clean cup 1 with sinkbasin 1"]
    assert found.critical_action == "clean cup 1 with sinkbasin 1"
    assert found.gold == {"label": "aligned", "info": {"steps": 2}}


def test_a_path_without_actions_is_an_error(imported):
    found = imported({"path": [human("Question: Which river?")], "trace_correct": 0, "is_halted": False})
    assert (found.outcome, found.label, found.steps) == ("error", None, ())


def test_a_path_of_something_else_is_refused(write, entries):
    with pytest.raises(UnreadableFile, match='"path" is missing or is not a list'):
        entries(write("1.json", b'{"path": "here", "trace_correct": 1}'))
    with pytest.raises(UnreadableFile, match='message in "path" is not an object'):
        entries(write("1.json", b'{"path": ["a"], "trace_correct": 1}'))
