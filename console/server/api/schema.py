"""The schema of the API: the data that agents send and receive, in requests and in the OpenAPI document."""

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
    """One step before the action: the agent's thought, action and observation."""

    thought: str | None = None
    action: str | ToolCall = ""
    observation: str | dict[str, Any] | list[Any] | None = None


class TranscriptSent(_Sent):
    """A part of a coding agent's own transcript, which the console reads as the steps before the action."""

    format: str = Field(default="auto", description="A log format, such as claude-code, codex or gemini-cli.")
    text: str = Field(max_length=2**22, description="The lines since the user's request, with the first line.")


class HintsSent(_Sent):
    """The hints of the tool's server about the tool; send hints only if the operator trusts the server."""

    read_only: bool = False
    destructive: bool = True
    changed: bool = Field(
        default=False, description="Whether the tool's definition has changed; a person then decides instead of a rule."
    )


class CheckSent(_Sent):
    """A request to check whether an action may run. Sending the same request again returns the same check."""

    run: str = Field(description="The run's name; its first settings stay unless a policy is stricter.")
    task: str = Field(description="What the user asked the agent to do.")
    action: str | ToolCall = Field(description="The action that is about to run.")
    steps: list[StepSent] = Field(default_factory=list, description="The steps before the action, in order.")
    transcript: TranscriptSent | None = Field(default=None, description="Steps as a transcript, after `steps`.")
    task_id: str | None = Field(default=None, description="An id of your own for the task.")
    trial: int = Field(default=0, ge=0, le=MOST)
    environment: str = "generic"
    detector: str = Field(default="rules", description="A further detector, used if the policy says `judge`.")
    critical: list[str] = Field(
        default_factory=list,
        description="Up to 200 globs over actions, tool names, name.argument=value: a match is judged at least.",
    )
    threshold: float | None = Field(
        default=None, ge=0, le=1, description="Flag above this score, if it is stricter than the run's threshold."
    )
    budget: int | None = Field(default=None, ge=0, le=MOST, description="Inspections per trial at most.")
    reviews_per_item: int = Field(default=1, ge=1, le=MOST)
    timeout_s: float | None = Field(
        default=None,
        gt=0,
        le=MOST,
        description="Seconds until the deadline (default: 1,800), unless the rule of the policy sets its own.",
    )
    undo_s: float | None = Field(
        default=None, ge=0, le=3600, description="Lengthens the policy's time to undo a decision; cannot shorten it."
    )
    tool_schema: dict[str, Any] | None = Field(
        default=None, description="JSON schema of the tool's arguments; a reviewer's edit must match it."
    )
    hints: HintsSent | None = Field(
        default=None, description="Hints about the tool, for conditions on `hints.read_only` and `hints.destructive`."
    )


class ResultSent(_Sent):
    """The result of an approved action."""

    observation: str = ""


class CheckDecision(BaseModel):
    """A decision. Begin (by `check_id`, if any) and run `action` only if `approved` is true; an edit replaces it."""

    approved: bool
    edited: bool = Field(description="Whether `action` is the reviewer's own instead of the submitted one.")
    action: str
    call: ToolCall | None = Field(default=None, description="The action as a tool call, if it is a single call.")
    feedback: str = Field(description="A reviewer's feedback, for the agent's memory.")
    reason: Reason
    item_id: int | None = None
    decision_id: int | None = None
    score: float | None = Field(default=None, description="The detector's P(misaligned), from 0 to 1.")


class Check(BaseModel):
    """A check: `decided` with its decision, or `waiting` for a reviewer.

    An approval may be fetched until its agent begins; from then on its reason is `already_handed_out` and `approved` is
    false.
    """

    check_id: str | None = Field(description="null if a rule, an earlier rejection or a stopped run decided at once.")
    status: Literal["decided", "waiting"]
    decision: CheckDecision | None = None
    seconds_left: float | None = Field(default=None, description="Until the deadline of a waiting check.")


class Result(BaseModel):
    """The response to a result; `recorded` is false if the result was already recorded."""

    check_id: str
    recorded: bool


class Rejection(BaseModel):
    """The reason why a file was not imported."""

    line: int | None
    reason: str


class NotUnderstood(BaseModel):
    """A part of a file that was left out, how often, and the line of its first occurrence."""

    what: str
    count: int
    line: int


class FileImported(BaseModel):
    """The report on one file."""

    path: str
    format: str
    read: int
    imported: int
    extended: int = Field(0, description="Trajectories of sessions that have grown since an earlier import.")
    duplicates: int
    skipped: int
    rejected: list[Rejection]
    trajectories: int
    calls: int
    answers: int
    pictures: int
    decisions: int = Field(description="Decisions made elsewhere, as recorded in the log.")
    left_out: list[NotUnderstood]
    documents: list[str] = Field([], description="Documents beside the log in its archive, which are not imported.")


class Imported(BaseModel):
    """The report on the import, as `inferact trajectory import --json` prints it."""

    files: list[FileImported]
    imported: int
    rejected: int
    error: str | None = None


class Health(BaseModel):
    """The state of the console."""

    status: Literal["ok", "unavailable"]
    database: bool
    oldest_pending_s: float | None = Field(description="How long the oldest item has been pending.")
    version: str


class Readiness(BaseModel):
    """Whether the console can take requests; `problems` names each reason why not."""

    ready: bool
    problems: list[str]


class Problem(BaseModel):
    """A refusal, in one sentence."""

    error: str
