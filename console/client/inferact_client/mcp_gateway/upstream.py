"""One MCP server behind the gateway: its connection, its current tools, and calls, each of which is sent once.

The servers' resources and prompts pass through without a check, because they run nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
    Tool,
)

from inferact_client.mcp_gateway.servers_file import ServerSpec
from inferact_client.transport import within

_CONNECT_S, _LIST_S = 30.0, 20.0
_MOST_PAGES = 100
_log = logging.getLogger(__name__)


class ServerAway(Exception):
    """An unreachable or ended server; the message names the server."""


class Upstream:
    """The connection to one server, which is opened on demand, and opened again after the server has ended."""

    def __init__(self, spec: ServerSpec) -> None:
        self.spec = spec
        self._client: Client | None = None
        self._holding: asyncio.Task[None] | None = None
        self._lock, self._ends = asyncio.Lock(), asyncio.Event()
        self._first: dict[str, str] | None = None

    async def list_tools(self) -> dict[str, Tool]:
        """Return the tools that the server lists now; raise ServerAway if the server is unreachable."""
        found = {tool.name: tool for tool in await self.list_all("list_tools", "tools")}
        if self._first is None:
            self._first = {name: definition_digest(tool) for name, tool in found.items()}
        return found

    def is_changed(self, tool: Tool) -> bool:
        """Return whether the tool is new or defined differently since the gateway first listed the server's tools."""
        return self._first is not None and self._first.get(tool.name) != definition_digest(tool)

    async def list_all(self, method: str, field: str) -> list[Any]:
        """Return all pages of a listing; connect again once if the connection is lost, then raise ServerAway."""
        for last in (False, True):
            client = await self.connect()
            try:
                return await within(_list_pages(getattr(client, method), field), _LIST_S)
            except Exception as lost:
                await self.drop(client)
                if last:
                    raise ServerAway(
                        f"The server {self.spec.name} does not list its {field} ({_words(lost)}). Check the server."
                    ) from lost
        raise AssertionError("unreachable")

    async def call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call the tool once, without a retry; raise the SDK's error if no result arrives."""
        client = await self.connect()
        return await client.call_tool(name, arguments)

    async def connect(self) -> Client:
        """Return the open client; raise ServerAway if the server is unreachable."""
        async with self._lock:
            if self._client is None:
                self._ends = asyncio.Event()
                ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
                self._holding = asyncio.create_task(self._hold(ready, self._ends))
                try:
                    self._client = await asyncio.wait_for(asyncio.shield(ready), _CONNECT_S)
                except Exception as failed:
                    self._holding.cancel()
                    raise ServerAway(
                        f"The server {self.spec.name} cannot be reached ({_words(failed)}). Check its command or "
                        "address."
                    ) from failed
            return self._client

    async def drop(self, client: Client | None = None) -> None:
        """Close the connection, unless another connection has replaced `client`."""
        async with self._lock:
            if self._client is None or (client is not None and self._client is not client):
                return
            self._client, holding = None, self._holding
            self._ends.set()
        if holding is not None:
            await asyncio.wait({holding}, timeout=5)
            holding.cancel()

    async def _hold(self, ready: asyncio.Future[Client], ends: asyncio.Event) -> None:
        """Keep the client open in one task, as the SDK requires, until the event `ends` is set."""
        try:
            async with _open(self.spec) as client:
                if not ready.done():
                    ready.set_result(client)
                await ends.wait()
        except asyncio.CancelledError:
            if not ready.done():
                ready.set_exception(ServerAway("no answer"))
            raise
        except BaseException as failed:
            if not ready.done():
                ready.set_exception(ServerAway(_words(failed)))
            else:
                _log.warning("The connection to the server %s ended: %s", self.spec.name, _words(failed))


def definition_digest(tool: Tool) -> str:
    """Return the SHA-256 (hex) of a tool's schemas and of its texts for the agent and the reviewer."""
    known = tool.model_dump(mode="json", include={"name", "title", "description", "input_schema", "output_schema"})
    known["annotations"] = tool.annotations.model_dump(mode="json") if tool.annotations is not None else None
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


