"""Checkpoints: the critical actions of a trajectory, and the part of the trajectory to show at each of them.

A pattern is a glob, ignoring case: `*` matches any text, `?` matches one character. The pattern must match the whole
action, the name of a call in it, or an argument in the form `name.argument=value`. Examples are `click[Buy Now]`,
`refund_*` and `transfer.amount=*`.

An appeal to the judge is a passage that addresses a model or its judge. Pages, tools or the agent may have written it.
The check reports its presence, not whether a model followed it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files

from console.trajectory import Outcome, Picture, Step, Trajectory
from console.trajectory.call_values import UNREADABLE
from console.trajectory.calls import ARGUMENT, Call, argument_text, read_action, read_line
from console.trajectory.strict_yaml import read_data
from console.trajectory.tools import ToolSchema

_WORD = re.compile(r"[a-z]{2,}")
_ESCAPED = re.compile(r"\\[uUxN0-7]")
_OURS = frozenset({"argument", "code", "command"})
_THOUGHT_ACTION = re.compile(r"^\s*(?:>\s*)?think\s*(?:\[|:)", re.IGNORECASE)


class CheckpointKind(StrEnum):
    """The kind of a checkpoint: before a critical `action`, at the `end`, or `halted` without a pending action."""

    ACTION = "action"
    END = "end"
    HALTED = "halted"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint, the only data for detectors and reviewers: the task, the earlier steps and the action itself.

    `index` is the position of the action among the trajectory's steps. `pictures` are the pictures in the opening;
    `tools` are the tools offered to the agent. To prevent leaks, a checkpoint omits the action's result, the outcome,
    the gold answer and the memory of earlier trials.
    """

    environment: str
    instruction: str
    opening: str
    steps: tuple[Step, ...]
    index: int
    kind: CheckpointKind
    thought: str = ""
    action: str = ""
    speaker: str = ""
    pictures: tuple[Picture, ...] = ()
    tools: tuple[ToolSchema, ...] = ()

    @property
    def action_digest(self) -> str:
        """The SHA-256 (hex) that binds a decision to this exact action with these arguments."""
        return digest(self.action)


def digest(action: str) -> str:
    """Return the SHA-256 (hex) of an action's exact text."""
    return hashlib.sha256(action.encode("utf-8", "surrogatepass")).hexdigest()


def is_thought(action: str) -> bool:
    """Return whether the action is a thought in the form of an action: `think[...]` or `think: ...`."""
    return bool(_THOUGHT_ACTION.match(action))


def is_critical(action: str, patterns: Sequence[str]) -> bool:
    """Return whether a pattern matches the action, the name of a call in it, or one of its arguments."""
    return bool(find_critical((action,), patterns))


def find_critical(actions: Iterable[str], patterns: Sequence[str]) -> list[int]:
    """Return the indices of the critical actions."""
    words, matcher = _matcher(tuple(patterns))
    found = []
    # All actions of an import pass here; a further call for each would take most of the time.
    for index, action in enumerate(actions):
        if action.isascii() and ("\\" not in action or not _ESCAPED.search(action)):
            lowered = action.lower()
            for every in words:
                for word in every:
                    if word not in lowered:
                        break
                else:
                    break
            else:
                continue
        if any(matcher.fullmatch(text) for text in _faces(action)):
            found.append(index)
    return found


def find_unapplied_patterns(action: str, patterns: Sequence[str]) -> list[str]:
    """Return the argument patterns for a tool whose call in the action has arguments that cannot be parsed."""
    unread = [call.name for call in read_action(action) if call.problem == UNREADABLE]
    tools = {pattern: pattern.partition("=")[0].rpartition(".")[0].strip() for pattern in patterns if "=" in pattern}
    return [pattern for pattern, tool in tools.items() if tool and any(map(globs([tool]).fullmatch, unread))]


def count_critical(action: str, patterns: Sequence[str]) -> int:
    """Return the number of critical calls in a critical action; one that is critical only as a whole counts once."""
    lines = action.splitlines()
    several = len(lines) > 1 and len(read_action(action)) > 1
    return max(1, sum(is_critical(line, patterns) for line in lines)) if several else 1


def checkpoints(trajectory: Trajectory, patterns: Sequence[str], *, ends: bool = False) -> list[Checkpoint]:
    """Return the checkpoints in order: one before each critical action, and one at the end if `ends` is true."""
    steps = trajectory.steps
    found = [
        checkpoint_at(trajectory, index, CheckpointKind.ACTION)
        for index in find_critical((step.action for step in steps), patterns)
    ]
    if pending_action(trajectory) is not None:
        found.append(checkpoint_at(trajectory, len(steps), CheckpointKind.ACTION))
    elif ends and steps and trajectory.outcome is not Outcome.HALTED:
        last = len(steps) - 1
        if not found or found[-1].index != last:
            found.append(checkpoint_at(trajectory, last, CheckpointKind.END))
    return found


def previous_checkpoint(checkpoint: Checkpoint, patterns: Sequence[str]) -> Checkpoint | None:
    """Return the checkpoint of the last earlier critical action, or None if no earlier action is critical."""
    for at, step in reversed([*enumerate(checkpoint.steps)]):
        if is_critical(step.action, patterns):
            return replace(
                checkpoint,
                steps=checkpoint.steps[:at],
                index=at,
                kind=CheckpointKind.ACTION,
                thought=step.thought,
                action=step.action,
                speaker=step.speaker,
            )
    return None


def pending_action(trajectory: Trajectory) -> str | None:
    """Return the critical action that has not run yet, or None if no action is pending."""
    action = trajectory.critical_action
    if action is None:
        return None
    waiting = trajectory.outcome in (Outcome.PAUSED, Outcome.RUNNING)
    return action if waiting or all(step.action != action for step in trajectory.steps) else None


