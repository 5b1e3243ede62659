"""Importers for the logs of other tools; `parts` holds code that formats share.

To add a format, write a file here and a line in BUILT_IN; other packages add formats as plug-ins. For a file of an
unknown format, the error names the nearest format, or the reason why the file contains nothing to review.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import orjson

from console.errors import UnreadableFile
from console.runs.importers import (
    agent_teams,
    aider,
    alfworld_expert,
    atif,
    bedrock_agents,
    browser_use,
    chat_messages,
    claude_code,
    cline,
    codex,
    copilot,
    cursor,
    gemini_cli,
    inferact,
    inspect,
    jsonl,
    opencode,
    openhands,
    otel,
    pi,
    pydantic_ai,
    r_judge,
    reflexion_react,
    smolagents,
    span_exports,
    swe_agent,
    tau_bench,
    tool_benchmarks,
    traces,
    webshop_react,
)
from console.runs.importers.parts.files import beginning_of
from console.runs.importers.parts.json_records import BASES, base_of, json_records, outline
from console.runs.importers.records import Entry, Importer, Progress, WrittenCalls
from console.settings import Registry
from console.trajectory.strict_yaml import read_data

BUILT_IN: dict[str, Importer] = {
    "jsonl": jsonl.IMPORTER,
    "reflexion-react": reflexion_react.IMPORTER,
    "webshop-react": webshop_react.IMPORTER,
    "cursor": cursor.IMPORTER,
    "claude-code": claude_code.IMPORTER,
    "codex": codex.IMPORTER,
    "gemini-cli": gemini_cli.IMPORTER,
    "pi": pi.IMPORTER,
    "opencode": opencode.IMPORTER,
    "copilot-chat": copilot.CHAT,
    "copilot-cli": copilot.CLI,
    "cline": cline.IMPORTER,
    "aider": aider.IMPORTER,
    "inspect": inspect.IMPORTER,
    "otel": otel.IMPORTER,
    "langfuse": traces.LANGFUSE,
    "langsmith": traces.LANGSMITH,
    "openai-agents": traces.OPENAI_AGENTS,
    "weave": span_exports.WEAVE,
    "braintrust": span_exports.BRAINTRUST,
    "opik": span_exports.OPIK,
    "bedrock-agents": bedrock_agents.IMPORTER,
    "browser-use": browser_use.IMPORTER,
    "pydantic-ai": pydantic_ai.IMPORTER,
    "smolagents": smolagents.IMPORTER,
    "atif": atif.IMPORTER,
    "openhands": openhands.IMPORTER,
    "swe-agent": swe_agent.IMPORTER,
    "agentdojo": tool_benchmarks.AGENTDOJO,
    "tau-bench": tau_bench.IMPORTER,
    "alfworld-expert": alfworld_expert.IMPORTER,
    "inferact": inferact.IMPORTER,
    "who-and-when": agent_teams.WHO_AND_WHEN,
    "r-judge": r_judge.IMPORTER,
    "magentic-one": agent_teams.TEAM,
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

UNKNOWN = "The file has no known log format."
_HEAD_BYTES = 2**16
_LONG_HEAD_BYTES = 2**23
_TRIED_BYTES = 2**23
"""Maximum size in bytes of a file to read in every format if no matching format reads it completely."""


def read_log(
    path: Path, format: str = "auto", progress: Progress | None = None, *, whole: bool = False
) -> tuple[str, Iterator[Entry]]:
    """Return (format name, entries read lazily); raise UnreadableFile, or Unknown if the format is unknown.

    A session becomes one trajectory per request of the user, or a single trajectory if `whole`.
    """
    chosen = None if format == "auto" else IMPORTERS.pick(format, also=["auto"])
    head = beginning_of(path, _HEAD_BYTES)
    importer = chosen or _recognised(path, head)
    if chosen and not _recognises(chosen, path, head):
        _refuse_companion(path, head)
    reading = importer.read_whole if whole and importer.read_whole else importer.read
    return importer.name, _entries(importer, reading(path, progress), path)


def find_call_patterns(path: Path) -> list[WrittenCalls]:
    """Return the patterns for calls written as text, from the formats whose marks match the file."""
    head = beginning_of(path, _HEAD_BYTES)
    declaring = [one for one in IMPORTERS.values() if one.written is not None]
    return [one.written for one in declaring if one.written is not None and _recognises(one, path, head)]


def readings(path: Path, first: str) -> Iterator[tuple[str, bool]]:
    """Yield (format, whether its marks match) except `first`: matching formats, then others if the file is small."""
    head = beginning_of(path, _HEAD_BYTES)
    fitting = [name for name, one in IMPORTERS.items() if name != first and _recognises(one, path, head)]
    yield from ((name, True) for name in fitting)
    if path.stat().st_size <= _TRIED_BYTES:
        yield from ((name, False) for name in IMPORTERS if name != first and name not in fitting)


def _recognised(path: Path, head: bytes) -> Importer:
    for size in (_HEAD_BYTES, _LONG_HEAD_BYTES):
        # One record may be so long that its telling fields come late.
        beginning = head if size == len(head) or len(head) < _HEAD_BYTES else beginning_of(path, size)
        for importer in IMPORTERS.values():
            if _recognises(importer, path, beginning):
                return importer
    _refuse_companion(path, head)
    raise UnreadableFile(str(path), f"{UNKNOWN} {_likeness(path, head)}")


def _recognises(importer: Importer, path: Path, head: bytes) -> bool:
    if importer.recognises is not None:
        return importer.recognises(path, head)
    found = base_of(outline(head), *importer.marks, *importer.also) is not None
    return found and (importer.words is None or importer.words.search(head) is not None)


def _entries(importer: Importer, found: Iterator[Entry], path: Path) -> Iterator[Entry]:
    empty = True
    for entry in found:
        empty = False
        yield entry
    if empty:
        fits = _recognises(importer, path, beginning_of(path, _HEAD_BYTES))
        advice = "" if fits else " If another tool wrote the file, choose the --format of that tool."
        reason = (
            f"The file contains no record of the format {importer.name}. Check that the log was written "
            f"completely.{advice}"
        )
        raise UnreadableFile(str(path), reason)


_FIELDS = 6
CANONICAL_LINE = orjson.dumps(
    {
        "task_id": "t1",
        "instruction": "Pay the bill",
        "steps": [{"thought": "", "action": "pay[5 dollars]", "observation": "paid"}],
    }
).decode()
"""An example of a canonical line, shown if no format matches."""
_AIM = (
    "Import the session of a coding agent, the spans of a tracing tool, the results of a benchmark, or messages with "
    "roles. See `inferact trajectory import --help` for all formats and an example line."
)


def _likeness(path: Path, head: bytes) -> str:
    """Return a sentence that describes a file of an unknown format."""
    if (broken := _break(path, head)) is not None:
        return f"The file looks like JSON, but its first record is invalid. {broken}"
    paths = outline(head)
    looks = _looks(head, paths)
    near = max(_nearest(paths), key=lambda one: one[:2], default=None)
    if near is None:
        return f"The file looks like {looks}, which no known format has. {_AIM}"
    lacks = ", ".join(mark.lstrip(".") for mark in near[3])
    return f"The file looks like {looks}. The nearest format is {near[2]}, but the file lacks {lacks}. {_AIM}"


def _break(path: Path, head: bytes) -> str | None:
    """Return a sentence on the JSON error in the first record, or None if the record is valid or not JSON."""
    if head.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        next(json_records(path, None), None)
    except UnreadableFile as refused:
        return f"On line {refused.line}: {refused.reason}" if refused.line else refused.reason
    return None


def _looks(head: bytes, paths: frozenset[str]) -> str:
    first = next((line for line in head.split(b"\n") if line.strip()), b"").decode(errors="replace").strip()
    if first in ("{}", "[]"):
        return f"JSON without content ({first})"
    if first[:1] not in ("{", "["):
        separator = next((one for one in ("\t", ",", ";") if first.count(one) > 1), None)
        if separator and "{" not in first:
            return f"a table with the columns {', '.join(first.split(separator)[:_FIELDS])}"
        return f"text that begins with {first[:60]!r}"
    base = next((one for one in reversed(BASES) if any(path.startswith(f"{one}.") for path in paths)), "")
    under = (path[len(base) + 1 :] for path in paths if path.startswith(f"{base}."))
    named = sorted({name for path in under if (name := path.lstrip(".").partition(".")[0].partition("[")[0])})
    listed = "JSON objects" if not base else f"a JSON list of objects{f' under {base[1:-2]}' if base != '[]' else ''}"
    return f"{listed} with the fields {', '.join(named[:_FIELDS])}" if named else "JSON without any named field"


_COMMON = frozenset({".id", ".type", ".timestamp", ".name", ".data"})
"""Fields of most JSON files, which say nothing about the format."""


def _nearest(known: frozenset[str]) -> Iterator[tuple[float, int, str, tuple[str, ...]]]:
    """Yield (share of marks present, minus number of marks, format, missing marks) if most marks are present."""
    for name, importer in IMPORTERS.items():
        for alternative in importer.marks:
            for base in BASES:
                lacking = tuple(mark for mark in alternative if base + mark not in known)
                present = frozenset(alternative) - frozenset(lacking)
                if lacking and len(present) > len(lacking) and present - _COMMON:
                    yield len(present) / len(alternative), -len(alternative), name, lacking


@dataclass(frozen=True, slots=True)
class CompanionFile:
    """A file that accompanies logs: its identifying paths, and a sentence why the file contains nothing to review."""

    marks: tuple[str, ...]
    sentence: str


_COMPANIONS = read_data(files(__package__) / "companions.yaml", tuple[CompanionFile, ...])
_SENTENCES = (
    "This is a list of texts or numbers without actions, such as WebShop's human goals. Import the log of a run."
)


def _refuse_companion(path: Path, head: bytes) -> None:
    """Raise UnreadableFile, with the reason, if the file accompanies logs and contains nothing to review."""
    paths = outline(head)
    told = (one.sentence for one in _COMPANIONS if base_of(paths, one.marks) is not None)
    if sentence := _SENTENCES if paths == {"[]"} else next(told, None):
        raise UnreadableFile(str(path), sentence)
