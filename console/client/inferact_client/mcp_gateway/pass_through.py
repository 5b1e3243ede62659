"""Resources and prompts of the servers, which the gateway passes through without a check, because they run nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
)

from inferact_client.mcp_gateway.upstream import ServerAway, Upstream

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