@asynccontextmanager
async def _open(spec: ServerSpec) -> AsyncIterator[Client]:
    # No cache: a definition that changed must be seen before the call runs.
    if spec.command:
        parameters = StdioServerParameters(
            command=spec.command, args=list(spec.args), env=dict(spec.env), cwd=spec.cwd or None
        )
        async with Client(parameters, cache=None) as client:
            yield client
        return
    timeout = httpx2.Timeout(_CONNECT_S, read=None)
    async with (
        httpx2.AsyncClient(headers=dict(spec.headers), timeout=timeout, trust_env=False) as http,
        Client(streamable_http_client(spec.url, http_client=http), cache=None) as client,
    ):
        yield client


async def _list_pages(get: Callable[..., Any], field: str) -> list[Any]:
    found, cursor = list[Any](), None
    for _ in range(_MOST_PAGES):
        page = await get(cursor=cursor)
        found += getattr(page, field)
        if (cursor := page.next_cursor) is None:
            break
    return found


def _words(failure: BaseException) -> str:
    """Return one line about a failure; in a group of failures, the first failure is the cause."""
    # Python 3.10 has no name for groups of exceptions.
    while grouped := getattr(failure, "exceptions", ()):
        failure = grouped[0]
    text = ""
    with suppress(Exception):
        text = str(failure)
    return " ".join(text.split())[:300] or type(failure).__name__


Public = Callable[[Upstream, str], str]
"""A function that returns the name that the agent sees for a server's own name."""


def pass_through(upstreams: list[Upstream], public: Public) -> dict[str, Any]:
    """Return the handlers for resources and prompts, as options of the SDK's `Server`.

    Unreachable servers, and servers without resources or prompts, are skipped. Sampling, elicitation and roots are
    not offered to the servers, so the SDK refuses such requests by name.
    """

    async def collect(method: str, field: str) -> list[tuple[Upstream, Any]]:
        found = list[tuple[Upstream, Any]]()
        for upstream in upstreams:
            try:
                found += [(upstream, one) for one in await upstream.list_all(method, field)]
            except ServerAway:
                continue
        return found

    async def list_resources(_context: Any, _params: Any) -> ListResourcesResult:
        return ListResourcesResult(resources=[one for _, one in await collect("list_resources", "resources")])

    async def list_templates(_context: Any, _params: Any) -> ListResourceTemplatesResult:
        found = await collect("list_resource_templates", "resource_templates")
        return ListResourceTemplatesResult(resource_templates=[one for _, one in found])

    async def read_resource(_context: Any, params: Any) -> ReadResourceResult:
        return await _read_resource(upstreams, params.uri)

    async def list_prompts(_context: Any, _params: Any) -> ListPromptsResult:
        found = await collect("list_prompts", "prompts")
        return ListPromptsResult(
            prompts=[one.model_copy(update={"name": public(upstream, one.name)}) for upstream, one in found]
        )

    async def get_prompt(_context: Any, params: Any) -> GetPromptResult:
        for upstream, one in await collect("list_prompts", "prompts"):
            if public(upstream, one.name) == params.name:
                return await (await upstream.connect()).get_prompt(one.name, params.arguments)
        raise MCPError(INVALID_PARAMS, f"No server has a prompt named {params.name!r}. List the prompts again.")

    return {
        "on_list_resources": list_resources,
        "on_list_resource_templates": list_templates,
        "on_read_resource": read_resource,
        "on_list_prompts": list_prompts,
        "on_get_prompt": get_prompt,
    }


async def _read_resource(upstreams: list[Upstream], uri: Any) -> ReadResourceResult:
    """Return the resource of the first server that has it; raise the last server's refusal."""
    failure: Exception = MCPError(INVALID_PARAMS, f"No server has a resource {uri}.")
    for upstream in upstreams:
        try:
            return await (await upstream.connect()).read_resource(uri)
        except (MCPError, ServerAway) as failed:
            failure = failed
    raise MCPError(INVALID_PARAMS, str(failure))
