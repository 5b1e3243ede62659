"""The input and output values of the queue."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, NotRequired, TypedDict

HALTED = "halted"
"""The kind of an item whose trajectory stopped without a critical action: a reviewer cannot approve an action."""
DEAD_MS = 60_000
"""Time in ms after the last heartbeat until an agent that sends heartbeats counts as crashed."""
FAR_MS = 8 * 24 * 3_600_000
"""One day more than the longest lease or deadline (ms); a later end shows that the clock was wrong."""


@dataclass(frozen=True)
class NewItem:
    """A new item for the queue: a checkpoint to review; times in ms since 1970."""

    run_id: int
    trial: int
    trajectory_id: int
    step: int
    kind: str
    priority: float
    reviews_required: int
    verdict_id: int | None
    created_ms: int


class Claim(NamedTuple):
    """A reviewer's lease on an item, with the trajectory's canonical JSON as `body`."""

    item_id: int
    slot_id: int
    token: str
    run_id: int
    trial: int
    trajectory_id: int
    step: int
    kind: str
    priority: float
    verdict_id: int | None
    claimed_ms: int
    lease_until_ms: int
    body: str
    budget_cap: int | None
    budget_used: int


class NoClaimReason(StrEnum):
    """The reason why no item is claimed; the values from ITEM_TAKEN on apply to an item requested by its id."""

    EMPTY = "empty"
    BUDGET_SPENT = "budget_spent"
    ALL_CLAIMED_BY_OTHERS = "all_claimed_by_others"
    ALL_REVIEWED_BY_YOU = "all_reviewed_by_you"
    BEYOND_CAPACITY = "beyond_capacity"
    RUN_STOPPED = "run_stopped"
    ITEM_TAKEN = "item_taken"
    ITEM_REVIEWED_BY_YOU = "item_reviewed_by_you"
    ITEM_GONE = "item_gone"


@dataclass(frozen=True, slots=True)
class NoClaim:
    """The result of a claim without an item; `waiting` counts the items of the (run, trial) that lack a review."""

    reason: NoClaimReason
    waiting: int


@dataclass(frozen=True, slots=True)
class BudgetState:
    """The state of a budget; `cap` and `left` are None without a cap. `halted` counts reviewed halted items."""

    cap: int | None
    used: int
    halted: int
    left: int | None


class NewDecision(TypedDict):
    """A reviewer's decision to store.

    `submit_key` identifies one submission: a repeated key returns the first decision. `seen_digest` is the digest of
    the text shown to the reviewer, or None if unknown. `door` is the entry point of the decision, by default a browser.
    `reason_codes` are words separated by blanks; `marked_steps` and `answers` are JSON, or None.
    """

    decision: str
    label: str | None
    feedback_type: str
    feedback_text: str
    edited_action: str | None
    action_digest: str
    annotator_kind: str
    submit_key: str
    seen_digest: NotRequired[str | None]
    door: NotRequired[str]
    reason_codes: NotRequired[str]
    marked_steps: NotRequired[str | None]
    answers: NotRequired[str | None]


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One stored revision of a reviewer's decision."""

    id: int
    item_id: int
    slot_id: int
    reviewer: str
    annotator_kind: str
    decision: str
    label: str | None
    feedback_type: str
    feedback_text: str
    edited_action: str | None
    action_digest: str
    submit_key: str
    revision: int
    superseded: bool
    budget_cap: int | None
    budget_used: int
    claimed_ms: int
    decided_ms: int
    withdrawn_ms: int | None
    deliverable_ms: int
    delivered_ms: int | None
    seen_digest: str | None = None
    reason_codes: str = ""
    marked_steps: str | None = None
    answers: str | None = None


class KeptDraft(NamedTuple):
    """A reviewer's draft of a decision: feedback and reason codes, plus the edit, marked steps and answers as JSON."""

    text: str = ""
    reason_codes: str = ""
    edit: str = ""
    marked_steps: str = ""
    answers: str = ""
