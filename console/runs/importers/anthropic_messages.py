"""Conversations in Anthropic's message form: content in parts, with `tool_use`, `tool_result` and `thinking`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from console.runs.importers.parts.message_records import conversations
from console.runs.importers.records import Entry, Importer, Progress

_NAME = "anthropic-messages"
_MARKS = ((".messages[].role",), ("[].role",), (".request.messages[].role",))
_ANSWERS = ((".result.message.role",), (".role", ".content", ".stop_reason"))
"""What a batch gives back, and a bare answer."""
_OWN_PARTS = re.compile(rb'"type"\s*:\s*"(?:tool_use|tool_result|thinking|redacted_thinking|server_tool_use)"')


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """The conversations; one in which the assistant never speaks is skipped."""
    yield from conversations(_NAME, path, progress, *_MARKS, *_ANSWERS)


IMPORTER = Importer(_NAME, "Conversations as Anthropic messages", read, _MARKS, also=_ANSWERS, words=_OWN_PARTS)
