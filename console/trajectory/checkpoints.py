"""Checkpoints: which actions are critical, and what may be seen when one is about to run.

A pattern is a glob (`*` any text, `?` one character, everything else literal, case ignored) tried on the whole action,
on the name of each call in it, and on each argument written as `name.argument=value`:
`click[Buy Now]`, `refund_*`, `transfer.amount=*`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

import orjson

from console.trajectory import Outcome, Picture, Step, Trajectory

_BRACKETED = re.compile(r"^\s*(?P<name>[\w.-]+)\s*\[(?P<argument>.*)\]\s*$", re.DOTALL)
_CALLED = re.compile(r"^\s*(?P<name>[\w.-]+)\((?P<arguments>.*)\)\s*$", re.DOTALL)
_NAMED_ODDLY = re.compile(
    r"^\s*+(?P<name>[^\s()\[\]{}](?:[^()\[\]{}\n]*[^\s()\[\]{}])?+)\s*+\((?P<arguments>\{.*\})\)\s*$", re.DOTALL
)
_WORD = re.compile(r"[a-z]{2,}")
_THOUGHT_ACTION = re.compile(r"^\s*(?:>\s*)?think\s*(?:\[|:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Call:
    """One call in an action: `name({...})`, `name[argument]`, or a sentence whose first word is the name.

    What is not an object of named arguments stands whole under `argument`.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


class CheckpointKind(StrEnum):
    """The kind of a checkpoint: before a critical `action`, at the `end`, or `halted`, where nothing is pending."""

    ACTION = "action"
    END = "end"
    HALTED = "halted"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint, all that a detector or a reviewer may see: the task, the steps before, and the action itself.

    `index` is the position of the action among the trajectory's steps; `pictures` are those of the opening. What the
    action brought about, the outcome, the gold answer and the memory of earlier trials are not here, so nothing that
    gets a checkpoint can leak them.
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

    @property
    def action_digest(self) -> str:
        """SHA-256 (hex) that binds a decision to exactly this action with these arguments."""
        return digest(self.action)


def digest(action: str) -> str:
    """SHA-256 (hex) of an action's exact text."""
    return hashlib.sha256(action.encode("utf-8", "surrogatepass")).hexdigest()


def is_thought(action: str) -> bool:
    """Whether the action is a thought written as an action: `think[...]` or `think: ...`."""
    return bool(_THOUGHT_ACTION.match(action))


def calls(action: str) -> list[Call]:
    """The calls in an action; several calls of one message stand one a line."""
    found = [call for line in action.splitlines() if (call := _written(line))]
    whole = _written(action)
    if len(found) > 1 or (found and not whole):
        return found
    if whole:
        return [whole]
    words = action.removeprefix("> ").split(None, 1)
    return [Call(words[0], {"argument": words[1] if len(words) > 1 else ""})] if words else []


def is_critical(action: str, patterns: Sequence[str]) -> bool:
    """Whether an action is critical: a pattern matches it, the name of a call in it, or one of its arguments."""
    words, matcher = _matcher(tuple(patterns))
    if action.isascii() and "\\u" not in action and not _holds_words(action.lower(), words):
        return False
    return any(matcher.fullmatch(text) for text in _faces(action))


def _holds_words(lowered: str, words: tuple[list[str], ...]) -> bool:
    # Asked of every action that is imported: generators would take twice the time.
    for every in words:
        for word in every:
            if word not in lowered:
                break
        else:
            return True
    return False


def count_critical(action: str, patterns: Sequence[str]) -> int:
    """How many calls in the action are critical; an action that is critical as a whole counts once."""
    if not is_critical(action, patterns):
        return 0
    several = len(calls(action)) > 1
    return max(1, sum(is_critical(line, patterns) for line in action.splitlines())) if several else 1


def checkpoints(trajectory: Trajectory, patterns: Sequence[str], *, ends: bool = False) -> list[Checkpoint]:
    """The checkpoints of a trajectory in order: one before each critical action, and one at the end if `ends`."""
    steps = trajectory.steps
    found = [
        _at(trajectory, index, CheckpointKind.ACTION)
        for index, step in enumerate(steps)
        if is_critical(step.action, patterns)
    ]
    if pending_action(trajectory) is not None:
        found.append(_at(trajectory, len(steps), CheckpointKind.ACTION))
    elif ends and steps and trajectory.outcome is not Outcome.HALTED:
        last = len(steps) - 1
        if not found or found[-1].index != last:
            found.append(_at(trajectory, last, CheckpointKind.END))
    return found


def previous(checkpoint: Checkpoint, patterns: Sequence[str]) -> Checkpoint | None:
    """The checkpoint of the last critical action before this one, None where there is none."""
    found = (at for at in reversed(range(len(checkpoint.steps))) if is_critical(checkpoint.steps[at].action, patterns))
    at = next(found, None)
    if at is None:
        return None
    step = checkpoint.steps[at]
    return replace(
        checkpoint,
        steps=checkpoint.steps[:at],
        index=at,
        kind=CheckpointKind.ACTION,
        thought=step.thought,
        action=step.action,
        speaker=step.speaker,
    )


