"""The resolution of an item, and the consequence of a decision.

The resolution is the combined result of an item's decisions, with the decisions that count as feedback. The consequence
is the effect of one decision, described in one sentence for each kind of run. In an archive, and at the end of a trial,
the action has already run, so a decision only judges the action. In a replay, the decision determines whether the
recorded outcome counts. In other runs the action is pending.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlmodel import Session, col, select

from console.language import _, gettext_noop
from console.review.decision_details import describe_marks, read_marks, reason_text
from console.review.presentation import ActionStatus
from console.runs import current_decisions, run_options
from console.trajectory import Label
from console.trajectory.checkpoints import CheckpointKind, digest
from storage import tables
from storage.queue import HALTED, RUNS_AN_ACTION, Claim
from storage.tables import UNREVIEWED, DecisionKind, RunKind


class ResolutionReason(StrEnum):
    """The reason why an action runs (the first two members) or does not run (the others)."""

    APPROVED = "approved"
    EDITED = "edited"
    UNANSWERED = "unanswered"
    REJECTED = "rejected"
    RESPONDED = "responded"
    CONFLICTING = "conflicting"
    OTHER_ACTION = "made for another action"


@dataclass(frozen=True, slots=True)
class Resolution:
    """The action that may run or None, the reason, the decisive decision and the reviewers' feedback."""

    action: str | None
    reason: ResolutionReason
    decision_id: int | None = None
    feedback: str = ""

    @property
    def edited(self) -> bool:
        """True if the reviewers wrote the action that may run."""
        return self.reason is ResolutionReason.EDITED


def resolve_decisions(answers: Sequence[tables.Decision], action: str) -> Resolution:
    """Resolve the decisions on an item whose pending action is `action`; ignore escalations.

    An action runs only if every decision allows the same action and stores the digest of that action.
    """
    counted = [answer for answer in answers if answer.decision != DecisionKind.ESCALATE]
    feedback = "\n".join(words for answer in counted if (words := feedback_to_agent(answer)))
    if not counted:
        return Resolution(None, ResolutionReason.UNANSWERED)
    if against := [answer for answer in counted if answer.decision not in RUNS_AN_ACTION]:
        only_words = all(answer.decision == DecisionKind.RESPOND for answer in against)
        reason = ResolutionReason.RESPONDED if only_words else ResolutionReason.REJECTED
        return Resolution(None, reason, against[0].id, feedback)
    decisive, wanted = counted[-1].id, {_wanted(answer, action) for answer in counted}
    if len(wanted) > 1:
        return Resolution(None, ResolutionReason.CONFLICTING, decisive, feedback)
    agreed = wanted.pop()
    if agreed is None or any(answer.action_digest != digest(agreed) for answer in counted):
        return Resolution(None, ResolutionReason.OTHER_ACTION, decisive, feedback)
    edited = all(answer.decision == DecisionKind.EDIT for answer in counted)
    reason = ResolutionReason.EDITED if edited else ResolutionReason.APPROVED
    return Resolution(agreed, reason, decisive, feedback)


def _wanted(answer: tables.Decision, action: str) -> str | None:
    """Return the action that this decision allows.

    Return None for an edit without an action, or for an approval that names another action.
    """
    if answer.decision == DecisionKind.EDIT:
        return answer.edited_action or None
    return action if not answer.edited_action else None


def list_current_decisions(session: Session, item_id: int | None) -> Sequence[tables.Decision]:
    """List the current decisions on an item, excluding escalations."""
    decision = tables.Decision
    statement = current_decisions().where(decision.item_id == item_id).order_by(col(decision.id))
    return [row for row in session.exec(statement) if row.decision != DecisionKind.ESCALATE]


def feedback_to_agent(answer: tables.Decision | tables.CarriedCheck) -> str:
    """Return the feedback that the agent gets: marked steps and reasons as sentences, then the reviewer's text."""
    reasons = [reason_text(code) for code in answer.reason_codes.split()]
    marks = read_marks(answer.marked_steps) if answer.marked_steps else ()
    sentences = [describe_marks(marks, reasons)] if marks else [f"{reason.capitalize()}." for reason in reasons]
    return " ".join([*sentences, answer.feedback_text.strip()]).strip()


def is_feedback(answer: tables.Decision, kind: str) -> bool:
    """Return whether the Actor can learn from the decision.

    The Actor can learn if the label is misaligned, or if the decision responds with text or to a halted trial.
    """
    if answer.label == Label.MISALIGNED:
        return True
    return answer.decision == DecisionKind.RESPOND and (kind == HALTED or bool(feedback_to_agent(answer)))


def get_action_status(run: tables.Run, kind: str, *, has_begun: bool = False) -> ActionStatus | None:
    """Return the status of an item's action, or None for a halted trial, which has no action.

    `has_begun` is true for an action that began before its decision. In a study the condition's protocol alone decides,
    so that actions of logs and of seeded items look like all others.
    """
    if kind == CheckpointKind.HALTED:
        return None
    if run.kind == RunKind.ARCHIVE and run.study_id is None:
        return ActionStatus.RECORDED
    if kind == CheckpointKind.END or run_options(run).acts_first or (run.study_id is None and has_begun):
        return ActionStatus.RAN
    return ActionStatus.REPLAYED if run.kind == RunKind.REPLAY and run.study_id is None else ActionStatus.WAITS


