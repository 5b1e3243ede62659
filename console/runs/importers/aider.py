"""Aider's chat history (`.aider.chat.history.md`): the user's lines, the model's answers, and Aider's own lines.

An edit of a file is a call, and so is a shell command about which Aider asked. Aider's lines are their results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from console.runs.importers.parts.conversation import AGENT, TOOL, USER, LoggedCall, Turn
from console.runs.importers.parts.files import beginning_of, text_lines
from console.runs.importers.parts.intake import Intake
from console.runs.importers.parts.sessions import session_entries
from console.runs.importers.records import SHELL_TOOLS, Entry, Importer, Progress

_NAME = "aider"
_BEGINS = re.compile(r"# aider chat started at (.*\S)")
_BEGINS_LINE = re.compile(rb"^# aider chat started at \d", re.MULTILINE)
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_SEARCH, _DIVIDER, _REPLACE = map(re.compile, (r"<{5,9} SEARCH>?\s*$", r"={5,9}\s*$", r">{5,9} REPLACE\s*$"))
_APPLIED = re.compile(r"Applied edit to (.+)")
_RAN = re.compile(r"Running (.+)")
_NOT_RUN = re.compile(r"Run shell commands?\?.*: [^y]$")
_ENDED = re.compile(rb"^(?:####|>) .*  \r?$", re.MULTILINE)
_SPOKEN = re.compile(r"/(?:ask|code|architect|context|help)\s+(?=\S)")
_COMMAND = re.compile(r"[/!]|<blank>$")


@dataclass(slots=True)
class _Block:
    """Consecutive lines of one speaker, with the number of the first line."""

    role: str
    line: int
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip()


def recognises(path: Path, head: bytes) -> bool:
    """Return whether a line begins a chat."""
    return _BEGINS_LINE.search(head) is not None


def read(path: Path, progress: Progress | None = None, *, whole: bool = False) -> Iterator[Entry]:
    """Yield the requests of each chat in the file, or whole chats if `whole`."""
    begun, blocks, is_fenced, goes_on = "", list[_Block](), False, False
    is_exact = _ENDED.search(beginning_of(path, 2**16)) is not None
    for number, line in text_lines(path, progress):
        if begins := _BEGINS.match(line):
            yield from _chat(path, begun, blocks, whole)
            begun, blocks, is_fenced = begins[1], [], False
            continue
        role, text = _split(line, is_exact=is_exact or is_fenced)
        if role == AGENT and goes_on and text.strip():
            # Only the first line of a command with several lines has a mark.
            role, text = TOOL, text.rstrip()
        goes_on = role == TOOL
        is_fenced = role == AGENT and is_fenced is not bool(_FENCE.match(line))
        if not blocks or blocks[-1].role != role:
            if not text.strip():
                continue
            blocks.append(_Block(role, number, []))
        blocks[-1].lines.append(text)
    yield from _chat(path, begun, blocks, whole)


def _split(line: str, *, is_exact: bool) -> tuple[str, str]:
    """Return (role, text) of a line; Aider ends its own lines and the user's with two spaces, which editors remove."""
    if not is_exact or line.endswith("  "):
        for mark, role in (("#### ", USER), ("> ", TOOL)):
            if line.startswith(mark):
                return role, line.removeprefix(mark).rstrip()
    return AGENT, line


def _chat(path: Path, begun: str, blocks: Sequence[_Block], whole: bool) -> Iterator[Entry]:
    if not begun and all(block.role != USER for block in blocks):
        return
    intake, turns = Intake(path, blocks[0].line, _NAME), list[Turn]()
    for place, block in enumerate(blocks):
        intake.at = block.line
        after = blocks[place + 1] if place + 1 < len(blocks) else None
        if block.role == USER:
            text = _SPOKEN.sub("", block.text)
            turns.append(Turn(USER, text, number=block.line, is_context=_COMMAND.match(text) is not None))
        elif block.role == AGENT:
            said = after.text if after is not None and after.role == TOOL else ""
            turns += _acted(block, said, after.line if said and after else block.line, intake)
        elif not place or blocks[place - 1].role == USER:
            turns.append(Turn(USER, block.text, number=block.line, is_context=True))
    yield from session_entries(intake, turns, begun or path.stem, whole=whole)


