"""Plain conversations in OpenAI's message form: `{"messages": [...]}` or a bare list of messages, one a record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from console.runs.importers.parts.message_records import conversations
from console.runs.importers.records import Entry, Importer, Progress

_NAME = "openai-messages"
_MARKS = ((".messages[].role",), ("[].role",), (".messages[].content",), (".messages[].tool_calls",))
_FURTHER = (
    *((".response.body.choices",), (".choices[].message",)),
    *((".request.messages[].role",), (".contents[].parts",)),
)
"""Requests with their answers, what a batch gives back, and Gemini's contents."""


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """The conversations; one in which the assistant never speaks is skipped."""
    yield from conversations(_NAME, path, progress, *_MARKS, *_FURTHER)


IMPORTER = Importer(_NAME, "Conversations as OpenAI messages", read, _MARKS, also=_FURTHER)
