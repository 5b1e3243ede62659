"""Plain conversations."""

import orjson
import pytest

from console.runs.importers.records import Skipped
from console.trajectory import from_json
from console.trajectory.checkpoints import checkpoints

USER = {"role": "user", "content": "Pay the bill"}
DONE = {"role": "assistant", "content": "Paid."}


def call(name: str, call_id: str) -> dict:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": '{"n": 1}'}}


def tool(content: str, call_id: str) -> dict:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


@pytest.fixture
def imported(write, trajectories):
    def of(*records):
        return trajectories(write("log.jsonl", b"\n".join(orjson.dumps(record) for record in records)))

    return of


def test_a_conversation(imported):
    (found,) = imported(
        {"messages": [{"role": "system", "content": "Be exact."}, USER, DONE], "model": "m", "id": "c-1"}
    )
    assert (found.task_id, found.environment, found.instruction) == ("c-1", "generic", "Pay the bill")
    assert "Be exact." in found.opening
    assert [step.action for step in found.steps] == ['respond({"content":"Paid."})']
    assert (found.outcome, found.label, found.extra) == ("finished", None, {"model": "m"})


def test_several_calls_of_a_message_are_one_step_each(imported):
    both = {"role": "assistant", "content": "Both.", "tool_calls": [call("a", "1"), call("b", "2")]}
    (found,) = imported({"messages": [USER, both, tool("second", "2"), tool("first", "1"), DONE]})
    assert [(s.thought, s.action, s.observation) for s in found.steps] == [
        ("Both.", 'a({"n":1})', "first"),
        ("", 'b({"n":1})', "second"),
        ("", 'respond({"content":"Paid."})', ""),
    ]


def test_calls_with_equal_ids_are_answered_in_order(imported):
    both = {"role": "assistant", "content": None, "tool_calls": [call("a", "1"), call("b", "1")]}
    (found,) = imported([USER, both, tool("first", "1"), tool("second", "1"), {"role": "user", "content": "Thanks"}])
    assert [step.observation for step in found.steps] == ["first", "second\nThanks"]


def test_the_older_form_of_a_call(imported):
    old = {"role": "assistant", "content": None, "function_call": {"name": "pay", "arguments": '{"n": 2}'}}
    (found,) = imported([USER, old, {"role": "function", "name": "pay", "content": "ok"}])
    assert [(step.action, step.observation) for step in found.steps] == [('pay({"n":2})', "ok")]


@pytest.mark.parametrize("shape", ["array", "bare lines", "bare array", "pretty", "one pretty list"])
def test_shapes_of_the_file(write, trajectories, shape):
    record = {"messages": [USER, DONE]}
    content = {
        "array": orjson.dumps([record, record]),
        "bare lines": orjson.dumps([USER, DONE]) + b"\n" + orjson.dumps([USER, DONE]),
        "bare array": orjson.dumps([[USER, DONE], [USER, DONE]]),
        "pretty": orjson.dumps(record, option=orjson.OPT_INDENT_2) * 2,
        "one pretty list": orjson.dumps([USER, DONE], option=orjson.OPT_INDENT_2) * 2,
    }[shape]
    found = trajectories(write("log", content))
    assert [(t.instruction, len(t.steps)) for t in found] == [("Pay the bill", 1)] * 2
    assert len({t.task_id for t in found}) == 1


@pytest.mark.parametrize(
    ("fields", "outcome", "label"),
    [
        ({"reward": 1.0}, "succeeded", "aligned"),
        ({"score": "0.4"}, "finished", None),
        ({"success": False}, "failed", "misaligned"),
        ({"label": "Misaligned"}, "failed", "misaligned"),
        ({"label": "spam", "success": True}, "succeeded", "aligned"),
        ({"score": 87}, "finished", None),
        ({"label": "spam"}, "finished", None),
    ],
)
def test_what_the_record_itself_tells(imported, fields, outcome, label):
    (found,) = imported({"messages": [USER, DONE], **fields})
    assert (found.outcome, found.label) == (outcome, label)
    assert not found.extra
    assert next(iter(fields.values())) in found.gold.values()


def test_the_environment_is_taken_where_it_is_known(imported):
    shop = {"messages": [USER, {"role": "assistant", "tool_calls": [call("cancel_reservation", "1")]}]}
    known, other = imported(shop | {"environment": "tau-bench"}, shop | {"environment": "bank"})
    assert (known.environment, known.critical_action) == ("tau-bench", 'cancel_reservation({"n":1})')
    assert (other.environment, other.critical_action) == ("generic", None)


def test_a_conversation_without_the_assistant_is_skipped(write, entries):
    log = orjson.dumps({"messages": [USER, DONE]}) + b"\n" + orjson.dumps({"messages": [USER]})
    found, skipped = entries(write("log", log))
    assert found.line == 1
    assert isinstance(skipped, Skipped)
    assert skipped.line == 2


def test_half_characters_are_replaced(write, trajectories):
    (found,) = trajectories(
        write("log", '{"messages": [{"role": "user", "content": "\\ud800"}, {"role": "assistant"}]}')
    )
    assert found.instruction == "\ufffd"
    assert found.extra == {"replaced_characters": 1}


def test_a_conversation_without_an_id_is_the_same_wherever_it_is_listed(imported):
    first, again, other = imported(
        {"messages": [USER, DONE]}, {"messages": [USER, DONE]}, {"messages": [USER, DONE, USER]}
    )
    assert first.task_id == again.task_id != other.task_id
    assert first.content_digest() == again.content_digest()


def test_the_tools_that_were_offered_are_kept_through_storage_forms(imported):
    wipe = {"name": "wipe", "description": "Erases a disk.", "parameters": {"properties": {"disk": {}}}}
    pay = {"role": "assistant", "content": None, "tool_calls": [call("wipe", "1")]}
    (found,) = imported({"messages": [USER, pay], "tools": [{"type": "function", "function": wipe}]})
    (tool,) = from_json(found.to_json()).tools
    assert (tool.name, tool.description, tool.parameter_names) == ("wipe", "Erases a disk.", ("disk",))
    assert checkpoints(found, ["wipe"])[0].tools == (tool,)
    assert "tools" not in found.extra


def test_a_field_tools_that_lists_no_tools_is_kept_as_it_is(imported):
    (found,) = imported({"messages": [USER, DONE], "tools": ["hammer"]})
    assert (found.tools, found.extra) == ((), {"tools": ["hammer"]})
    assert from_json(found.to_json()).extra == {"tools": ["hammer"]}
