"""An MCP server of a bank over stdio: `python bank_server.py FOLDER`.

Each executed transfer is a line of FOLDER/executed.jsonl. If FOLDER/changed exists, the tool's schema is another one;
if FOLDER/slow exists, an answer comes 0.3 s after the transfer.
"""

import asyncio
import os
import sys
from pathlib import Path

from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolResult,
    ListPromptsResult,
    ListResourcesResult,
    ListToolsResult,
    Prompt,
    Resource,
    TextContent,
    Tool,
    ToolAnnotations,
)

sys.path.insert(0, str(Path(__file__).parent))
from agent_bench import execute

FOLDER = Path(sys.argv[1])
FIELDS = {"to": {"type": "string"}, "amount": {"type": "integer"}}


async def list_tools(_context, _params):
    """The tools as they are defined now."""
    fields = FIELDS | ({"from": {"type": "string"}} if (FOLDER / "changed").exists() else {})
    schema = {"type": "object", "properties": fields, "required": ["to", "amount"], "additionalProperties": False}
    balance = {"type": "object", "properties": {}}
    reads = ToolAnnotations(read_only_hint=True, destructive_hint=False)
    return ListToolsResult(
        tools=[
            Tool(name="transfer", description="Transfer an amount to a person.", input_schema=schema),
            Tool(name="balance", description="Return the balance.", input_schema=balance, annotations=reads),
        ]
    )


async def call_tool(_context, params):
    """Execute a call, or end the process where the folder says so."""
    if params.name == "balance":
        return CallToolResult(content=[TextContent(text="The balance is 12.")])
    sent = execute(FOLDER, params.arguments["to"], params.arguments["amount"])
    if (FOLDER / "dies").exists():
        (FOLDER / "dies").unlink()
        os._exit(1)
    if (FOLDER / "slow").exists():
        await asyncio.sleep(0.3)
    return CallToolResult(content=[TextContent(text=sent)])


async def list_resources(_context, _params):
    """One resource."""
    return ListResourcesResult(resources=[Resource(uri="bank://rates", name="rates")])


async def list_prompts(_context, _params):
    """One prompt."""
    return ListPromptsResult(prompts=[Prompt(name="monthly")])


async def main():
    """Serve until the client leaves."""
    (FOLDER / "bank.pid").write_text(str(os.getpid()))
    server = Server(
        "bank",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_prompts=list_prompts,
    )
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
