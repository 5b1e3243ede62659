"""Trajectories, their steps, and their canonical form for import and export: one JSON object per line."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

import orjson

from console.errors import BadInput
from console.trajectory.calls import find_problem
from console.trajectory.tools import ToolSchema, read_schemas


class Outcome(StrEnum):
    """The outcome of a trial so far. `finished`: the trial has ended, but its record shows no success or failure."""

    RUNNING = "running"
    PAUSED = "paused"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    HALTED = "halted"
    REJECTED = "rejected"
    ERROR = "error"
    FINISHED = "finished"


class Label(StrEnum):
    """The true or reviewed label of a checkpoint or trial; the positive class is always `misaligned`."""

    ALIGNED = "aligned"
    MISALIGNED = "misaligned"


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in a step: the SHA-256 (hex) of its bytes, which is also the storage key, its type and its size."""

    digest: str
    media_type: str
    size: int

    @property
    def text(self) -> str:
        """The placeholder for a picture in a text, such as `[image, 2.3 MB, png]`."""
        big = f"{self.size / 1e6:.1f} MB" if self.size >= 1e6 else f"{max(1, round(self.size / 1e3))} kB"
        return f"[image, {big}, {self.media_type.rpartition('/')[2]}]"


@dataclass(frozen=True, slots=True)
class Step:
    """One step: a thought, an action and an observation; each of these may be empty.

    `speaker` is the acting agent in a team of agents; `pictures` are the pictures in the observation.
    """

    thought: str = ""
    action: str = ""
    observation: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    speaker: str = ""
    pictures: tuple[Picture, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the canonical form of the step, with unknown fields under `extra`."""
        record: dict[str, Any] = {"thought": self.thought, "action": self.action, "observation": self.observation}
        if self.speaker:
            record["speaker"] = self.speaker
        if self.pictures:
            record["pictures"] = [asdict(picture) for picture in self.pictures]
        if self.extra:
            record["extra"] = dict(self.extra)
        return record


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The recorded trajectory of one trial of one task, with its gold label if the source has one.

    `opening` is the text shown to the agent before its first step (a start page, a policy and the user's first
    message). `pictures` are the pictures in the opening. `memory` holds the entries that earlier trials added to the
    agent's prompt. `gold` has at least the key `label` if a label is known. `tools` are the tools offered to the agent,
    if the source lists them.
    """

    task_id: str
    environment: str
    instruction: str
    steps: tuple[Step, ...] = ()
    trial: int = 0
    critical_action: str | None = None
    outcome: Outcome = Outcome.FINISHED
    gold: Mapping[str, Any] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    opening: str = ""
    memory: tuple[str, ...] = ()
    carried_over: bool = False
    pictures: tuple[Picture, ...] = ()
    tools: tuple[ToolSchema, ...] = ()

    @property
    def label(self) -> Label | None:
        """The source's own ground-truth label, or None if the source has no label."""
        value = self.gold.get("label")
        return Label(value) if value is not None else None

    def to_dict(self) -> dict[str, Any]:
        """Return the canonical form, with its keys in the documented order."""
        record: dict[str, Any] = {
            "task_id": self.task_id,
            "trial": self.trial,
            "environment": self.environment,
            "instruction": self.instruction,
            "steps": [step.to_dict() for step in self.steps],
            "critical_action": self.critical_action,
            "outcome": str(self.outcome),
            "gold": dict(self.gold),
            "source": dict(self.source),
            "extra": dict(self.extra),
        }
        further = {
            "opening": self.opening,
            "pictures": [asdict(picture) for picture in self.pictures],
            "memory": list(self.memory),
            "carried_over": self.carried_over,
            "tools": [tool.to_dict() for tool in self.tools],
        }
        return record | {name: value for name, value in further.items() if value}

    def to_json(self) -> str:
        """Return the canonical form as one line of JSON text."""
        return orjson.dumps(self.to_dict()).decode()

    def content_digest(self) -> str:
        """Return the SHA-256 (hex) of the content; the same trial in another file has the same digest."""
        steps = [[s.thought, s.action, s.observation] for s in self.steps]
        task = (self.task_id, self.trial, self.environment, self.instruction)
        parts = [*task, steps, self.critical_action, self.outcome, self.gold.get("label")]
        return hashlib.sha256(orjson.dumps(parts)).hexdigest()

    def as_carried_over(self) -> Trajectory:
        """Return the trajectory marked as a copy from the previous trial."""
        return replace(self, carried_over=True)


_FIELDS, _STEP_FIELDS = (frozenset(one.name for one in fields(shape)) for shape in (Trajectory, Step))
_MOST_TRIALS = 1_000_000
_CALL_FIELDS = ("tool", "input", "output")
_FOREIGN_CALLS = (
    *("tool_calls", "tool_call", "function_call", "function", "tool_name", "arguments", "args"),
    *("actions", "calls", "function_calls", "toolCalls", "toolName", "tool_use"),
)
_BARE = frozenset({"thought", "action", "observation"})
_CALL_FORM = '"action": "name({...})", "action": {"name", "arguments"}, or "tool" with its "input"'
_PICTURE = ("digest", "media_type", "size")
_OUTCOMES = {str(outcome): outcome for outcome in Outcome}
_LABELS = (None, *Label)


def from_dict(record: Mapping[str, Any]) -> Trajectory:
    """Parse a canonical record and keep unknown fields in `extra`; raise BadInput if a field is missing or invalid."""
    for name in ("task_id", "instruction", "steps"):
        if name not in record:
            raise BadInput(f'the record has no "{name}". Give task_id, instruction and steps')
    steps = record["steps"]
    if not isinstance(steps, list):
        raise BadInput('"steps" is not a list. Give a list of objects with thought, action and observation')
    gold = _mapping(record, "gold")
    if gold.get("label") not in _LABELS:
        raise BadInput(f'gold label {gold["label"]!r} is invalid. Write "aligned" or "misaligned", or remove the label')
    extra = _mapping(record, "extra") | {key: value for key, value in record.items() if key not in _FIELDS}
    tools = read_schemas(offered) if (offered := record.get("tools")) else ()
    if offered and not tools:
        # An agent's own field of this name is not lost.
        extra["tools"] = offered
    critical = record.get("critical_action")
    if critical is not None and not isinstance(critical, str):
        raise BadInput('"critical_action" is not a string. Write the action as text, or remove the field')
    memory = record.get("memory") or []
    if not isinstance(memory, list):
        raise BadInput('"memory" is not a list of strings. Write ["first note", "second note"], or remove the field')
    return Trajectory(
        task_id=_text(record, "task_id", numbers=True),
        environment=_text(record, "environment") or "generic",
        instruction=_text(record, "instruction"),
        steps=tuple([_step(step, index) for index, step in enumerate(steps)]),
        trial=_trial(record.get("trial")),
        critical_action=critical,
        outcome=_outcome(record.get("outcome")),
        gold=gold,
        source=_mapping(record, "source"),
        extra=extra,
        opening=_text(record, "opening"),
        memory=tuple(str(entry) for entry in memory),
        carried_over=bool(record.get("carried_over", False)),
        pictures=_pictures(record, "the opening"),
        tools=tools,
    )


def from_json(line: str | bytes) -> Trajectory:
    """Parse one line of canonical JSON; raise BadInput if the line is invalid."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as broken:
        raise BadInput(f"this is not valid JSON ({broken}). Correct the record") from broken
    if not isinstance(record, dict):
        raise BadInput('this is not a JSON object. Write {"task_id": ..., "instruction": ..., "steps": [...]}')
    return from_dict(record)


def _step(step: object, index: int) -> Step:
    if type(step) is dict and step.keys() == _BARE:
        thought, action, observation = step["thought"], step["action"], step["observation"]
        if type(thought) is type(action) is type(observation) is str:
            return Step(thought, action, observation)
    if not isinstance(step, dict):
        form = '{"thought": ..., "action": ..., "observation": ...}'
        raise BadInput(f"step {index + 1} is not an object. Write {form}")
    called = step.get("action") in (None, "") and step.get("tool") is not None
    known = _STEP_FIELDS.union(_CALL_FIELDS) if called else _STEP_FIELDS
    unread = {key: value for key, value in step.items() if key not in known}
    action = _action(step, index, called)
    if not action and (lost := next((name for name in _FOREIGN_CALLS if unread.get(name)), None)):
        raise BadInput(f'step {index + 1} has "{lost}" instead of an action. Write {_CALL_FORM}')
    if unread and not step.keys() & _STEP_FIELDS and not called:
        raise BadInput(f"step {index + 1} has none of thought, action and observation. Give at least one of them")
    told = step["output"] if called and step.get("observation") is None and "output" in step else ""
    return Step(
        thought=_text(step, "thought"),
        action=action,
        observation=_text(step, "observation") or (told if isinstance(told, str) else orjson.dumps(told).decode()),
        extra=_mapping(step, "extra") | unread,
        speaker=_text(step, "speaker"),
        pictures=_pictures(step, f"step {index + 1}"),
    )


def call_action(name: str, arguments: object) -> str:
    """Return a tool call as an action, `name({json})`; keep arguments that are not strict JSON as text on one line."""
    if not isinstance(arguments, str):
        return f"{name}({orjson.dumps({} if arguments is None else arguments).decode()})"
    if not find_problem(arguments):
        with suppress(orjson.JSONDecodeError):
            return f"{name}({orjson.dumps(orjson.loads(arguments or '{}')).decode()})"
    # A line break would make another call of what follows it.
    return f"{name}({orjson.dumps(arguments).decode() if len(arguments.splitlines()) > 1 else arguments})"


def _action(step: Mapping[str, Any], index: int, called: bool) -> str:
    """Return a step's action: a text, a call `{name, arguments}`, or `tool` and `input` if the step has no `action`."""
    action = step.get("action")
    if isinstance(action, dict):
        name, arguments = action.get("name"), action.get("arguments")
    elif called:
        name, arguments = step["tool"], step.get("input")
    else:
        return _text(step, "action")
    if not isinstance(name, str) or not name.strip():
        raise BadInput(f"the call of step {index + 1} has no name. Give its tool's name as a string")
    return call_action(name, arguments)


def _pictures(holder: Mapping[str, Any], where: str) -> tuple[Picture, ...]:
    if not (held := holder.get("pictures")):
        return ()
    try:
        read = tuple(Picture(**{name: one[name] for name in _PICTURE}) for one in held)
        if any((type(one.digest), type(one.media_type), type(one.size)) != (str, str, int) for one in read):
            raise TypeError
        return read
    except (TypeError, KeyError) as broken:
        raise BadInput(f"a picture of {where} lacks digest, media_type or size. Complete the picture") from broken


def _text(record: Mapping[str, Any], name: str, *, numbers: bool = False) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if numbers and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise BadInput(f'"{name}" is not a string. Write the value as text between quotes')
    return value


def _mapping(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = record.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadInput(f'"{name}" is not an object')
    return dict(value)


def _trial(value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_TRIALS:
        raise BadInput(f'"trial" is {value!r}. Use a whole number from 0 to {_MOST_TRIALS}')
    return value


def _outcome(value: object) -> Outcome:
    if value is None:
        return Outcome.FINISHED
    if not isinstance(value, str) or value not in _OUTCOMES:
        raise BadInput(f"outcome {value!r} is not valid. Use one of {', '.join(Outcome)}")
    return _OUTCOMES[value]