def _acted(block: _Block, said: str, line: int, intake: Intake) -> Iterator[Turn]:
    """Yield the model's answer with its calls, and Aider's lines behind it as their results."""
    text, edits = _edits(block.text, intake)
    for path in dict.fromkeys(_APPLIED.findall(said)):
        if all(one["path"] != path for one in edits):
            edits.append(_whole_file(path, text, intake))
    commands = [*_commands_not_run(said, block.text), *_RAN.findall(said)]
    made = [("edit", one) for one in edits] + [("bash", {"command": one.strip()}) for one in commands]
    calls = tuple(LoggedCall(name, given, f"{block.line} {at}") for at, (name, given) in enumerate(made))
    yield Turn(AGENT, text, calls=calls, number=block.line)
    owners = {f"Applied edit to {one['path']}": f"{block.line} {at}" for at, one in enumerate(edits)}
    rest = []
    for one in said.split("\n") if said else ():
        if one in owners:
            yield Turn(TOOL, one, answers=owners[one], number=line)
        else:
            rest.append(one)
    if rest:
        yield Turn(TOOL, "\n".join(rest), answers=calls[-1].id if calls else "", number=line)


def _commands_not_run(said: str, text: str) -> Iterator[str]:
    """Yield the commands that Aider showed, asked about and did not run."""
    shown: list[str] = []
    for line in said.split("\n"):
        if _NOT_RUN.match(line):
            yield from shown
        shown = [*shown, line] if line.strip() and line.strip() in text else []


def _edits(text: str, intake: Intake) -> tuple[str, list[dict[str, str]]]:
    """Return (the text without its edit blocks, the arguments of the edits)."""
    kept, found, part, path, is_fenced = list[str](), list[dict[str, str]](), "", "", False
    for line in text.split("\n"):
        if not part and _SEARCH.match(line):
            is_fenced = bool(kept) and _FENCE.match(kept[-1]) is not None
            path = _take_name(kept) or path
            found.append({"path": path, "search": "", "replace": ""})
            part = "search"
        elif part == "search" and _DIVIDER.match(line):
            part = "replace"
        elif part == "replace" and _REPLACE.match(line):
            part = ""
        elif part:
            found[-1][part] += f"{line}\n"
        elif is_fenced and _FENCE.match(line):
            is_fenced = False
        else:
            kept.append(line)
    if part:
        intake.leave_out("edit block without its end (read to the end of the answer)")
    return "\n".join(kept).strip(), found


def _take_name(kept: list[str]) -> str:
    """Remove the fence and the file's name before an edit block from the lines; return the name, or ""."""
    fence = kept.pop() if kept and _FENCE.match(kept[-1]) else ""
    name = kept[-1].strip().rstrip(":").lstrip("#").strip().strip("`*") if kept else ""
    if name and " " not in name:
        kept.pop()
        return name
    inside = fence.strip().lstrip("`~")
    return inside if "." in inside or "/" in inside else ""


def _whole_file(path: str, text: str, intake: Intake) -> dict[str, str]:
    """Return the arguments of an edit that Aider applied without a block: the path and the fenced text below it."""
    block = re.search(rf"^\W*{re.escape(path)}\W*\n```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    if block is None:
        intake.leave_out("text of an edit (it stays in the answer)")
    return {"path": path, **({"content": block[1]} if block else {})}


IMPORTER = Importer(
    _NAME,
    "Aider's chat history",
    read,
    recognises=recognises,
    read_whole=partial(read, whole=True),
    critical=SHELL_TOOLS,
)
