"""Items of OpenAI's Responses API: a response, a request with its response, or a list of items, one a record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from console.runs.importers.parts.message_records import conversations
from console.runs.importers.records import Entry, Importer, Progress

_NAME = "openai-responses"
_MARKS = ((".output[].type",), (".input[].type",), (".input[].role",), (".items[].type",), (".response.output[].type",))
_BARE = (("[].type",), ("[].role",), ("[].content",))
_ITEMS = re.compile(
    rb'"type"\s*:\s*"(?:function_call(?:_output)?|custom_tool_call|[a-z_]+_call|output_text|input_text)"'
)


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """The conversations; one in which the agent does nothing is skipped."""
    yield from conversations(_NAME, path, progress, *_MARKS, *_BARE)


IMPORTER = Importer(
    _NAME, "Items of the OpenAI Responses API and the Agents SDK", read, _MARKS, also=_BARE, words=_ITEMS
)