def find_decided_status(session: Session, item_id: int, *, original: bool = False) -> ActionStatus | None:
    """Return the status of a decided action that may run after its decision; return None for other actions.

    With `original`, return the status of the agent's own action, which an edit replaces.
    """
    item = session.get_one(tables.Item, item_id)
    run, intent = session.get_one(tables.Run, item.run_id), tables.Intent
    has_begun = has_begun_undecided(session, item.trajectory_id, item.step)
    if run.study_id is not None or get_action_status(run, item.kind, has_begun=has_begun) is not ActionStatus.WAITS:
        return None
    started = select(intent).where(intent.trajectory_id == item.trajectory_id, intent.step == item.step)
    if (found := session.exec(started).first()) is not None:
        edited = original and found.decision_id and session.get_one(tables.Decision, found.decision_id).edited_action
        if edited:
            return ActionStatus.REPLACED
        return ActionStatus.RAN if found.finished_ms is not None else ActionStatus.BEGUN
    is_open = item.status in UNREVIEWED
    made = session.exec(current_decisions().where(tables.Decision.item_id == item_id))
    is_allowed = any(one.decision in RUNS_AN_ACTION for one in made)
    return ActionStatus.WAITS if is_allowed or is_open else ActionStatus.STOPPED


def has_begun_undecided(session: Session, trajectory_id: int, step: int) -> bool:
    """Return whether the action at this step has begun without a decision."""
    intent = tables.Intent
    begun = select(intent.id).where(intent.trajectory_id == trajectory_id, intent.step == step)
    return session.exec(begun.where(col(intent.decision_id).is_(None))).first() is not None


def is_judgement_only(session: Session, run: tables.Run, item: tables.Item | Claim) -> bool:
    """Return whether a decision only judges an action that has already run."""
    has_begun = has_begun_undecided(session, item.trajectory_id, item.step)
    return get_action_status(run, item.kind, has_begun=has_begun) in (ActionStatus.RECORDED, ActionStatus.RAN)


_WAITS = {
    DecisionKind.APPROVE: gettext_noop("Approved. The agent can take the action."),
    DecisionKind.REJECT: gettext_noop("Rejected. The action does not run."),
    DecisionKind.EDIT: gettext_noop("Edited. The agent can take your action instead."),
    DecisionKind.RESPOND: gettext_noop("The action does not run. The agent gets your feedback."),
}
_HAS_RUN = {
    DecisionKind.APPROVE: gettext_noop("Approved. The action has run."),
    DecisionKind.EDIT: gettext_noop("Edited. Your action ran instead."),
}
_WITH_OTHERS = {
    DecisionKind.APPROVE: gettext_noop(
        "Approved. The agent can take the action if every other reviewer approves it too."
    ),
    DecisionKind.EDIT: gettext_noop(
        "Edited. The agent can take your action if every other reviewer writes the same action."
    ),
}
_REPLAYED = {
    DecisionKind.APPROVE: gettext_noop("Approved. The recorded outcome counts."),
    DecisionKind.REJECT: gettext_noop("Rejected. The recorded outcome does not count."),
    DecisionKind.EDIT: gettext_noop(
        "Edited. The log does not show the effect of your action, so the trial counts as rejected."
    ),
    DecisionKind.RESPOND: gettext_noop("The recorded outcome does not count. Your feedback is stored with the item."),
}
_JUDGED = {
    DecisionKind.APPROVE: gettext_noop("Marked as correct."),
    DecisionKind.REJECT: gettext_noop("Marked as incorrect."),
    DecisionKind.EDIT: gettext_noop("Marked as incorrect. Your action is stored with the item."),
    DecisionKind.RESPOND: gettext_noop("Your feedback is stored with the item."),
}
_UNDONE = gettext_noop("Marked as incorrect. The effect of the action is undone.")
_RETRIES = gettext_noop("The agent tries the task again.")
_LATE = gettext_noop("Your decision came after the agent's deadline, so the action does not run.")


def describe_consequence(session: Session, run: tables.Run, row: tables.Decision) -> str:
    """Describe the effect of a stored decision."""
    decision, item = DecisionKind(row.decision), session.get_one(tables.Item, row.item_id)
    if decision is DecisionKind.ESCALATE:
        return _describe_escalation(session, row)
    if item.kind == CheckpointKind.HALTED:
        return _describe_halted(run, item)
    if is_judgement_only(session, run, item):
        is_undone = run_options(run).protocol == "undo" and decision is not DecisionKind.APPROVE
        return _(_UNDONE) if is_undone and item.kind == CheckpointKind.ACTION else _(_JUDGED[decision])
    if run.kind == RunKind.REPLAY and run.study_id is None:
        return _(_REPLAYED[decision])
    if _is_late(session, row):
        return _(_LATE)
    if decision in _HAS_RUN and find_decided_status(session, row.item_id) is ActionStatus.RAN:
        return _(_HAS_RUN[decision])
    several = item.reviews_required > 1
    return _(_WITH_OTHERS.get(decision, _WAITS[decision]) if several else _WAITS[decision])


def _describe_halted(run: tables.Run, item: tables.Item) -> str:
    if run.kind == RunKind.LIVE and item.trial + 1 < run.trials:
        return _(_RETRIES) if run.feedback_mode == "binary" else _("The agent tries again with your feedback.")
    if run.study_id is not None:
        return _("Your decision is recorded.") if run.feedback_mode == "binary" else _("The agent gets your feedback.")
    return _("Your decision is recorded. No agent of this run tries this task again.")


def _describe_escalation(session: Session, row: tables.Decision) -> str:
    note = session.exec(select(tables.Note).where(tables.Note.decision_id == row.id)).first()
    if note and note.addressee:
        marked = _("Escalated to {name}. Any other reviewer may claim the item too.")
        return marked.format(name=note.addressee)
    return _("Escalated. Any other reviewer may claim the item.")


def _is_late(session: Session, row: tables.Decision) -> bool:
    ask = session.exec(select(tables.Ask).where(tables.Ask.item_id == row.item_id)).first()
    return ask is not None and ask.deadline_ms is not None and row.decided_ms > ask.deadline_ms
