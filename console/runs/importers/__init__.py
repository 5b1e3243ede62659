"""Importers of the logs of other tools; `parts` holds code that formats share.

To add a format, write a file here and a line in BUILT_IN; formats of other packages are plug-ins.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from console.errors import UnreadableFile
from console.plugins import Registry
from console.runs.importers import (
    alfworld_expert,
    atif,
    chat_messages,
    claude_code,
    codex,
    inferact,
    inspect,
    jsonl,
    openhands,
    otel,
    reflexion_react,
    swe_agent,
    tau_bench,
    tool_benchmarks,
    traces,
    webshop_react,
)
from console.runs.importers.parts.files import beginning_of
from console.runs.importers.parts.json_records import base_of, outline
from console.runs.importers.parts.likeness import likeness, refuse_companion
from console.runs.importers.records import Entry, Importer, Progress

BUILT_IN: dict[str, Importer] = {
    "jsonl": jsonl.IMPORTER,
    "reflexion-react": reflexion_react.IMPORTER,
    "webshop-react": webshop_react.IMPORTER,
    "claude-code": claude_code.IMPORTER,
    "codex": codex.IMPORTER,
    "inspect": inspect.IMPORTER,
    "otel": otel.IMPORTER,
    "langfuse": traces.LANGFUSE,
    "langsmith": traces.LANGSMITH,
    "openai-agents": traces.OPENAI_AGENTS,
    "atif": atif.IMPORTER,
    "openhands": openhands.IMPORTER,
    "swe-agent": swe_agent.IMPORTER,
    "agentdojo": tool_benchmarks.AGENTDOJO,
    "tau-bench": tau_bench.IMPORTER,
    "alfworld-expert": alfworld_expert.IMPORTER,
    "inferact": inferact.IMPORTER,
    "sharegpt": chat_messages.SHARE_GPT,
    "toolbench": tool_benchmarks.TOOLBENCH,
    "bfcl": tool_benchmarks.BFCL,
    "mini-swe-agent": swe_agent.MINI,
    "anthropic-messages": chat_messages.ANTHROPIC,
    "langchain-messages": chat_messages.LANGCHAIN,
    "openai-responses": chat_messages.RESPONSES,
    "openai-messages": chat_messages.OPENAI,
}
IMPORTERS = Registry("log format", "inferact.importers", Importer, BUILT_IN)

_HEAD_BYTES = 2**16
_LONG_HEAD_BYTES = 2**23


def read_log(path: Path, format: str = "auto", progress: Progress | None = None) -> tuple[str, Iterator[Entry]]:
    """Return (format name, entries read lazily); raise UnreadableFile, or Unknown if the format is unknown."""
    chosen = None if format == "auto" else IMPORTERS.pick(format, also=["auto"])
    head = beginning_of(path, _HEAD_BYTES)
    importer = chosen or _recognised(path, head)
    if chosen and not _recognises(chosen, path, head):
        refuse_companion(path, head)
    return importer.name, _entries(importer, path, progress)


def _recognised(path: Path, head: bytes) -> Importer:
    for size in (_HEAD_BYTES, _LONG_HEAD_BYTES):
        # One record may be so long that its telling fields come late.
        beginning = head if size == len(head) or len(head) < _HEAD_BYTES else beginning_of(path, size)
        for importer in IMPORTERS.values():
            if _recognises(importer, path, beginning):
                return importer
    refuse_companion(path, head)
    told = likeness(path, head, {name: importer.marks for name, importer in IMPORTERS.items()})
    raise UnreadableFile(str(path), f"The file has no known log format. {told}")


def _recognises(importer: Importer, path: Path, head: bytes) -> bool:
    if importer.recognises is not None:
        return importer.recognises(path, head)
    found = base_of(outline(head), *importer.marks, *importer.also) is not None
    return found and (importer.words is None or importer.words.search(head) is not None)


def _entries(importer: Importer, path: Path, progress: Progress | None) -> Iterator[Entry]:
    empty = True
    for entry in importer.read(path, progress):
        empty = False
        yield entry
    if empty:
        reason = f"The file has no record of the format {importer.name}. Choose another --format."
        raise UnreadableFile(str(path), reason)
