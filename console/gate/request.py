"""An agent's request, identified by a digest, with the policy's ruling, and the gate's decision on it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import orjson

from console.errors import BadInput
from console.gate.policy.expression import NO_HINTS, ToolHints
from console.gate.policy.policy_store import PolicyVersion
from console.gate.policy.rules import Ruling, Then
from console.review.access import OTHERS
from console.review.edits import TOOL_SCHEMA, check_tool_schema
from console.trajectory import Outcome, Step, Trajectory
from console.trajectory.calls import Call, find_problem, read_action
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at, digest
from storage import tables


class Reason(StrEnum):
    """The reason of a decision; only the first five allow an action to run.

    `not_critical`: a rule of the policy allows the action; `shadow`: the policy only records; `denied`: a rule forbids
    the action; `void`: the database was restored from a backup, so the agent must submit the check again.
    """

    NOT_CRITICAL = "not_critical"
    NOT_FLAGGED = "not_flagged"
    APPROVED = "approved"
    EDITED = "edited"
    SHADOW = "shadow"
    DENIED = "denied"
    ALREADY_REJECTED = "already_rejected"
    REJECTED = "rejected"
    RESPONDED = "responded"
    TIMEOUT = "timeout"
    BUDGET_SPENT = "budget_spent"
    CANCELLED = "cancelled"
    ALREADY_HANDED_OUT = "already_handed_out"
    UNREACHABLE = "unreachable"
    DETECTOR_FAILED = "detector_failed"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The gate's decision on an action, which may run if `approved`; if `edited`, `action` is the reviewer's edit.

    `feedback` is for the agent's memory. `score` is the detector's P(misaligned) in [0, 1]. `check_id` is the id of the
    check for its agent. `intent_id` is the id of the intent to run the action; the id is None until the action begins.
    """

    approved: bool
    action: str
    feedback: str
    reason: Reason
    item_id: int | None = None
    decision_id: int | None = None
    score: float | None = None
    intent_id: int | None = None
    check_id: str | None = None

    @property
    def edited(self) -> bool:
        """True if `action` is the reviewer's edit of the submitted action."""
        return self.reason is Reason.EDITED

    @property
    def call(self) -> Call | None:
        """The action as a tool's name and arguments, or None if the action is not a single call."""
        called = read_action(self.action)
        return called[0] if len(called) == 1 else None


StepLike = Step | Mapping[str, Any] | Sequence[Any]
"""A Step, a mapping with thought, action and observation, or a pair (action, observation)."""
ActionLike = str | Mapping[str, Any]
"""The text of an action, or a tool call with name and arguments."""


MOST = 2**31 - 1
"""The largest whole number that a column holds on every database."""


TOOL_HINTS = "pending_tool_hints"


@dataclass(frozen=True, slots=True)
class Asker:
    """The agent that submits a request; `agent_id` is None if the agent has no token but direct database access."""

    agent_id: int | None = None
    name: str = ""


NOBODY = Asker()
"""A caller with access to the database that gives no name."""


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """A request to run the action at the end of a trajectory; `named` is true if the caller gave the task an id."""

    record: Trajectory
    action: str
    named: bool
    digest: str
    follows: int | None = None
    """The id of the undecided ask that this request replaces."""
    asker: Asker = NOBODY

    @property
    def own_digest(self) -> str:
        """The digest of this request, with the id of the replaced ask if there is one."""
        return self.digest if self.follows is None else f"{self.digest}:{self.follows}"

    @property
    def step(self) -> int:
        """The index of the action among the steps."""
        return len(self.record.steps)

    @property
    def hints(self) -> ToolHints:
        """The hints of the tool's server, as the agent sent them."""
        stated = self.record.extra.get(TOOL_HINTS)
        return ToolHints(**stated) if isinstance(stated, Mapping) else NO_HINTS

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint that detectors and reviewers may see."""
        return checkpoint_at(self.record, self.step, CheckpointKind.ACTION)


@dataclass(frozen=True, slots=True)
class Tightened:
    """A caller's own settings; a setting applies only if it is stricter than the run's setting."""

    detector: str | None = None
    threshold: float | None = None
    reviews: int = 1
    undo_ms: int = 0


@dataclass(frozen=True, slots=True)
class Ruled:
    """A check's ruling, the policy version that gave it, and the caller's stricter settings."""

    version: PolicyVersion
    ruling: Ruling
    tightened: Tightened = field(default_factory=Tightened)
    audited: float = 0.0
    """The probability with which a person decides on an action that is judged and not flagged."""
    audits_after: bool = False
    """True if an audited action runs first and is reviewed afterwards."""
    number: float = 1.0
    """The random number of the action, which is audited if the number is below the probability."""

    @property
    def is_audit(self) -> bool:
        """True if a person decides on the action even without a flag."""
        return self.number < self.audited

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of table `ask` that describe the ruling."""
        return {"policy_version": self.version.version, "rule": self.ruling.rule, "tool": self.ruling.tool}

    def asks(self, verdict: dict[str, Any]) -> bool:
        """Return whether a person has to decide."""
        return bool(verdict["flagged"]) or self.ruling.then is Then.ASK or (self.is_audit and not self.audits_after)

    def reviews(self, run: tables.Run) -> int:
        """Return the number of required reviews: the highest that the run, the rule or the caller requires."""
        return max(run.reviews_per_item, self.ruling.reviews, self.tightened.reviews)

    def terms(self, asked_ms: int = 0, person: str = "") -> str:
        """Return the rules for the review as JSON, for a check at `asked_ms` in the name of `person`."""
        least = {"least_undo_ms": self.tightened.undo_ms} if self.tightened.undo_ms else {}
        return orjson.dumps(state_terms(self.ruling, asked_ms, person) | least).decode()


