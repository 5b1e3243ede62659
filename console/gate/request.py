"""The request of an agent: the task, the steps so far and the very action, known by a digest of all three."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from console.errors import BadInput
from console.review.edits import TOOL_SCHEMA, check_tool_schema
from console.trajectory import Outcome, Step, Trajectory
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at, digest

StepLike = Step | Mapping[str, Any] | Sequence[Any]
"""A Step, a mapping with thought, action and observation, or a pair (action, observation)."""
ActionLike = str | Mapping[str, Any]
"""The text of an action, or a tool call with name and arguments."""


MOST = 2**31 - 1
"""The largest whole number that a column holds on every database."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks: an agent with a token of its own has an id; without one it is whoever has the database open."""

    agent_id: int | None = None
    name: str = ""


NOBODY = Asker()
"""Whoever has the database open and gives no name."""


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """May the action at the end of this trajectory run? `named` says that the caller gave the task an id."""

    record: Trajectory
    action: str
    named: bool
    digest: str
    follows: int | None = None
    """The id of the ask that nobody answered and that this one takes the place of."""
    asker: Asker = NOBODY

    @property
    def own_digest(self) -> str:
        """The digest, unlike that of the same request made before."""
        return self.digest if self.follows is None else f"{self.digest}:{self.follows}"

    @property
    def step(self) -> int:
        """The place of the action among the steps."""
        return len(self.record.steps)

    @property
    def checkpoint(self) -> Checkpoint:
        """What a detector or a reviewer may see of it."""
        return checkpoint_at(self.record, self.step, CheckpointKind.ACTION)


def check_request(
    task: str,
    steps: Sequence[StepLike],
    action: ActionLike,
    *,
    task_id: str | None = None,
    trial: int = 0,
    environment: str = "generic",
    tool_schema: Mapping[str, Any] | None = None,
) -> CheckRequest:
    """The request in the console's words; raises BadInput in one sentence where it is not complete.

    `tool_schema`, the JSON schema of the tool's arguments, is kept beside the action and no part of its digest.
    """
    if not isinstance(task, str) or not task.strip():
        raise BadInput("The gate needs the task: the text of what the user asked the agent to do.")
    if isinstance(trial, bool) or not isinstance(trial, int) or not 0 <= trial <= MOST:
        raise BadInput(f"trial is {trial!r}; trials are whole numbers that count from 0, at most {MOST}.")
    if isinstance(steps, str) or not isinstance(steps, Sequence):
        raise BadInput("steps is no list; give the steps before the action, each with action and observation.")
    if tool_schema is not None:
        check_tool_schema(tool_schema)
    text = action_text(action)
    instruction = _clean(task)
    record = Trajectory(
        task_id=_clean(str(task_id)) if task_id is not None else f"task-{digest(instruction)[:16]}",
        environment=environment,
        instruction=instruction,
        steps=tuple(_step(step, place) for place, step in enumerate(steps, 1)),
        trial=trial,
        critical_action=text,
        outcome=Outcome.PAUSED,
        extra={} if tool_schema is None else {TOOL_SCHEMA: dict(tool_schema)},
    )
    return CheckRequest(record, text, task_id is not None, _digest(record))


def asked_by(request: CheckRequest, asker: Asker) -> CheckRequest:
    """The request as that agent's own: another agent that asks the very same asks something else."""
    if asker.agent_id is None:
        return replace(request, asker=asker)
    own = hashlib.sha256(f"agent {asker.agent_id}: {request.digest}".encode()).hexdigest()
    return replace(request, asker=asker, digest=own)


def action_text(action: ActionLike) -> str:
    """The exact text of an action; a tool call becomes `name({arguments as JSON, keys sorted})`; raises BadInput."""
    text = action if isinstance(action, str) else _call_text(action)
    if not text.strip():
        raise BadInput("The action is empty; give its text, or a tool call with name and arguments.")
    if _clean(text) != text:
        raise BadInput(
            "The action holds a NUL or half a character (a lone surrogate), so it cannot be stored as it is."
        )
    return text


def _call_text(action: object) -> str:
    if not isinstance(action, Mapping) or not isinstance(action.get("name"), str) or not action["name"]:
        raise BadInput('The action is neither a text nor a tool call {"name": ..., "arguments": {...}}.')
    arguments = action.get("arguments", {})
    if isinstance(arguments, str):
        try:
            arguments = orjson.loads(arguments or "{}")
        except orjson.JSONDecodeError:
            return f"{action['name']}({arguments})"
    return f"{action['name']}({_json(arguments)})"


def _json(value: object) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError as unreadable:
        raise BadInput(f"The arguments cannot be written as JSON ({unreadable}).") from unreadable


def _step(step: StepLike, place: int) -> Step:
    if isinstance(step, Step):
        return Step(_clean(step.thought), _clean(step.action), _clean(step.observation))
    if isinstance(step, Mapping):
        return Step(_text(step.get("thought")), _action(step.get("action")), _text(step.get("observation")))
    if isinstance(step, str) or not isinstance(step, Sequence) or len(step) != 2:
        raise BadInput(f"Step {place} is neither a Step, nor a mapping, nor a pair of action and observation.")
    return Step(action=_action(step[0]), observation=_text(step[1]))


def _action(value: object) -> str:
    is_call = isinstance(value, Mapping) and "name" in value
    return _clean(_call_text(value)) if is_call else _text(value)


def _text(value: object) -> str:
    if value is None:
        return ""
    return _clean(value) if isinstance(value, str) else _json(value)


def _clean(text: str) -> str:
    """The text with half characters and NULs spelled out, since JSON or a database cannot hold them."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def _digest(record: Trajectory) -> str:
    """SHA-256 (hex) of task, trial, prefix and action: any change makes another request."""
    steps = [[step.thought, step.action, step.observation] for step in record.steps]
    known = [record.task_id, record.trial, record.environment, record.instruction, steps, record.critical_action]
    return hashlib.sha256(orjson.dumps(known)).hexdigest()
