"""Acts: the executed actions of a trajectory, parsed as input for the evidence in every environment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from console.environments import ENVIRONMENTS
from console.trajectory.calls import OTHER_TEXT, Call, read_action, read_calls
from console.trajectory.checkpoints import Checkpoint, is_thought
from console.trajectory.effects import Kind, effects, find_kind, is_message, is_verb
from console.trajectory.shell_effects import SHELL, WITH_SUBCOMMANDS
from console.trajectory.tools import ToolSchema

_FAILED = re.compile(
    r"\s*(?:API output:\s*)?(?:[\[{\"']{0,3}error(?!['\"]?\s*:\s*(?:''|\"\"|null|none|false|0\b|\[\]|\{\}))|"
    r"invalid|could not|couldn't|cannot|can't|unable|failed|failure|"
    r"unknown|not found|no more results|no results|nothing happens|exception|traceback|http (?:4|5)\d\d|access denied|"
    r"permission denied)\b",
    re.IGNORECASE,
)
_CALL = re.compile(r"\s*[A-Za-z_][\w.-]*\(")
"""The beginning of a call, which may have arguments that cannot be read."""
_LONGEST = 100_000


@dataclass(frozen=True, slots=True)
class Act:
    """An executed action: its number, its calls, the observation, and whether the observation reports a failure.

    If the action is a message to the user (`talks`), the observation is the user's reply. `name` (in lower case) and
    `argument` belong to the first call, and are "" without a call. `kind` is the kind of the first call, and ANSWERING
    for a message.
    """

    step: int
    action: str
    calls: tuple[Call, ...]
    observation: str
    failed: bool
    talks: bool
    name: str
    argument: str
    kind: Kind = Kind.UNKNOWN


def list_acts(checkpoint: Checkpoint) -> tuple[Act, ...]:
    """Return the actions before the critical action, without thoughts."""
    refusals = ENVIRONMENTS[checkpoint.environment].not_executed or ("\0",)
    tools = checkpoint.tools
    steps = enumerate(checkpoint.steps, start=1)
    found = ((number, step) for number, step in steps if step.action and not is_thought(step.action))
    return tuple(_act(number, step.action, step.observation, refusals, tools) for number, step in found)


def pending_act(checkpoint: Checkpoint) -> Act:
    """Return the critical action, which has no observation yet."""
    action, tools = checkpoint.action, checkpoint.tools
    calls = bool(tools) or any(read_calls(step.action[:_LONGEST]) for step in checkpoint.steps)
    return _act(checkpoint.index + 1, action, "", ("\0",), tools, is_text=calls and _is_plain_text(action))


_COMMAND = re.compile(r"[;|&$<>`\\=\[\](){}]|\s-|^[/.~]")


def _is_plain_text(action: str) -> bool:
    """Return whether a short action is an answer and not a command, by its first word and its symbols."""
    first = action.split(None, 1)[0] if action.strip() else ""
    if not first or _COMMAND.search(action) or effects(first.strip("'\".,")) or is_verb(first.lower()):
        return False
    return not first[0].islower() or "@" in first or action.rstrip()[-1] in ".!?"


def answer_given(act: Act) -> str | None:
    """Return the answer that an action gives to a question, or None if the action is not an answer."""
    return act.argument.strip() if act.kind is Kind.ENDING and act.calls else None


SHELL_NAME = "bash"
"""The name of the call that an action is if it is a bare line of commands."""
_PROGRAM = re.compile(r"\s*(?:\$ )?(?:(?:sudo|nohup|env|time) +(?:-\w+ +)*)?(?:/(?:usr/)?s?bin/)?([a-z][\w.-]*)(?=\s)")
_OPERAND = re.compile(r"\s(?:--?[a-zA-Z]|\.{0,2}/|~/)|\s(?:\|\|?|&&|>>?)\s|\$\(")
_SHELL_LOOP = re.compile(r"\s*(?:for \w+ in|while|until)\b[^\n]{1,300};\s*do\s.*\bdone\b", re.DOTALL)


def is_shell_line(text: str) -> bool:
    """Return whether a text is a bare line of shell commands: a known program first, then an option, path or pipe."""
    first = _PROGRAM.match(text[:200])
    if first is None or "\n\n" in text.strip():
        return False
    is_known = first[1] in SHELL or first[1].split(".")[0] in SHELL or first[1] in WITH_SUBCOMMANDS
    return bool((is_known and _OPERAND.search(text[:2_000])) or _SHELL_LOOP.match(text[:2_000]))


def _act(
    step: int,
    action: str,
    observation: str,
    refusals: tuple[str, ...],
    tools: Sequence[ToolSchema] = (),
    *,
    is_text: bool = False,
) -> Act:
    action = action[:_LONGEST]
    found = read_calls(action)
    if is_shell_line(action):
        found = (Call(SHELL_NAME, {"command": action.strip()}, OTHER_TEXT, action),)
    failed = bool(_FAILED.match(observation[:80])) or observation.strip().startswith(refusals)
    opening = action.split(None, 1)[:1]
    # The result of a call that cannot be read is a tool's, and never the user's words.
    talks = not (found or _CALL.match(action)) and (
        is_text or "\n" in action or len(action.split()) > 8 or opening[0:1] == ["Final"] or ":" in "".join(opening)
    )
    if not found and not talks:
        found = read_action(action)
    name = found[0].name.lower() if found else ""
    argument = str(next(iter(found[0].arguments.values()), "")) if found else ""
    first = found[0] if found else None
    kind = find_kind(first.name, first.arguments, tools) if first else Kind.UNKNOWN
    talks = talks or (kind is Kind.ANSWERING and is_message(name))
    return Act(step, action, found, observation, failed, talks, name, argument, Kind.ANSWERING if talks else kind)
