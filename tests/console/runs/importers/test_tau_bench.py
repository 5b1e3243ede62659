"""tau-bench result files: tool calls, calls written as text, crash records."""

import orjson
import pytest

from console.errors import UnreadableFile
from console.trajectory.calls import read_action


def call(name: str, arguments: str, call_id: str = "c1") -> dict:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def assistant(content=None, *tool_calls: dict) -> dict:
    return {"role": "assistant", "content": content} | ({"tool_calls": list(tool_calls)} if tool_calls else {})


def tool(content: str, call_id: str = "c1") -> dict:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def user(content: str) -> dict:
    return {"role": "user", "content": content}


START = [{"role": "system", "content": "Be kind."}, user("Hello, cancel it.")]


def run(*messages: dict, **fields) -> dict:
    task = {
        "user_id": "u",
        "instruction": "You want to cancel R1.",
        "actions": [{"name": "x", "kwargs": {}}],
        "outputs": [],
    }
    record = {"task_id": 4, "reward": 1.0, "info": {"task": task}, "traj": [*START, *messages], "trial": 2}
    return record | fields


@pytest.fixture
def imported(write, trajectories):
    def of(*records: dict):
        return trajectories(write("log.json", orjson.dumps(list(records))))

    return of


def test_a_run(imported):
    (found,) = imported(
        run(
            assistant("Which one?"),
            user("R1"),
            assistant("I cancel it.", call("cancel_reservation", '{ "reservation_id": "R1" }')),
            tool('{"status": "cancelled"}'),
            assistant("Done."),
            user("Thanks ###STOP###"),
        )
    )
    assert (found.task_id, found.trial, found.environment) == ("4", 2, "tau-bench")
    assert found.instruction == "You want to cancel R1."
    assert "Be kind." in found.opening
    assert found.opening.endswith("Hello, cancel it.")
    assert [(s.thought, s.action, s.observation) for s in found.steps] == [
        ("", 'respond({"content":"Which one?"})', "R1"),
        ("I cancel it.", 'cancel_reservation({"reservation_id":"R1"})', '{"status": "cancelled"}'),
        ("", 'respond({"content":"Done."})', "Thanks ###STOP###"),
    ]
    assert found.critical_action == 'cancel_reservation({"reservation_id":"R1"})'
    assert found.gold == {
        "label": "aligned",
        "reward": 1.0,
        "actions": [{"name": "x", "kwargs": {}}],
        "outputs": [],
    }


@pytest.mark.parametrize(
    ("reward", "outcome", "label"),
    [
        (1, "succeeded", "aligned"),
        ("1.0", "succeeded", "aligned"),
        (True, "succeeded", "aligned"),
        (0.0, "failed", "misaligned"),
        (0.5, "failed", "misaligned"),
        (None, "finished", None),
    ],
)
def test_the_reward_decides(imported, reward, outcome, label):
    (found,) = imported(run(assistant("Bye."), reward=reward))
    assert (found.outcome, found.label) == (outcome, label)


def test_a_call_is_answered_by_what_comes_next_even_where_ids_repeat(imported):
    (found,) = imported(
        run(assistant(None, call("look", "{}")), tool("one"), assistant(None, call("look", "{}")), tool("two"))
    )
    assert [step.observation for step in found.steps] == ["one", "two"]


def test_several_calls_of_a_message_are_one_step_a_call_a_line(imported):
    both = assistant("", call("look", '{"a": 1}', "x"), call("cancel_reservation", "", "y"))
    (found,) = imported(run(both, tool("one", "x"), tool("two", "y")))
    (step,) = found.steps
    assert [(c.name, dict(c.arguments)) for c in read_action(step.action)] == [
        ("look", {"a": 1}),
        ("cancel_reservation", {}),
    ]
    assert step.observation == "one\ntwo"
    assert found.critical_action == step.action


def test_arguments_that_are_no_json_stay_as_they_are(imported):
    (found,) = imported(run(assistant(None, call("look", "{broken"))))
    assert found.steps[0].action == "look({broken)"


def written(text: str) -> dict:
    return {"role": "assistant", "content": text, "tool_calls": None}