def checkpoint_at(trajectory: Trajectory, index: int, kind: CheckpointKind) -> Checkpoint:
    """Return the checkpoint of that kind at that step; the checkpoint of a halted trial is after all its steps."""
    steps = trajectory.steps
    if kind is CheckpointKind.HALTED:
        index, step = len(steps), Step()
    elif index < len(steps):
        step = steps[index]
    else:
        thought = trajectory.extra.get("pending_thought")
        step = Step(thought if isinstance(thought, str) else "", trajectory.critical_action or "")
    return Checkpoint(
        environment=trajectory.environment,
        instruction=trajectory.instruction,
        opening=trajectory.opening,
        # `extra` may hold rewards or labels.
        steps=tuple(replace(earlier, extra={}) if earlier.extra else earlier for earlier in steps[:index]),
        index=index,
        kind=kind,
        thought=step.thought,
        action=step.action,
        speaker=step.speaker,
        pictures=trajectory.pictures,
        tools=trajectory.tools,
    )


def pending_checkpoint(record: Trajectory, step: int, kind: str) -> Checkpoint:
    """Return the checkpoint; if a reviewer replaced its action, restore the original action."""
    seen = checkpoint_at(record, step, CheckpointKind(kind))
    if kind == CheckpointKind.ACTION and step < len(record.steps):
        return replace(seen, action=str(record.steps[step].extra.get("instead_of", seen.action)))
    return seen


def _faces(action: str) -> Iterator[str]:
    for part in dict.fromkeys((action, *action.splitlines())):
        if part.strip() and not is_thought(part):
            yield part.strip()
            yield part.strip().removeprefix("> ")
    for call in _calls_run(action):
        yield call.name
        for name, value in call.arguments.items():
            yield f"{call.name}.{name}={argument_text(value)}"
        if call.problem and call.raw:
            yield f"{call.name}.{ARGUMENT}={call.raw}"


def _calls_run(action: str) -> Iterator[Call]:
    if not is_thought(action):
        yield from read_action(action)
    lines = action.splitlines()
    if len(lines) > 1 or is_thought(action):
        yield from (call for line in lines if not is_thought(line) and (call := read_line(line)))


@lru_cache(maxsize=512)
def _matcher(patterns: tuple[str, ...]) -> tuple[tuple[list[str], ...], re.Pattern[str]]:
    """Return the required words of each pattern, and one regular expression for all patterns."""
    words = tuple(_words(pattern) for pattern in patterns)
    return words, globs([pattern.strip() for pattern in patterns])


def globs(patterns: Sequence[str]) -> re.Pattern[str]:
    """Compile globs into one expression that matches whole texts in linear time."""
    one_of = "|".join(f"(?:{_spelled(pattern)})" for pattern in patterns) or r"(?!)"
    return re.compile(one_of, re.IGNORECASE | re.DOTALL)


def _spelled(pattern: str) -> str:
    first, *further = (re.escape(part).replace(r"\?", ".") for part in pattern.split("*"))
    if not further:
        return first
    # The first position of a part between two stars is as good as any later one, so no other is tried.
    return first + "".join(f"(?>.*?{part})" for part in further[:-1] if part) + f".*{further[-1]}"


def _words(pattern: str) -> list[str]:
    """Return the pattern's words in lower case, without the argument names that only the console's parser uses."""
    return [word for word in _WORD.findall(pattern.lower()) if word not in _OURS]


def to_storable_text(text: str) -> str:
    """Replace the characters that a database cannot store."""
    # Half of a surrogate pair is not valid UTF-8, and PostgreSQL refuses a NUL.
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


@dataclass(frozen=True, slots=True)
class _Appeal:
    """A pattern, and the words of which a matching text contains at least one."""

    needed: tuple[str, ...]
    pattern: str


_APPEALS = read_data(files(__package__) / "judge_appeals.yaml", tuple[_Appeal, ...])
_SEARCHED = tuple((one.needed, re.compile(one.pattern, re.IGNORECASE)) for one in _APPEALS)
_AROUND, _MOST = 60, 3


def find_judge_appeals(checkpoint: Checkpoint) -> tuple[tuple[int, str], ...]:
    """Return the first three appeals in a record with their step numbers; number 0 is the opening."""
    found = []
    for number, text in _appeal_texts(checkpoint):
        if appeal := _first_appeal(text):
            start, end = max(0, appeal.start() - _AROUND), appeal.end() + _AROUND
            found.append((number, " ".join(text[start:end].split())))
        if len(found) == _MOST:
            break
    return tuple(found)


def _first_appeal(text: str) -> re.Match[str] | None:
    """Return the first appeal of any kind; match a pattern only if the text contains one of its required words."""
    lower = text.lower()
    tried = (pattern for needed, pattern in _SEARCHED if any(word in lower for word in needed))
    return next((found for pattern in tried if (found := pattern.search(text))), None)


def _appeal_texts(checkpoint: Checkpoint) -> Iterator[tuple[int, str]]:
    """Yield the texts written by the agent, pages and tools, excluding the user's own request."""
    asked = checkpoint.instruction.strip()
    yield 0, _without(checkpoint.opening, asked)
    for number, step in enumerate(checkpoint.steps, start=1):
        yield number, _without("\n".join((step.action, step.thought, step.observation)), asked)
    yield len(checkpoint.steps) + 1, f"{checkpoint.action}\n{checkpoint.thought}"


def _without(text: str, asked: str) -> str:
    return text.replace(asked, " ") if asked else text
