"""The operations of a plain HTTP service as tools, described by a file in OpenAPI 3."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import yaml
from mcp import Client
from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from inferact_client.errors import ClientError
from inferact_client.mcp_gateway.servers_file import ServerSpec
from inferact_client.mcp_gateway.upstream import ServerAway, Upstream

_METHODS = ("get", "head", "post", "put", "patch", "delete")
_JSON, _CALL_S, _MOST_TEXT, _DEEPEST = "application/json", 60.0, 200_000, 20
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Operation:
    """An operation and how its arguments form a request; `places` maps parameters to path, query or header."""

    tool: Tool
    method: str
    path: str
    places: Mapping[str, str]


class HttpTools(Upstream):
    """An HTTP service behind the gateway; its file is read again for each listing, so that a change asks again."""

    def __init__(self, spec: ServerSpec) -> None:
        super().__init__(spec)
        options = {"headers": dict(spec.headers), "timeout": _CALL_S, "trust_env": False}
        self._http = httpx.AsyncClient(base_url=spec.url, **options)
        self._operations = dict[str, _Operation]()

    async def list_all(self, method: str, field: str) -> list[Any]:
        """Return the operations as tools; raise ServerAway for other listings, or if the file is invalid."""
        if method != "list_tools":
            raise ServerAway(f"The service {self.spec.name} has no {field}.")
        try:
            self._operations = {one.tool.name: one for one in read_operations(Path(self.spec.tools))}
        except ClientError as unreadable:
            raise ServerAway(f"The service {self.spec.name} has no tools: {unreadable}") from unreadable
        return [one.tool for one in self._operations.values()]

    async def call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """Send the request once without following redirects; raise ServerAway if no response arrives."""
        try:
            one = self._operations[name]
            path, query, headers = _place(one, arguments)
        except (ClientError, KeyError) as unfit:
            return _result(f"The request was not sent: {unfit} Correct the call.", is_error=True)
        try:
            answer = await self._http.request(
                one.method, path, params=query, headers=headers, json=arguments.get("body")
            )
        except httpx.HTTPError as lost:
            raise ServerAway(f"{self.spec.name}: {type(lost).__name__} {lost}") from lost
        status = f"HTTP {answer.status_code}\n" if not answer.is_success else ""
        return _result(status + answer.text[:_MOST_TEXT], is_error=not answer.is_success)

    async def connect(self) -> Client:
        """Raise ServerAway, because the service does not speak MCP."""
        raise ServerAway(f"The service {self.spec.name} does not support MCP. Use only the tools of this service.")

    async def drop(self, client: Client | None = None) -> None:
        """Close the connections."""
        await self._http.aclose()


def read_operations(path: Path) -> list[_Operation]:
    """Return the operations of a file that accept JSON and log the others; raise ClientError if the file is invalid."""
    try:
        document = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as unreadable:
        raise ClientError(f"{path} cannot be read as YAML or JSON ({unreadable}). Correct the file.") from unreadable
    if not isinstance(document, Mapping) or not str(document.get("openapi", "")).startswith("3."):
        raise ClientError(f"{path} does not hold a description in OpenAPI 3. Give such a file as tools.")
    found = dict[str, _Operation]()
    for path_text, item in (document.get("paths") or {}).items():
        for method in _METHODS:
            if not isinstance(item, Mapping) or not isinstance(item.get(method), Mapping):
                continue
            try:
                one = _read_operation(document, str(path_text), item, method)
            except ClientError as left_out:
                _log.warning("%s %s is not offered: %s", method.upper(), path_text, left_out)
                continue
            if one.tool.name in found:
                raise ClientError(f"{path} has two operations named {one.tool.name}. Give each its own operationId.")
            found[one.tool.name] = one
    return list(found.values())


def _read_operation(document: Any, path: str, item: Mapping[str, Any], method: str) -> _Operation:
    told = item[method]
    if not path.startswith("/"):
        raise ClientError("its path does not start with /.")
    properties, required, places = dict[str, Any](), list[str](), dict[str, str]()
    # An operation's parameter replaces one of its path with the same name and place.
    given = {(one.get("name"), one.get("in")): one for one in _parameters(document, item, told)}
    for (name, place), parameter in given.items():
        if place not in ("path", "query", "header") or "schema" not in parameter:
            raise ClientError(f"the parameter {name} in {place} is not supported.")
        if name in places or name == "body":
            raise ClientError(f"the name {name} has two values.")
        places[str(name)] = place
        properties[str(name)] = _resolve(document, parameter["schema"])
        required += [str(name)] if parameter.get("required") or place == "path" else []
    body = _resolve(document, told.get("requestBody") or {})
    if body:
        if _JSON not in body.get("content", {}):
            raise ClientError(f"its body is not {_JSON}.")
        properties["body"] = body["content"][_JSON].get("schema", {})
        required += ["body"] if body.get("required") else []
    if missing := set(re.findall(r"{([^}]+)}", path)) - {name for name, place in places.items() if place == "path"}:
        raise ClientError(f"the path's {', '.join(sorted(missing))} is not described.")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", str(told.get("operationId") or f"{method}{path}")).strip("_")
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    reads = method in ("get", "head")
    hints = ToolAnnotations(read_only_hint=reads, destructive_hint=not reads)
    about = str(told.get("description") or told.get("summary") or f"{method.upper()} {path}")
    return _Operation(Tool(name=name, description=about, input_schema=schema, annotations=hints), method, path, places)


def _parameters(document: Any, item: Mapping[str, Any], told: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for parameter in [*(item.get("parameters") or ()), *(told.get("parameters") or ())]:
        yield _resolve(document, parameter)


def _resolve(document: Any, value: Any, depth: int = 0) -> Any:
    """Return the value with its references to the same file replaced; raise ClientError if a reference is invalid."""
    if depth > _DEEPEST:
        raise ClientError("its schema refers to itself.")
    if isinstance(value, list):
        return [_resolve(document, one, depth + 1) for one in value]
    if not isinstance(value, Mapping):
        return value
    if "$ref" not in value:
        return {name: _resolve(document, one, depth + 1) for name, one in value.items()}
    place, target = str(value["$ref"]), document
    for part in place.removeprefix("#/").split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if not place.startswith("#/") or not isinstance(target, Mapping) or key not in target:
            raise ClientError(f"the reference {place} is not in the file.")
        target = target[key]
    return _resolve(document, target, depth + 1)


def _place(one: _Operation, arguments: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]], dict[str, str]]:
    """Return path, query and headers of a request; raise ClientError if an argument has no place."""
    known = one.tool.input_schema
    if strange := set(arguments) - set(known["properties"]):
        raise ClientError(f"unknown arguments {', '.join(sorted(strange))}.")
    if missing := set(known["required"]) - set(arguments):
        raise ClientError(f"{', '.join(sorted(missing))} is missing.")
    path, query, headers = one.path, list[tuple[str, str]](), dict[str, str]()
    for name, place in one.places.items():
        if name not in arguments:
            continue
        values = arguments[name] if place == "query" and isinstance(arguments[name], list) else [arguments[name]]
        texts = [_text(name, value) for value in values]
        if place == "path":
            # A path that climbs would reach an operation without a decision.
            if texts[0] in ("", ".", ".."):
                raise ClientError(f"{name} is {texts[0]!r}, which is not a part of a path.")
            path = path.replace(f"{{{name}}}", quote(texts[0], safe=""))
        elif place == "query":
            query += [(name, text) for text in texts]
        elif "\n" in texts[0] or "\r" in texts[0]:
            raise ClientError(f"{name} has several lines.")
        else:
            headers[name] = texts[0]
    return path, query, headers


def _text(name: str, value: Any) -> str:
    if isinstance(value, (Mapping, list)) or value is None:
        raise ClientError(f"{name} is not a single value.")
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _result(text: str, *, is_error: bool) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=is_error)
