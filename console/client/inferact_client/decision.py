"""The answers of the gate to an agent: a decision with a sentence for the model, and a check to fetch later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TIMEOUT, UNREACHABLE, REFUSED = "timeout", "unreachable", "refused"
STILL_PENDING = "Ask again with the same arguments, or fetch the decision by the id of the check."

_NOT_RUN = {
    "rejected": "A person rejected this call, so it did not run.",
    "already_rejected": "A person rejected this call earlier in this task, so it did not run.",
    "responded": "A person answered instead of letting this call run.",
    "denied": "A rule of the policy denies this call, so it did not run. No person looked at it.",
    TIMEOUT: "No person decided in time, so this call did not run. This is not a rejection.",
    "budget_spent": "No person could review this call, because the inspection budget is spent. It did not run.",
    "cancelled": "The check was withdrawn before a person decided, so this call did not run.",
    "detector_failed": "The detector failed and no person reviewed this call, so it did not run.",
    "already_handed_out": "This call has begun before, so it did not run again. Find out what the first call did.",
    "void": "The console was restored from a backup, so the earlier check is void. This call did not run.",
    UNREACHABLE: "The review console could not be reached, so this call did not run. This is not a rejection.",
    REFUSED: "The review console refused the check, so this call did not run.",
}
CONSOLE_SAYS = (
    "No one decided in time.",
    "The inspection budget is spent, so no one could review this action.",
    "The check was withdrawn before a decision, so the action may not run.",
    "The detector failed and no one reviewed this action, so it may not run.",
    "A rule of the policy denies this action.",
    "This action has already begun, and an approval is given only once. Find out whether the action ran.",
)
REVIEWERS_ACT = (
    "The reviewers did not let this action run.",
    "The reviewers answered instead of letting this action run.",
    "This action was already rejected in this task.",
)
"""The console's own sentences for a reason without feedback, which `message` states already."""

_PERSON = ("rejected", "already_rejected", "responded", "edited", "approved")


@dataclass(frozen=True)
class Decision:
    """The decision whether `action` may run. Run `action` itself, because a reviewer may have edited it.

    `reason` is a word of the console's API (`approved`, `edited`, `rejected`, `denied`, `timeout` ...), or
    `unreachable` or `refused` if the console sent no decision. `call` holds name and arguments if the action is a
    single call. `score` is the detector's P(misaligned) in [0, 1].
    """

    approved: bool
    action: str
    feedback: str = ""
    reason: str = ""
    call: Mapping[str, Any] | None = None
    check_id: str | None = None
    item_id: int | None = None
    decision_id: int | None = None
    score: float | None = None
    begun: bool = field(default=False, compare=False)
    """Whether the console has recorded that the action begins now."""

    @property
    def edited(self) -> bool:
        """Whether `action` is the reviewer's edit of the submitted action."""
        return self.reason == "edited"

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The arguments of the action, or None if the action is not a single call with named arguments."""
        given = self.call.get("arguments") if self.call is not None else None
        return dict(given) if isinstance(given, Mapping) else None

    @property
    def message(self) -> str:
        """The sentences for the model: the decision, its author and, after an edit, the new call; may be empty."""
        if self.approved and self.edited:
            words = f"A reviewer changed this call before it ran: {self.action}."
        elif self.approved:
            words = ""
        else:
            words = _NOT_RUN.get(self.reason, f"The review console answered {self.reason!r}, so this call did not run.")
        feedback = self.feedback
        for known in REVIEWERS_ACT if self.reason in _PERSON else CONSOLE_SAYS:
            feedback = feedback.removeprefix(known).strip()
        if not feedback:
            return words
        said = f"The reviewer says: {feedback}" if self.reason in _PERSON else feedback
        return f"{words} {said}".strip()


@dataclass(frozen=True)
class Check:
    """A submitted check: its id, and its decision or None while it is pending.

    `check_id` is None if a rule decided at once. `seconds_left` counts to the deadline of a pending check.
    """

    check_id: str | None
    decision: Decision | None = None
    seconds_left: float | None = None


def read_check(document: Mapping[str, Any]) -> Check:
    """Return the check in a reply of the console; raise KeyError, TypeError or ValueError if it is malformed."""
    check_id, said = document["check_id"], document["decision"]
    if not isinstance(check_id, (str, type(None))):
        raise TypeError("check_id is not a string")
    if document["status"] == "waiting":
        return Check(check_id, None, float(document.get("seconds_left") or 0.0))
    call = said.get("call")
    return Check(
        check_id,
        Decision(
            said["approved"] is True,
            str(said["action"]),
            str(said["feedback"]),
            str(said["reason"]),
            call if isinstance(call, Mapping) else None,
            check_id,
            **{name: said.get(name) for name in ("item_id", "decision_id", "score")},
        ),
    )
