"""Readers of the logs that others write.

A new format is one file here and one line in IMPORTERS; what formats share is in `parts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from console.errors import Unknown, UnreadableFile
from console.runs.importers import (
    agentdojo,
    alfworld_expert,
    anthropic_messages,
    atif,
    bfcl,
    claude_code,
    codex,
    inferact,
    inspect,
    jsonl,
    langchain_messages,
    langfuse,
    langsmith,
    mini_swe_agent,
    openai_agents,
    openai_messages,
    openai_responses,
    openhands,
    otel,
    reflexion_react,
    sharegpt,
    swe_agent,
    tau_bench,
    toolbench,
    webshop_react,
)
from console.runs.importers.parts.json_records import base_of, outline
from console.runs.importers.parts.likeness import companion_sentence, likeness
from console.runs.importers.parts.lines import beginning_of
from console.runs.importers.records import Entry, Importer, Progress

IMPORTERS: dict[str, Importer] = {
    "jsonl": jsonl.IMPORTER,
    "reflexion-react": reflexion_react.IMPORTER,
    "webshop-react": webshop_react.IMPORTER,
    "claude-code": claude_code.IMPORTER,
    "codex": codex.IMPORTER,
    "inspect": inspect.IMPORTER,
    "otel": otel.IMPORTER,
    "langfuse": langfuse.IMPORTER,
    "langsmith": langsmith.IMPORTER,
    "openai-agents": openai_agents.IMPORTER,
    "atif": atif.IMPORTER,
    "openhands": openhands.IMPORTER,
    "swe-agent": swe_agent.IMPORTER,
    "agentdojo": agentdojo.IMPORTER,
    "tau-bench": tau_bench.IMPORTER,
    "alfworld-expert": alfworld_expert.IMPORTER,
    "inferact": inferact.IMPORTER,
    "sharegpt": sharegpt.IMPORTER,
    "toolbench": toolbench.IMPORTER,
    "bfcl": bfcl.IMPORTER,
    "mini-swe-agent": mini_swe_agent.IMPORTER,
    "anthropic-messages": anthropic_messages.IMPORTER,
    "langchain-messages": langchain_messages.IMPORTER,
    "openai-responses": openai_responses.IMPORTER,
    "openai-messages": openai_messages.IMPORTER,
}

_HEAD_BYTES = 2**16
_LONG_HEAD_BYTES = 2**23


def read_log(path: Path, format: str = "auto", progress: Progress | None = None) -> tuple[str, Iterator[Entry]]:
    """The name of the format, and the entries as they are read; raises UnreadableFile, or Unknown for a format."""
    if format != "auto" and format not in IMPORTERS:
        raise Unknown("log format", format, ["auto", *IMPORTERS])
    head = beginning_of(path, _HEAD_BYTES)
    importer = _recognised(path, head) if format == "auto" else IMPORTERS[format]
    if format != "auto" and not _recognises(importer, path, head):
        _refuse_companion(path, head)
    return importer.name, _entries(importer, path, progress)


def _recognised(path: Path, head: bytes) -> Importer:
    for size in (_HEAD_BYTES, _LONG_HEAD_BYTES):
        # One record may be so long that its telling fields come late.
        beginning = head if size == len(head) or len(head) < _HEAD_BYTES else beginning_of(path, size)
        for importer in IMPORTERS.values():
            if _recognises(importer, path, beginning):
                return importer
    _refuse_companion(path, head)
    told = likeness(path, head, {name: importer.marks for name, importer in IMPORTERS.items()})
    raise UnreadableFile(str(path), f"no known log format was recognised in it: {told}")


def _recognises(importer: Importer, path: Path, head: bytes) -> bool:
    if importer.recognises is not None:
        return importer.recognises(path, head)
    found = base_of(outline(head), *importer.marks, *importer.also) is not None
    return found and (importer.words is None or importer.words.search(head) is not None)


def _refuse_companion(path: Path, head: bytes) -> None:
    if sentence := companion_sentence(head):
        raise UnreadableFile(str(path), sentence)


def _entries(importer: Importer, path: Path, progress: Progress | None) -> Iterator[Entry]:
    empty = True
    for entry in importer.read(path, progress):
        empty = False
        yield entry
    if empty:
        raise UnreadableFile(
            str(path), f"there is no record of the format {importer.name} in it; name another --format"
        )
