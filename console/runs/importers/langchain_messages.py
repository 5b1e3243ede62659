"""LangChain and LangGraph messages: `type: human | ai | tool` in place of a role, plain, as `data` or serialised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from console.runs.importers.parts.message_records import conversations
from console.runs.importers.records import Entry, Importer, Progress

_NAME = "langchain-messages"
_MARKS = ((".messages[].type",), ("[].type",), (".messages[].lc",), ("[].lc",), (".values.messages[].type",))
_TYPES = re.compile(rb'"type"\s*:\s*"(?:human|ai|AIMessageChunk)"|"(?:AIMessage|AIMessageChunk|HumanMessage)"')


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """The conversations; one in which the agent does nothing is skipped."""
    yield from conversations(_NAME, path, progress, *_MARKS)


IMPORTER = Importer(_NAME, "LangChain and LangGraph messages", read, _MARKS, words=_TYPES)
