"""What the libraries of other formats write is read, and they read our samples: `pip install -e ".[interop]"`."""

import asyncio
import base64
import json

import orjson
import pytest

from tests.console.runs.importers.samples import _ANTHROPIC, _ITEMS, SAMPLES, say

pytestmark = pytest.mark.filterwarnings("default")
EXTRA = 'comes with the extra interop: pip install -e ".[interop]"'


def library(name):
    return pytest.importorskip(name, reason=f"{name} {EXTRA}")


@pytest.fixture
def actions(write, trajectories):
    """A function from a file's content to the actions of each trajectory in it."""

    def of(content, name="log"):
        text = content if isinstance(content, (str, bytes)) else json.dumps(content)
        return [[step.action for step in one.steps] for one in trajectories(write(name, text))]

    return of


def test_langchain_messages_in_its_three_forms(actions):
    messages, load = library("langchain_core.messages"), library("langchain_core.load")
    call = {"name": "pay", "args": {"n": 1}, "id": "c1"}
    said = [
        messages.SystemMessage("Be exact."),
        messages.HumanMessage("Pay"),
        messages.AIMessage("", tool_calls=[call]),
        messages.ToolMessage("paid", tool_call_id="c1", name="pay"),
        messages.AIMessage("Paid."),
    ]
    wanted = [['pay({"n":1})', say("Paid.")]]
    assert actions(messages.messages_to_dict(said)) == wanted
    assert actions([message.model_dump() for message in said]) == wanted
    assert actions({"messages": load.dumpd(said)}) == wanted


def test_langchain_reads_our_sample():
    messages = library("langchain_core.messages")
    record = orjson.loads(SAMPLES["langchain-messages"].content.split(b"\n")[0])
    read = messages.messages_from_dict([{"type": one["type"], "data": one} for one in record["messages"]])
    assert [call["name"] for one in read for call in getattr(one, "tool_calls", [])] == ["pay"]


def test_anthropic_reads_our_sample():
    types = library("anthropic.types")
    spoken = [one for one in _ANTHROPIC["messages"] if one["role"] == "assistant" and isinstance(one["content"], list)]
    usage = {"input_tokens": 1, "output_tokens": 1}
    for message in spoken:
        content = [{"citations": None, **part} if part["type"] == "text" else part for part in message["content"]]
        whole = {"id": "m", "type": "message", "role": "assistant", "model": "m", "usage": usage, "content": content}
        read = types.Message.model_validate({**whole, "stop_reason": None, "stop_sequence": None})
        assert [block.type for block in read.content] == [part["type"] for part in content]


def test_openai_reads_our_items_and_we_read_its_response(actions):
    types = library("openai.types.responses")
    filled = []
    for number, one in enumerate(_ITEMS):
        more = {"id": f"i{number}"} | one
        if one["type"] == "message":
            more |= {"status": "completed", "content": [{"annotations": [], **part} for part in one["content"]]}
        filled.append(more)
    given = [
        one for one in filled if one["type"] in ("reasoning", "function_call", "web_search_call", "custom_tool_call")
    ]
    shared = {"id": "r", "object": "response", "created_at": 1, "model": "m", "tools": [], "tool_choice": "auto"}
    response = types.Response.model_validate({**shared, "parallel_tool_calls": True, "output": [*given, filled[-1]]})
    assert [one.type for one in response.output] == [*(one["type"] for one in given), "message"]
    assert len(actions(response.model_dump_json())[0]) == 5


def test_a_run_of_the_agents_sdk(actions):
    agents, tracing = library("agents"), library("agents.tracing")
    responses, rows = library("openai.types.responses"), []

    class Kept(tracing.TracingProcessor):
        def on_trace_start(self, trace):
            rows.append(trace.export())

        def on_span_end(self, span):
            rows.append(span.export())

        def on_trace_end(self, trace): ...
        def on_span_start(self, span): ...
        def shutdown(self): ...
        def force_flush(self): ...

    class Scripted(agents.Model):
        answers = [
            responses.ResponseFunctionToolCall(
                type="function_call", name="refund", arguments='{"n":1}', call_id="c1", id="f1"
            ),
            responses.ResponseOutputMessage.model_validate(
                {"id": "m", "type": "message", "role": "assistant", "status": "completed",
                 "content": [{"type": "output_text", "text": "Done.", "annotations": []}]}
            ),
        ]  # fmt: skip

        async def get_response(self, system_instructions, input, *args, **kwargs):
            answer = self.answers.pop(0)
            asked = [{"role": "user", "content": input}] if isinstance(input, str) else input
            with tracing.generation_span(input=asked, output=[answer.model_dump()]):
                return agents.ModelResponse(output=[answer], usage=agents.Usage(), response_id=None)

        def stream_response(self, *args, **kwargs):
            raise NotImplementedError

    @agents.function_tool
    def refund(n: int) -> str:
        """Refunds."""
        return f"refunded {n}"

    tracing.set_trace_processors([Kept()])
    desk = agents.Agent(name="desk", tools=[refund], model=Scripted())
    done = asyncio.run(agents.Runner.run(desk, "Refund me"))
    wanted = [['refund({"n":1})', say("Done.")]]
    assert actions("\n".join(json.dumps(row, default=str) for row in rows)) == wanted
    assert actions(done.to_input_list()) == wanted


def test_opentelemetry_reads_our_spans_and_we_read_its_json(actions):
    json_format, traces = library("google.protobuf.json_format"), library("opentelemetry.proto.trace.v1.trace_pb2")
    written = []
    for line in SAMPLES["otel"].content.splitlines():
        batch = orjson.loads(line)
        for span in batch["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            for name in ("traceId", "spanId", "parentSpanId"):
                span[name] = base64.b64encode(span[name].encode()).decode()
        parsed = json_format.Parse(orjson.dumps(batch), traces.TracesData())
        written.append(json_format.MessageToJson(parsed, indent=None))
    assert actions("\n".join(written)) == SAMPLES["otel"].actions


def test_inspect_reads_our_log_and_we_read_what_it_writes(write, trajectories, actions, tmp_path):
    log = library("inspect_ai.log")
    read = log.read_eval_log(str(write("ours.json", _whole_inspect_log())))
    assert [len(sample.messages) for sample in read.samples] == [6, 6]
    written = tmp_path / "theirs.json"
    log.write_eval_log(read, str(written))
    assert [[step.action for step in one.steps] for one in trajectories(written)] == SAMPLES["inspect"].actions
    from console.runs.importers.parts.files import plain_files

    packed = tmp_path / "theirs.eval"
    log.write_eval_log(read, str(packed))
    ((_, plain),) = plain_files(packed, tmp_path / "unpacked")
    assert sorted(len(one.steps) for one in trajectories(plain)) == [3, 3]


def _whole_inspect_log():
    """Our sample with the fields that Inspect's reader needs."""
    log = orjson.loads(SAMPLES["inspect"].content)
    log["eval"] |= {"run_id": "r", "created": "2026-01-01T00:00:00+00:00", "task_id": "t", "dataset": {}, "config": {}}
    log["eval"] |= {"eval_id": "e"}
    for sample in log["samples"]:
        sample["events"] = []
    return orjson.dumps(log)
