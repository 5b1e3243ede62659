"""The tools that a trace or an evaluation log lists become the tools of the record."""

import json

import pytest

SCHEMA = {"type": "object", "properties": {"order": {"type": "string"}}}
REFUND = {"name": "refund", "description": "Refund an order.", "parameters": SCHEMA}
FUNCTION = {"type": "function", "function": REFUND}


def trace(**attributes):
    """A trace of one answer of a model, with these attributes."""
    said = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Refund it."}]}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]),
    }
    told = [{"key": key, "value": {"stringValue": value}} for key, value in (said | attributes).items()]
    one = {"traceId": "t1", "spanId": "s1", "name": "chat", "startTimeUnixNano": "1", "attributes": told}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.tool.definitions": json.dumps([FUNCTION])},
        {"gen_ai.tool.definitions": json.dumps([REFUND])},
        {"llm.tools.0.tool.json_schema": json.dumps(FUNCTION)},
        {"llm.tools": json.dumps([{"tool.json_schema": json.dumps(FUNCTION)}])},
        {
            "llm.request.functions.0.name": "refund",
            "llm.request.functions.0.description": "Refund an order.",
            "llm.request.functions.0.parameters": json.dumps(SCHEMA),
        },
        {"ai.prompt.tools": json.dumps([json.dumps({"type": "function", **REFUND})])},
        {
            "gen_ai.tool.definitions": json.dumps([FUNCTION]),
            "gen_ai.tool.name": "refund",
            "gen_ai.tool.description": "x",
        },
    ],
)
def test_a_trace_lists_its_tools_in_every_convention(attributes, write, trajectories):
    (record,) = trajectories(write("log.json", json.dumps(trace(**attributes))))
    (tool,) = record.tools
    assert (tool.name, tool.description, tool.parameter_names) == ("refund", "Refund an order.", ("order",))


def test_a_trace_without_tools_has_none(write, trajectories):
    (record,) = trajectories(write("log.json", json.dumps(trace())))
    assert record.tools == ()
    assert "tools" not in record.extra


def test_an_evaluation_log_lists_the_tools_of_its_model_calls(write, trajectories):
    said = [{"role": "user", "content": "Refund it."}, {"role": "assistant", "content": "Done."}]
    asked = {"event": "model", "input": said[:1], "output": {}, "tools": [REFUND]}
    sample = {"id": 1, "epoch": 1, "input": "Refund it.", "messages": said, "events": [asked, asked]}
    log = {"version": 2, "status": "success", "eval": {"task": "shop", "model": "m"}, "samples": [sample]}
    (record,) = trajectories(write("log.json", json.dumps(log)))
    assert [tool.name for tool in record.tools] == ["refund"]
    assert record.tools[0].parameter_names == ("order",)
