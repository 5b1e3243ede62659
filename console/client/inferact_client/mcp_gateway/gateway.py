"""The gateway, which shows its servers' tools and runs a call only after the console has recorded its beginning."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool

from inferact_client.decision import Check, Decision
from inferact_client.errors import CheckRefused, ClientError
from inferact_client.gate import Gate
from inferact_client.mcp_gateway.held import HeldChecks
from inferact_client.mcp_gateway.http_tools import HttpTools
from inferact_client.mcp_gateway.servers_file import GatewaySpec
from inferact_client.mcp_gateway.tasks import AgentTask, AgentTasks, Journal
from inferact_client.mcp_gateway.upstream import ServerAway, Upstream, definition_digest, pass_through

STILL_WAITING = (
    "Still waiting for a person to decide about this call; it has not run. Call the tool again with the same "
    "arguments to go on waiting for the same decision."
)
_CHANGED = (
    "The server {server} changed the definition of this tool while a person decided, so the decision does not hold and "
    "the call did not run. Call the tool again to ask about its new definition."
)
_CONSOLE_S, _END_S = 30.0, 10.0
_MOST_OBSERVATION = 20_000
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Call:
    """One call of the agent: its server's tool as listed at this moment, and its arguments."""

    upstream: Upstream
    tool: Tool
    arguments: dict[str, Any]
    task: AgentTask

    @property
    def name(self) -> str:
        """The name of the tool for policies and reviewers, with the server's name."""
        return f"mcp__{self.upstream.spec.name}__{self.tool.name}"

    @property
    def key(self) -> tuple[str, ...]:
        """The key that identifies a repeated call: task, tool, the tool's definition and the arguments."""
        given = json.dumps(self.arguments, sort_keys=True)
        return self.task.id, self.name, definition_digest(self.tool), given

    @property
    def hints(self) -> dict[str, bool]:
        """The hints for policies; a server's annotations count only if the operator trusts the server."""
        said = self.tool.annotations if self.upstream.spec.trust_annotations else None
        read_only, harmless = (said.read_only_hint is True, said.destructive_hint is False) if said else (False, False)
        return {"read_only": read_only, "destructive": not harmless, "changed": self.upstream.is_changed(self.tool)}