def test_calls_written_as_text(imported):
    (found,) = imported(
        run(
            written('Thought: I look.\nAction:\n{"name": "look", "arguments": {"id": "R1"}}'),
            user('API output: {"id": "R1"}'),
            written('{"name": "cancel_reservation", "arguments": {"reservation_id": "R1"}}'),
            user("API output: Error: too late"),
            written('Thought:\nI tell.\nAction: {"name": "respond", "arguments": {"content": "Sorry."}}'),
            user("API output: is what I say myself"),
        )
    )
    assert [(s.thought, s.action, s.observation) for s in found.steps] == [
        ("I look.", 'look({"id":"R1"})', '{"id": "R1"}'),
        ("", 'cancel_reservation({"reservation_id":"R1"})', "Error: too late"),
        ("I tell.", 'respond({"content":"Sorry."})', "API output: is what I say myself"),
    ]


def test_a_malformed_written_call_went_to_the_user_and_is_not_critical(imported):
    raw = '{"name": "cancel_reservation", "arguments": {"reservation_id": "R1"}}}'
    (found,) = imported(
        run(
            written('Thought: Hm.\nAction: {"name": "look", "arguments": {}}'),
            user("API output: R1"),
            written(f"Thought: Now.\nAction:\n{raw}"),
            user("What is that?"),
        )
    )
    last = found.steps[-1]
    assert (last.thought, last.action) == ("Now.", f"respond({orjson.dumps({'content': raw}).decode()})")
    assert last.observation == "What is that?"
    assert found.critical_action is None


def test_a_crash_record_is_an_error_and_never_a_failure(imported):
    (found,) = imported(
        {"task_id": 9, "reward": 0.0, "info": {"error": "boom", "traceback": "..."}, "traj": [], "trial": 0}
    )
    assert (found.outcome, found.label, found.steps) == ("error", None, ())
    assert found.gold == {"reward": 0.0, "error": "boom"}


def test_without_a_task_the_first_user_message_is_the_instruction(imported):
    (found,) = imported(run(assistant("Bye."), info={}))
    assert found.instruction == "Hello, cancel it."


@pytest.mark.parametrize("shape", ["lines", "results", "pretty", "newer"])
def test_other_shapes_of_the_file(write, trajectories, shape):
    records = [run(assistant("Bye."), task_id=number) for number in (1, 2)]
    newer = [
        {"id": "s", "task_id": r["task_id"], "trial": 2, "reward_info": {"reward": 1.0}, "messages": r["traj"]}
        for r in records
    ]
    content = {
        "lines": b"\n".join(orjson.dumps(record) for record in records),
        "results": orjson.dumps({"settings": {"seed": [1, 2]}, "results": records, "end": {}}),
        "pretty": orjson.dumps({"results": records}, option=orjson.OPT_INDENT_2),
        "newer": orjson.dumps({"timestamp": "t", "tasks": [{"id": "1"}], "simulations": newer}),
    }[shape]
    found = trajectories(write("log", content))
    assert [(t.task_id, t.trial, t.label, len(t.steps)) for t in found] == [
        ("1", 2, "aligned", 1),
        ("2", 2, "aligned", 1),
    ]


def test_numbers_and_parts_where_texts_belong(imported):
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    (found,) = imported(run(assistant(5), user(7), assistant(parts), task_id="a", trial="1"))
    assert [step.action for step in found.steps] == ['respond({"content":"5"})', 'respond({"content":"one\\ntwo"})']
    assert found.steps[0].observation == "7"
    assert found.trial == 1


@pytest.mark.parametrize("traj", [None, "text", [5], {"a": 1}])
def test_a_record_without_messages_is_refused_with_its_line(write, entries, traj):
    log = b"[\n" + orjson.dumps(run(assistant("Bye."))) + b",\n" + orjson.dumps(run(traj=traj)) + b"]"
    with pytest.raises(UnreadableFile, match=r"line 3: .*list of messages"):
        entries(write("log", log))


def test_a_plain_answer_that_holds_the_word_action_is_whole(imported):
    (found,) = imported(run(assistant("Required Action: please pay.")))
    assert found.steps[0].action == 'respond({"content":"Required Action: please pay."})'