def pending_action(trajectory: Trajectory) -> str | None:
    """The critical action that has not run yet, or None where there is none."""
    action = trajectory.critical_action
    if action is None:
        return None
    waiting = trajectory.outcome in (Outcome.PAUSED, Outcome.RUNNING)
    return action if waiting or all(step.action != action for step in trajectory.steps) else None


def halted_checkpoint(trajectory: Trajectory) -> Checkpoint:
    """The checkpoint of a halted trial, what a reviewer may see of it: every step it took."""
    return Checkpoint(
        environment=trajectory.environment,
        instruction=trajectory.instruction,
        opening=trajectory.opening,
        steps=_shown(trajectory.steps),
        index=len(trajectory.steps),
        kind=CheckpointKind.HALTED,
        pictures=trajectory.pictures,
    )


def checkpoint_at(trajectory: Trajectory, index: int, kind: CheckpointKind) -> Checkpoint:
    """The checkpoint of that kind at that step, as the queue stored it."""
    return halted_checkpoint(trajectory) if kind is CheckpointKind.HALTED else _at(trajectory, index, kind)


def _at(trajectory: Trajectory, index: int, kind: CheckpointKind) -> Checkpoint:
    pending = index >= len(trajectory.steps)
    step = _pending_step(trajectory) if pending else trajectory.steps[index]
    return Checkpoint(
        environment=trajectory.environment,
        instruction=trajectory.instruction,
        opening=trajectory.opening,
        steps=_shown(trajectory.steps[:index]),
        index=index,
        kind=kind,
        thought=step.thought,
        action=step.action,
        speaker=step.speaker,
        pictures=trajectory.pictures,
    )


def _pending_step(trajectory: Trajectory) -> Step:
    thought = trajectory.extra.get("pending_thought")
    return Step(thought if isinstance(thought, str) else "", trajectory.critical_action or "")


def _shown(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps without `extra`: a source may keep rewards or labels there."""
    return tuple(replace(step, extra={}) if step.extra else step for step in steps)


def _faces(action: str) -> Iterator[str]:
    for part in dict.fromkeys((action, *action.splitlines())):
        if part.strip() and not is_thought(part):
            yield part.strip()
            yield part.strip().removeprefix("> ")
    for call in _calls_run(action):
        yield call.name
        for name, value in call.arguments.items():
            text = value if isinstance(value, str) else orjson.dumps(value).decode()
            yield f"{call.name}.{name}={text}"


def _calls_run(action: str) -> list[Call]:
    """The calls in an action, thoughts left out; a call on a line after a thought counts."""
    if not is_thought(action):
        return calls(action)
    return [call for line in action.splitlines() if not is_thought(line) and (call := _written(line))]


def _written(text: str) -> Call | None:
    """The call that a text is, unless it is a mere sentence; arguments that cannot be read keep the call's name."""
    if match := _BRACKETED.match(text):
        return Call(match["name"], {"argument": match["argument"]})
    match = _CALLED.match(text)
    oddly = None if match else _NAMED_ODDLY.match(text)
    if not (match := match or oddly):
        return None
    try:
        arguments = orjson.loads(match["arguments"] or "{}")
    except orjson.JSONDecodeError:
        arguments = None
    if oddly and not isinstance(arguments, dict):
        return None
    return Call(match["name"], arguments if isinstance(arguments, dict) else {"argument": match["arguments"]})


@lru_cache(maxsize=512)
def _matcher(patterns: tuple[str, ...]) -> tuple[tuple[list[str], ...], re.Pattern[str]]:
    """(the words of each pattern, which any match of it must hold, and one expression for all patterns)."""
    words = tuple(_words(pattern) for pattern in patterns)
    return words, globs([pattern.strip() for pattern in patterns])


def globs(patterns: Sequence[str]) -> re.Pattern[str]:
    """One expression for whole texts that any of the globs matches, in a time that grows with the text alone."""
    one_of = "|".join(f"(?:{_spelled(pattern)})" for pattern in patterns) or r"(?!)"
    return re.compile(one_of, re.IGNORECASE | re.DOTALL)


def _spelled(pattern: str) -> str:
    first, *further = (re.escape(part).replace(r"\?", ".") for part in pattern.split("*"))
    if not further:
        return first
    # The first place of a part between two stars is as good as any later one, so none is tried again.
    return first + "".join(f"(?>.*?{part})" for part in further[:-1] if part) + f".*{further[-1]}"


def _words(pattern: str) -> list[str]:
    """The pattern's words in lower case, without the name that a call's only argument gets from us."""
    return [word for word in _WORD.findall(pattern.lower()) if word != "argument"]