def state_terms(ruling: Ruling, asked_ms: int, person: str) -> dict[str, Any]:
    """Return the terms of a ruling, as an item stores them: decisions offered, people, entry points and times."""
    widen, who = ruling.widen, ruling.who
    stated: dict[str, Any] = {"decisions": ruling.decisions or None, "who": who, "doors": ruling.doors}
    stated |= {"stays": True if ruling.stays else None, "asker": person if OTHERS in (who or ()) else None}
    stated |= {"undo_ms": None if ruling.undo_s is None else round(ruling.undo_s * 1_000)}
    if widen is not None:
        stated["widen"] = {"from_ms": asked_ms + round(widen.after_s * 1_000), "to": widen.to}
    return {name: value for name, value in stated.items() if value is not None}


def check_request(
    task: str,
    steps: Sequence[StepLike],
    action: ActionLike,
    *,
    task_id: str | None = None,
    trial: int = 0,
    environment: str = "generic",
    tool_schema: Mapping[str, Any] | None = None,
    hints: Mapping[str, bool] | None = None,
) -> CheckRequest:
    """Build the request; raise BadInput if an argument is missing or invalid.

    `tool_schema` is the JSON schema of the tool's arguments, `hints` the fields of `ToolHints`. Both are stored beside
    the action and are not part of the digest.
    """
    if not isinstance(task, str) or not task.strip():
        raise BadInput("task is missing. Give the text of the user's request.")
    if isinstance(trial, bool) or not isinstance(trial, int) or not 0 <= trial <= MOST:
        raise BadInput(f"trial is {trial!r}. Use a whole number from 0 to {MOST}.")
    if isinstance(steps, str) or not isinstance(steps, Sequence):
        raise BadInput("steps is not a list. Give the steps before the action, each with action and observation.")
    if tool_schema is not None:
        check_tool_schema(tool_schema)
    text = action_text(action)
    instruction = _clean(task)
    told = {TOOL_SCHEMA: tool_schema, TOOL_HINTS: hints}
    pending = {name: dict(given) for name, given in told.items() if given is not None}
    record = Trajectory(
        task_id=_clean(str(task_id)) if task_id is not None else derive_task_id(instruction),
        environment=environment,
        instruction=instruction,
        steps=tuple(_step(step, place) for place, step in enumerate(steps, 1)),
        trial=trial,
        critical_action=text,
        outcome=Outcome.PAUSED,
        extra=pending,
    )
    return CheckRequest(record, text, task_id is not None, _digest(record))


def derive_task_id(instruction: str) -> str:
    """Return the id of a task for which the agent gives none; tasks with equal texts share the id."""
    return f"task-{digest(instruction)[:16]}"


def bind_asker(request: CheckRequest, asker: Asker) -> CheckRequest:
    """Return the request bound to the agent; an identical request by another agent has another digest."""
    if asker.agent_id is None:
        return replace(request, asker=asker)
    own = hashlib.sha256(f"agent {asker.agent_id}: {request.digest}".encode()).hexdigest()
    return replace(request, asker=asker, digest=own)


def action_text(action: ActionLike) -> str:
    """Return the exact text of an action; a tool call becomes `name({json})` with sorted keys.

    Arguments given as text stay as written if they cannot be read or are not strict, as with a duplicate key.
    Raise BadInput if the action is empty or cannot be stored.
    """
    text = action if isinstance(action, str) else _call_text(action)
    if not text.strip():
        raise BadInput("The action is empty. Give its text, or a tool call with name and arguments.")
    if _clean(text) != text:
        raise BadInput("The action contains a NUL or a lone surrogate, and cannot be stored. Remove this character.")
    return text


def _call_text(action: object) -> str:
    if not isinstance(action, Mapping) or not isinstance(action.get("name"), str) or not action["name"]:
        raise BadInput(
            'The action has an invalid type. Give a string or a tool call {"name": ..., "arguments": {...}}.'
        )
    arguments = action.get("arguments", {})
    if isinstance(arguments, str):
        try:
            is_strict = not find_problem(arguments)
            arguments = orjson.loads(arguments or "{}") if is_strict else arguments
        except orjson.JSONDecodeError:
            is_strict = False
        if not is_strict:
            return f"{action['name']}({arguments})"
    return f"{action['name']}({_json(arguments)})"


def _json(value: object) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError as unreadable:
        raise BadInput(f"The arguments cannot be written as JSON ({unreadable}). Use JSON values only.") from unreadable


def _step(step: StepLike, place: int) -> Step:
    if isinstance(step, Step):
        return Step(_clean(step.thought), _clean(step.action), _clean(step.observation))
    if isinstance(step, Mapping):
        return Step(_text(step.get("thought")), _action(step.get("action")), _text(step.get("observation")))
    if isinstance(step, str) or not isinstance(step, Sequence) or len(step) != 2:
        raise BadInput(
            f"Step {place} has an invalid type. Give a Step, a mapping, or a pair of action and observation."
        )
    return Step(action=_action(step[0]), observation=_text(step[1]))


def _action(value: object) -> str:
    is_call = isinstance(value, Mapping) and "name" in value
    return _clean(_call_text(value)) if is_call else _text(value)


def _text(value: object) -> str:
    if value is None:
        return ""
    return _clean(value) if isinstance(value, str) else _json(value)


def _clean(text: str) -> str:
    """Escape lone surrogates and NULs, since JSON or a database cannot store them."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def _digest(record: Trajectory) -> str:
    """Return the SHA-256 (hex) of task, trial, steps and action; any change gives another digest."""
    steps = [[step.thought, step.action, step.observation] for step in record.steps]
    known = [record.task_id, record.trial, record.environment, record.instruction, steps, record.critical_action]
    return hashlib.sha256(orjson.dumps(known)).hexdigest()
