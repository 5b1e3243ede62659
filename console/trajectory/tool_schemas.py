"""Schemas of the tools offered to an agent: name, description, parameters, and the server's hints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

MOST_TOOLS = 2_000
_LONGEST_SUMMARY = 400
_PARAMETERS = ("parameters", "inputSchema", "input_schema", "parametersJsonSchema", "args_schema", "params")


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """The schema of a tool: `parameters` is the JSON Schema, `read_only` and `destructive` are the server's hints."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    read_only: bool | None = None
    destructive: bool | None = None

    @property
    def summary(self) -> str:
        """The first sentence of the description."""
        first = self.description.strip()[:_LONGEST_SUMMARY].split("\n", 1)[0]
        return first.split(". ", 1)[0]

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        named = self.parameters.get("properties")
        return tuple(map(str, named)) if isinstance(named, Mapping) else ()

    def to_dict(self) -> dict[str, Any]:
        """Return the canonical form without empty fields."""
        record: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        hints = {"read_only": self.read_only, "destructive": self.destructive}
        return {key: value for key, value in record.items() if value} | {
            key: value for key, value in hints.items() if value is not None
        }


def read_schema(offered: object) -> ToolSchema | None:
    """Parse a tool in the dialect of OpenAI, Anthropic, MCP, Gemini or the canonical form; None if it has no name."""
    if not isinstance(offered, Mapping):
        return None
    held = offered.get("function")
    tool = held if isinstance(held, Mapping) else offered
    name = tool.get("name")
    if not isinstance(name, str) or not name.strip():
        return None
    parameters: Mapping[str, Any] = next((tool[key] for key in _PARAMETERS if isinstance(tool.get(key), Mapping)), {})
    hints = tool.get("annotations")
    hints = hints if isinstance(hints, Mapping) else {}
    description = tool.get("description")
    return ToolSchema(
        name.strip(),
        description if isinstance(description, str) else "",
        parameters,
        _hint(tool.get("read_only"), hints.get("readOnlyHint")),
        _hint(tool.get("destructive"), hints.get("destructiveHint")),
    )


def read_schemas(offered: object) -> tuple[ToolSchema, ...]:
    """Parse a list of tools, a list of Gemini's tool groups, or either as JSON text; keep the last tool of each name.

    Omit tools without a name, and all other values.
    """
    if isinstance(offered, str):
        try:
            offered = orjson.loads(offered)
        except orjson.JSONDecodeError:
            return ()
    found: dict[str, ToolSchema] = {}
    for tool in _list_tools(offered):
        if (schema := read_schema(tool)) is not None and len(found) < MOST_TOOLS:
            found[schema.name] = schema
    return tuple(found.values())


def find_schema(tools: Iterable[ToolSchema], name: str) -> ToolSchema | None:
    """Return the schema of the tool with this name, or None if no tool has this name."""
    return next((tool for tool in tools if tool.name == name), None)


_GROUPS = ("functionDeclarations", "function_declarations")


def _list_tools(offered: object) -> Iterable[object]:
    for tool in offered if isinstance(offered, (list, tuple)) else ():
        groups = [tool[key] for key in _GROUPS if isinstance(tool.get(key), list)] if isinstance(tool, Mapping) else []
        yield from groups[0] if groups else (tool,)


def _hint(*stated: object) -> bool | None:
    return next((one for one in stated if isinstance(one, bool)), None)
