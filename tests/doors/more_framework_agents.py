"""More agents of real frameworks with their own fake models: Inspect and Microsoft Agent Framework."""

import asyncio
import os

from agent_bench import transfer


def inspect(bench):
    """An evaluation of one sample whose calls the approver `gate` decides, with Inspect's mock model."""
    os.environ["INFERACT_TOKEN"] = bench.token
    from inferact_client.adapters.inspect import gate
    from inspect_ai import Task, eval
    from inspect_ai.approval import ApprovalPolicy
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageAssistant, ModelOutput, ModelUsage, get_model
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import ToolCall, tool

    @tool(name="transfer")
    def transferring():
        async def execute(to: str, amount: int) -> str:
            """Transfer an amount to a person.

            Args:
                to: the person
                amount: the amount
            """
            return transfer(to, amount)

        return execute

    got = []

    def answer(messages, _tools, _tool_choice, _config):
        results = [one for one in messages if one.role == "tool"]
        got[:] = [one.error.message if one.error else one.text for one in results]
        said = ModelOutput.from_content("mockllm", "Finished." if results else "")
        # Inspect would count the tokens itself, with a table from the network.
        said.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        if results:
            return said
        calls = [ToolCall(id=f"c{n}", function=c["name"], arguments=c["arguments"]) for n, c in enumerate(bench.calls)]
        said.choices[0].message = ChatMessageAssistant(content="", tool_calls=calls)
        return said

    task = Task([Sample(bench.task, id=bench.task[:40])], solver=[use_tools(transferring()), generate()])
    policy = ApprovalPolicy(gate(bench.run, bench.url, bench.deadline_s), "*")
    model = get_model("mockllm/model", custom_outputs=answer)
    (log,) = eval(task, model=model, approval=[policy], display="none", log_dir=str(bench.folder / "logs"))
    assert log.status in ("success", "cancelled"), log.error
    return got


def agent_framework(bench):
    """An agent of Microsoft's framework with `gated(gate)`."""
    from agent_framework import (
        Agent,
        AgentSession,
        BaseChatClient,
        ChatMiddlewareLayer,
        ChatResponse,
        Content,
        FunctionInvocationLayer,
        Message,
        tool,
    )
    from inferact_client.adapters.agent_framework import gated

    got = []

    class Fake(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
        def _inner_get_response(self, *, messages, stream, options, **_):
            async def work():
                parts = [part for one in messages for part in one.contents if part.type == "function_result"]
                got[:] = [str(part.result) for part in parts]
                said = [
                    Content.from_function_call(f"c{n}", c["name"], arguments=c["arguments"])
                    for n, c in enumerate(bench.calls)
                ]
                contents = [Content.from_text("Finished.")] if parts else said
                return ChatResponse(messages=[Message("assistant", contents)])

            return work()

    agent = Agent(Fake(), tools=[tool(transfer, approval_mode="never_require")], middleware=gated(bench.gate))
    asyncio.run(agent.run(bench.task, session=AgentSession(session_id=bench.task)))
    return got
