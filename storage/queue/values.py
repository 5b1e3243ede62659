"""What goes into the queue and what comes out of it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, NotRequired, TypedDict

HALTED = "halted"
"""The kind of an item whose trajectory stopped without a critical action: there is nothing to approve."""
DEAD_MS = 60_000
"""An agent that waits with a heartbeat and was not heard of for so long is dead."""
FAR_MS = 7 * 24 * 3_600_000
"""No lease and no deadline is longer: what ends later was written by a clock that stood wrong."""


@dataclass(frozen=True)
class NewItem:
    """A checkpoint to be reviewed; times in ms since 1970."""

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
    """Why nothing is offered; the last three are about an item that was asked for by its id."""

    EMPTY = "empty"
    BUDGET_SPENT = "budget_spent"
    ALL_CLAIMED_BY_OTHERS = "all_claimed_by_others"
    ALL_REVIEWED_BY_YOU = "all_reviewed_by_you"
    ITEM_TAKEN = "item_taken"
    ITEM_REVIEWED_BY_YOU = "item_reviewed_by_you"
    ITEM_GONE = "item_gone"


@dataclass(frozen=True, slots=True)
class NoClaim:
    """Nothing to review now; `waiting` counts the items of the (run, trial) that still lack a review."""

    reason: NoClaimReason
    waiting: int


@dataclass(frozen=True, slots=True)
class BudgetState:
    """How a budget stands; without a cap, `cap` and `left` are None. `halted` counts the halted items reviewed."""

    cap: int | None
    used: int
    halted: int
    left: int | None


class Waiting(NamedTuple):
    """Items with a free review slot, and when the oldest of them came in (ms since 1970)."""

    items: int
    oldest_ms: int | None


class Answer(TypedDict):
    """What a reviewer answers. `submit_key` names one submit: sent again, it gives back the first decision.

    `seen_digest` is that of the text that the reviewer was shown, None where nobody says what it was; `door` is the way
    that the answer came in by, a browser where nothing is said. `reason_codes` are separated by blanks.
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


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One revision of a reviewer's answer, as stored."""

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


class KeptDraft(NamedTuple):
    """What a reviewer has typed for an item: words, reason codes, and as JSON the fields of an edit."""

    text: str = ""
    reason_codes: str = ""
    edit: str = ""
