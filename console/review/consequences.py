"""Consequences: the effect of a decision, described in one sentence for each kind of run.

In an archive, and at the end of a trial, the action has already run, so a decision only judges the action. In a replay,
the decision determines whether the recorded outcome counts. In other runs the action is pending.
"""

from __future__ import annotations

from sqlmodel import Session, select

from console.language import _, gettext_noop
from console.review.presentation import ActionStatus
from console.trajectory.checkpoints import CheckpointKind
from storage import tables
from storage.tables import DecisionKind, RunKind


def get_action_status(run: tables.Run, kind: str) -> ActionStatus | None:
    """Return the status of an item's action, or None for a halted trial, which has no action.

    In a study every action is shown as pending, including those of logs and seeded items.
    """
    if kind == CheckpointKind.HALTED:
        return None
    if run.kind == RunKind.ARCHIVE and run.study_id is None:
        return ActionStatus.RECORDED
    if kind == CheckpointKind.END:
        return ActionStatus.RAN
    return ActionStatus.REPLAYED if run.kind == RunKind.REPLAY and run.study_id is None else ActionStatus.WAITS


def is_judgement_only(run: tables.Run, kind: str) -> bool:
    """Return whether a decision only judges an action that has already run."""
    return get_action_status(run, kind) in (ActionStatus.RECORDED, ActionStatus.RAN)


_WAITS = {
    DecisionKind.APPROVE: gettext_noop("Approved. The action may run."),
    DecisionKind.REJECT: gettext_noop("Rejected. The action does not run."),
    DecisionKind.EDIT: gettext_noop("Edited. Your action may run instead."),
    DecisionKind.RESPOND: gettext_noop("The action does not run. The agent gets your feedback."),
}
_WITH_OTHERS = {
    DecisionKind.APPROVE: gettext_noop("Approved. The action may run if every other reviewer approves it too."),
    DecisionKind.EDIT: gettext_noop("Edited. Your action may run if every other reviewer writes the same one."),
}
_REPLAYED = {
    DecisionKind.APPROVE: gettext_noop("Approved. The recorded outcome counts."),
    DecisionKind.REJECT: gettext_noop("Rejected. The recorded outcome does not count."),
    DecisionKind.EDIT: gettext_noop(
        "Edited. The log does not show the effect of your action, so the trial counts as rejected."
    ),
    DecisionKind.RESPOND: gettext_noop("The recorded outcome does not count. Your feedback is stored with it."),
}
_JUDGED = {
    DecisionKind.APPROVE: gettext_noop("Marked as correct."),
    DecisionKind.REJECT: gettext_noop("Marked as incorrect."),
    DecisionKind.EDIT: gettext_noop("Marked as incorrect. Your action is stored with it."),
    DecisionKind.RESPOND: gettext_noop("Your feedback is stored with it."),
}
_LATE = gettext_noop("Recorded after the agent's deadline, so the action does not run.")


def describe_consequence(session: Session, run: tables.Run, row: tables.Decision) -> str:
    """Describe the effect of a decision that was just stored."""
    decision, item = DecisionKind(row.decision), session.get_one(tables.Item, row.item_id)
    if decision is DecisionKind.ESCALATE:
        return _describe_escalation(session, row)
    if item.kind == CheckpointKind.HALTED:
        return _describe_halted(run, item)
    if is_judgement_only(run, item.kind):
        return _(_JUDGED[decision])
    if run.kind == RunKind.REPLAY and run.study_id is None:
        return _(_REPLAYED[decision])
    if _is_late(session, row):
        return _(_LATE)
    several = item.reviews_required > 1
    return _(_WITH_OTHERS.get(decision, _WAITS[decision]) if several else _WAITS[decision])


def _describe_halted(run: tables.Run, item: tables.Item) -> str:
    if run.kind == RunKind.LIVE and item.trial + 1 < run.trials:
        return _("The agent tries again with your feedback.")
    if run.study_id is not None:
        return _("The agent gets your feedback.")
    return _("Recorded. No agent of this run tries this task again.")


def _describe_escalation(session: Session, row: tables.Decision) -> str:
    note = session.exec(select(tables.Note).where(tables.Note.decision_id == row.id)).first()
    if note and note.addressee:
        marked = _("Escalated to {name}. Any other reviewer may claim the item too.")
        return marked.format(name=note.addressee)
    return _("Escalated. Any other reviewer may claim the item.")


def _is_late(session: Session, row: tables.Decision) -> bool:
    ask = session.exec(select(tables.Ask).where(tables.Ask.item_id == row.item_id)).first()
    return ask is not None and ask.deadline_ms is not None and row.decided_ms > ask.deadline_ms
