"""Agents of real frameworks with their own fake models, each behind the gate by its adapter."""

import asyncio
import json
import signal

from agent_bench import transfer


def langchain(bench, mode=None):
    """`create_agent` with `GateMiddleware`, or with `HumanInTheLoopMiddleware` in one of its modes."""
    gate, task, calls = bench.gate, bench.task, bench.calls
    from inferact_client.adapters.langchain import GateMiddleware
    from inferact_client.adapters.langgraph import resolve
    from langchain.agents import create_agent
    from langchain.agents.middleware import HumanInTheLoopMiddleware
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langgraph.checkpoint.memory import InMemorySaver

    class Fake(BaseChatModel):
        @property
        def _llm_type(self):
            return "fake"

        def bind_tools(self, _tools, **_):
            return self

        def _generate(self, messages, *_, **__):
            wanted = [{"name": c["name"], "args": c["arguments"], "id": f"c{n}"} for n, c in enumerate(calls)]
            answered = any(one.type == "tool" for one in messages)
            said = AIMessage("Finished.") if answered else AIMessage("", tool_calls=wanted)
            return ChatResult(generations=[ChatGeneration(message=said)])

    given = {"messages": [{"role": "user", "content": task}]}
    config = {"configurable": {"thread_id": task}}

    async def work():
        if mode is None:
            app = create_agent(Fake(), [transfer], middleware=[GateMiddleware(gate)])
            return await app.ainvoke(given, config)
        held = HumanInTheLoopMiddleware(interrupt_on={"transfer": True}, interrupt_mode=mode)
        app = create_agent(Fake(), [transfer], middleware=[held], checkpointer=InMemorySaver())
        return await resolve(app, await app.ainvoke(given, config), gate, config)

    out = asyncio.run(work())
    return [str(one.content) for one in out["messages"] if one.type == "tool"]


def langgraph_batched(bench):
    """`HumanInTheLoopMiddleware` with one interrupt for each message."""
    return langchain(bench, "batched")


def langgraph_per_call(bench):
    """`HumanInTheLoopMiddleware` with one interrupt for each call."""
    return langchain(bench, "per_call")


def pydantic_ai(bench):
    """An agent whose tool requires approval, with `handle(gate)`."""
    gate, task, calls = bench.gate, bench.task, bench.calls
    from inferact_client.adapters.pydantic_ai import handle
    from pydantic_ai import Agent, Tool
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def answer(messages, _info):
        if len(messages) > 1:
            return ModelResponse([TextPart("Finished.")])
        return ModelResponse([ToolCallPart(c["name"], c["arguments"], f"c{n}") for n, c in enumerate(calls)])

    agent = Agent(FunctionModel(answer), tools=[Tool(transfer, requires_approval=True)], capabilities=[handle(gate)])
    parts = [part for one in agent.run_sync(task).all_messages() for part in one.parts]
    return [str(part.content) for part in parts if part.part_kind in ("tool-return", "retry-prompt")]


def openai_agents(bench, wrapped=True):
    """An agent whose tool is wrapped by `gated`, or needs approval and is answered by `resolve`."""
    gate, task, calls = bench.gate, bench.task, bench.calls
    from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
    from inferact_client.adapters.openai_agents import gated, resolve
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    set_tracing_disabled(True)
    got = []

    class Fake(Model):
        async def get_response(self, system_instructions, input, *_, **__):
            results = [one for one in input if isinstance(one, dict) and one.get("type") == "function_call_output"]
            got[:] = [str(one["output"]) for one in results]
            text = ResponseOutputText(text="Finished.", type="output_text", annotations=[])
            said = [ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")]
            if not results:
                said = [
                    ResponseFunctionToolCall(
                        call_id=f"c{n}", name=c["name"], arguments=json.dumps(c["arguments"]), type="function_call"
                    )
                    for n, c in enumerate(calls)
                ]
            return ModelResponse(output=said, usage=Usage(), response_id=None)

        def stream_response(self, *_, **__):
            raise AssertionError("not streamed")

    async def work():
        tool = function_tool(transfer, needs_approval=not wrapped)
        agent = Agent(name="a", model=Fake(), tools=[gated(tool, gate, task_id=task) if wrapped else tool])
        result = await Runner.run(agent, task)
        return result if wrapped else await resolve(agent, result, gate, task_id=task)

    asyncio.run(work())
    return got


def openai_agents_approval(bench):
    """`needs_approval` with `resolve`, which cannot edit."""
    return openai_agents(bench, wrapped=False)


def strands(bench, is_called=False):
    """An agent with `GateHandler`, awaited or called."""
    gate, task, calls = bench.gate, bench.task, bench.calls
    from inferact_client.adapters.strands import GateHandler
    from strands import Agent, tool
    from strands.models import Model

    class Fake(Model):
        def update_config(self, **_):
            """Has no configuration."""

        def get_config(self):
            return {}

        def structured_output(self, *_, **__):
            raise AssertionError("not used")

        async def stream(self, messages, *_, **__):
            answered = any("toolResult" in part for one in messages for part in one["content"])
            yield {"messageStart": {"role": "assistant"}}
            for n, call in enumerate([] if answered else calls):
                yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": f"c{n}", "name": call["name"]}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(call["arguments"])}}}}
                yield {"contentBlockStop": {}}
            if answered:
                yield {"contentBlockStart": {"start": {}}}
                yield {"contentBlockDelta": {"delta": {"text": "Finished."}}}
                yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn" if answered else "tool_use"}}

    agent = Agent(model=Fake(), tools=[tool(transfer)], interventions=[GateHandler(gate, task_id=task)])
    if is_called:
        # `agent(task)` waits in a thread of its own, which Ctrl+C does not reach.
        signal.signal(signal.SIGINT, lambda *_: agent.cancel())
        agent(task)
    else:
        asyncio.run(agent.invoke_async(task))
    results = [part["toolResult"] for one in agent.messages for part in one["content"] if "toolResult" in part]
    return [" ".join(part.get("text", "") for part in one["content"]) for one in results]


def strands_called(bench):
    """`agent(task)`, which Ctrl+C cancels by `agent.cancel()`."""
    return strands(bench, is_called=True)


def google_adk(bench):
    """A runner with `GatePlugin`."""
    gate, task, calls = bench.gate, bench.task, bench.calls
    from google.adk.agents import LlmAgent
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.genai import types
    from inferact_client.adapters.google_adk import GatePlugin

    class Fake(BaseLlm):
        async def generate_content_async(self, llm_request, stream=False):
            parts = [part for one in llm_request.contents for part in one.parts or ()]
            said = [types.Part(text="Finished.")]
            if not any(part.function_response for part in parts):
                made = [
                    types.FunctionCall(id=f"c{n}", name=c["name"], args=c["arguments"]) for n, c in enumerate(calls)
                ]
                said = [types.Part(function_call=call) for call in made]
            yield LlmResponse(content=types.Content(role="model", parts=said))

    async def work():
        agent = LlmAgent(name="a", model=Fake(model="fake"), tools=[transfer])
        runner = InMemoryRunner(agent=agent, app_name="app", plugins=[GatePlugin(gate)])
        session = await runner.session_service.create_session(app_name="app", user_id="u")
        message = types.Content(role="user", parts=[types.Part(text=task)])
        events = runner.run_async(user_id="u", session_id=session.id, new_message=message)
        return [part for one in [event async for event in events] for part in (one.content and one.content.parts) or ()]

    return [json.dumps(p.function_response.response) for p in asyncio.run(work()) if p.function_response]
