"""Items of OpenAI's Responses API: a response, a request with its response, or a list of items, one a record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from console.runs.importers.parts.json_records import base_of, outline
from console.runs.importers.parts.message_records import conversations
from console.runs.importers.records import Entry, Importer, Progress

_NAME = "openai-responses"
_MARKS = ((".output[].type",), (".input[].type",), (".input[].role",), (".items[].type",), (".response.output[].type",))
_BARE = (("[].type",), ("[].role",), ("[].content",))
_ITEMS = re.compile(
    rb'"type"\s*:\s*"(?:function_call(?:_output)?|custom_tool_call|[a-z_]+_call|output_text|input_text)"'
)


def recognises(path: Path, head: bytes) -> bool:
    """Whether there are items of types that only this form has."""
    paths = outline(head)
    return base_of(paths, *_MARKS, *_BARE) is not None and _ITEMS.search(head) is not None


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """The conversations; one in which the agent does nothing is skipped."""
    yield from conversations(_NAME, path, progress, *_MARKS, *_BARE)


IMPORTER = Importer(_NAME, "Items of the OpenAI Responses API and the Agents SDK", recognises, read, _MARKS)
