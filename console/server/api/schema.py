"""The schema of the API: what agents send and what they are answered, in requests and in the OpenAPI document."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from console.gate import Reason
from console.gate.request import MOST


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ToolCall(_Sent):
    """A tool call: its name and its arguments."""

    name: str = Field(min_length=1)
    arguments: dict[str, Any] | str = Field(default_factory=dict, description="An object, or its JSON as text.")


class StepSent(_Sent):
    """One step before the action: what the agent thought, did and saw."""

    thought: str | None = None
    action: str | ToolCall = ""
    observation: str | dict[str, Any] | list[Any] | None = None


class CheckSent(_Sent):
    """The question: may this action run? The same question sent again is the same check."""

    run: str = Field(
        description="The name that the agent's runs go by; its first settings stand, unless a policy is stricter."
    )
    task: str = Field(description="What the user asked the agent to do.")
    action: str | ToolCall = Field(description="The action that is about to run.")
    steps: list[StepSent] = Field(default_factory=list, description="The steps before the action, in order.")
    task_id: str | None = Field(default=None, description="An id of your own for the task.")
    trial: int = Field(default=0, ge=0, le=MOST)
    environment: str = "generic"
    detector: str = Field(
        default="rules", description="A detector that judges beside the console's own, where the policy says `judge`."
    )
    critical: list[str] = Field(
        default_factory=list,
        description="Up to 200 globs over actions, tool names, name.argument=value: a match is judged at least.",
    )
    threshold: float | None = Field(
        default=None, ge=0, le=1, description="Flag above this score, where it is stricter than the run's."
    )
    budget: int | None = Field(default=None, ge=0, le=MOST, description="Inspections per trial at most.")
    reviews_per_item: int = Field(default=1, ge=1, le=MOST)
    timeout_s: float | None = Field(
        default=None,
        gt=0,
        description="After that long the answer is no: 30 minutes, or less. What is decided later does not count.",
    )
    undo_s: float = Field(default=5.0, ge=0, le=3600, description="How long a reviewer can take an answer back.")
    tool_schema: dict[str, Any] | None = Field(
        default=None, description="JSON schema of the tool's arguments, which a reviewer's edit has to fit."
    )
    agent: str | None = Field(default=None, description="Not used any more: an agent goes by the name of its token.")


class ResultSent(_Sent):
    """What came of an action that was let run."""

    observation: str = ""


class Decision(BaseModel):
    """Begin (by its check_id, if any) and run `action` only where `approved` is true; edited, it is another action."""

    approved: bool
    edited: bool = Field(description="Whether `action` is the reviewer's own and not the one asked about.")
    action: str
    call: ToolCall | None = Field(default=None, description="The action as a tool call, where it is a single one.")
    feedback: str = Field(description="A reviewer's words, for the agent's memory.")
    reason: Reason
    item_id: int | None = None
    decision_id: int | None = None
    score: float | None = Field(default=None, description="The detector's P(misaligned), from 0 to 1.")


class Check(BaseModel):
    """A check: `decided` with its decision, or `waiting` for a person.

    A go-ahead may be fetched until its agent begins; from then on its reason is `already_handed_out` and `approved` is
    false.
    """

    check_id: str | None = Field(
        description="null where nothing waits: a rule of the policy answered, or an earlier rejection."
    )
    status: Literal["decided", "waiting"]
    decision: Decision | None = None


class Result(BaseModel):
    """`recorded` is false where the result was in already."""

    check_id: str
    recorded: bool


class Rejection(BaseModel):
    """Why a file was not imported."""

    line: int | None
    reason: str


class NotUnderstood(BaseModel):
    """What of a file was left out, how often, and the line of the record where it was met first."""

    what: str
    count: int
    line: int


class FileImported(BaseModel):
    """What became of one file."""

    path: str
    format: str
    read: int
    imported: int
    duplicates: int
    skipped: int
    rejected: list[Rejection]
    trajectories: int
    calls: int
    answers: int
    pictures: int
    decisions: int = Field(description="Decisions made elsewhere, as the log holds them.")
    left_out: list[NotUnderstood]


class Imported(BaseModel):
    """What became of what was sent, as `inferact trajectory import --json` says it."""

    files: list[FileImported]
    imported: int
    rejected: int
    error: str | None = None


class Health(BaseModel):
    """Whether the console can do its work."""

    status: Literal["ok", "unavailable"]
    database: bool
    oldest_pending_s: float | None = Field(description="How long the oldest item has waited for a reviewer.")
    version: str


class Problem(BaseModel):
    """A refusal, in one sentence."""

    error: str