class Gateway:
    """The tools of all servers behind one MCP server; with several servers, their names precede the tools' names."""

    def __init__(self, spec: GatewaySpec) -> None:
        self._gate = Gate(spec.run, url=spec.url, token=spec.token, deadline_s=_CONSOLE_S)
        self._upstreams = [(HttpTools if one.tools else Upstream)(one) for one in spec.servers]
        self._expires_s, self._journal = spec.expires_s, Journal(spec.journal)
        self._tasks = AgentTasks(self._journal)
        self._held = HeldChecks(self._gate, spec.hold_s, spec.return_s)
        self._running: set[asyncio.Task[CallToolResult]] = set()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Server[Any]]:
        """Yield the MCP server; at the end, let running calls finish, withdraw pending checks and end the servers."""
        try:
            for upstream in self._upstreams:
                try:
                    await upstream.list_tools()
                except ServerAway as away:
                    _log.warning("%s Its tools appear when it answers.", away)
            await self._report_again()
            more = pass_through(self._upstreams, self._public)
            yield Server("inferact-mcp", on_list_tools=self._list_tools, on_call_tool=self._call_tool, **more)
        finally:
            if self._running:
                await asyncio.wait(self._running, timeout=_END_S)
            await self._held.withdraw_all()
            for upstream in self._upstreams:
                await upstream.drop()
            self._gate.close()
            self._journal.close()

    def _public(self, upstream: Upstream, name: str) -> str:
        return name if len(self._upstreams) == 1 else f"{upstream.spec.name}__{name}"

    async def _list_tools(self, _context: Any, _params: Any) -> ListToolsResult:
        shown = list[Tool]()
        for upstream in self._upstreams:
            try:
                found = await upstream.list_tools()
            except ServerAway as away:
                _log.warning("%s", away)
                continue
            shown += [tool.model_copy(update={"name": self._public(upstream, name)}) for name, tool in found.items()]
        return ListToolsResult(tools=shown)

    async def _call_tool(self, context: Any, params: CallToolRequestParams) -> CallToolResult:
        try:
            call = await self._find(context, params)
            decision = await self._held.decide(call.key, lambda: self._submit(call), context.session.report_progress)
        except (ServerAway, ClientError) as failed:
            return _refusal(str(failed))
        if decision is None:
            return _refusal(STILL_WAITING)
        if not decision.approved:
            return _refusal(decision.message)
        running = asyncio.create_task(self._run(call, decision))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        # A call that the client cancels now has begun: it goes on, so that its result is recorded.
        return await asyncio.shield(running)

    async def _find(self, context: Any, params: CallToolRequestParams) -> _Call:
        """Return the call with its tool as the server lists it now; raise ServerAway, or CheckRefused if unknown."""
        for upstream in self._upstreams:
            prefix = self._public(upstream, "")
            if params.name.startswith(prefix):
                tool = (await upstream.list_tools()).get(params.name[len(prefix) :])
                if tool is not None:
                    headers = getattr(context.request, "headers", None) or {}
                    task = self._tasks.find(context.meta, headers.get("mcp-session-id", ""))
                    return _Call(upstream, tool, dict(params.arguments or {}), task)
        raise CheckRefused(f"No server has a tool named {params.name!r}. List the tools again.")

    async def _submit(self, call: _Call) -> Check:
        task, action = call.task, {"name": call.name, "arguments": call.arguments}
        try:
            return await self._gate.asubmit(
                task.text,
                task.steps,
                action,
                task_id=task.id,
                tool_schema=call.tool.input_schema,
                hints=call.hints,
                expires_s=self._expires_s,
            )
        except CheckRefused as refused:
            return Check(None, Decision(False, "", str(refused), "refused"))

    async def _run(self, call: _Call, decision: Decision) -> CallToolResult:
        """Begin the call, run it once and record its result."""
        arguments = _arguments(call, decision)
        if arguments is None:
            return _refusal(f"A reviewer changed this call to {decision.action}, so it did not run. Make that call.")
        try:
            now = (await call.upstream.list_tools()).get(call.tool.name)
        except ServerAway as away:
            return _refusal(f"{away} The call did not run.")
        if now is None or definition_digest(now) != definition_digest(call.tool):
            said = f"The tool's definition was {_describe(call.tool)} and is now {_describe(now)}."
            call.task.add("tools/list", {"server": call.upstream.spec.name, "tool": call.tool.name}, said)
            return _refusal(_CHANGED.format(server=call.upstream.spec.name))
        begun = await self._gate.abegin(decision)
        if not begun.approved:
            return _refusal(begun.message)
        if call.task.is_named:
            known = {"task": call.task.id, "name": call.name, "arguments": arguments}
            self._journal.write("begun", begun.check_id, **known)
        try:
            result = await call.upstream.call(call.tool.name, arguments)
            observation = _text(result)
        except (MCPError, ServerAway, OSError, ValueError, RuntimeError) as failed:
            observation = f"The server {call.upstream.spec.name} returned no result ({failed}). The call may have run."
            result = _refusal(observation)
        await self._record(call, begun, arguments, observation)
        if begun.message:
            return result.model_copy(update={"content": [TextContent(text=begun.message), *result.content]})
        return result

    async def _record(self, call: _Call, begun: Decision, arguments: dict[str, Any], observation: str) -> None:
        kept = observation[:_MOST_OBSERVATION]
        call.task.add(call.name, arguments, kept)
        if call.task.is_named:
            self._journal.write("result", begun.check_id, text=kept)
        await self._report(begun.check_id, kept)

    async def _report(self, check_id: str | None, text: str) -> None:
        """Report a result to the console; if this fails, the result stays in the journal."""
        try:
            await self._gate.adone(check_id or "", text)
            self._journal.write("reported", check_id)
        except ClientError as failure:
            _log.warning("The result of check %s is not recorded: %s", check_id, failure)

    async def _report_again(self) -> None:
        """Report the results that an earlier process could not report."""
        for check_id, text in self._journal.unreported().items():
            await self._report(check_id, text)


def _arguments(call: _Call, decision: Decision) -> dict[str, Any] | None:
    """Return the arguments to use, or None if a reviewer's edit names another tool."""
    if not decision.edited:
        return call.arguments
    if (decision.call or {}).get("name") not in (call.name, call.tool.name):
        return None
    return decision.arguments


def _describe(tool: Tool | None) -> str:
    if tool is None:
        return "missing"
    told = tool.model_dump(mode="json", include={"name", "description", "input_schema"}, exclude_none=True)
    return json.dumps(told, sort_keys=True)[:2_000]


def _text(result: CallToolResult) -> str:
    """Return a result as text for the reviewer of a later call; parts without text are named by their type."""
    parts = [part.text if isinstance(part, TextContent) else f"[{part.type}]" for part in result.content]
    return ("Error: " if result.is_error else "") + "\n".join(parts)


def _refusal(words: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=words)], is_error=True)
