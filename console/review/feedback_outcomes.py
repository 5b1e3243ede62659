"""The outcome of a reviewer's feedback: the agent's changed actions in its next attempt, and the end of this attempt.

In a blind run, outcomes are hidden until the run has closed, because they could reveal the outcome of other items.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlmodel import Session, col, func, or_, select

from console.language import _, gettext_noop
from console.review.blinding import list_actions_to_checkpoint
from console.review.presentation import ActionStatus
from console.review.resolution import feedback_to_agent, find_decided_status
from console.runs import is_current
from console.trajectory import Label, Outcome, from_json
from console.trajectory.checkpoints import pending_checkpoint
from storage import tables
from storage.tables import UNREVIEWED, DecisionKind, ItemStatus, RunKind

_ENDS = {
    Outcome.SUCCEEDED: gettext_noop("solved"),
    Outcome.FAILED: gettext_noop("not solved"),
    Outcome.HALTED: gettext_noop("halted"),
    Outcome.REJECTED: gettext_noop("not approved"),
    Outcome.PAUSED: gettext_noop("is pending a review"),
    Outcome.RUNNING: gettext_noop("is running"),
    Outcome.ERROR: gettext_noop("ended with an error"),
    Outcome.FINISHED: gettext_noop("ended"),
}
_AT_GATE = {
    ActionStatus.WAITS: gettext_noop("The agent has received your decision and has not begun the action."),
    ActionStatus.BEGUN: gettext_noop("The agent has begun the action and has not reported a result."),
    ActionStatus.RAN: gettext_noop("The action ran after your decision, and the agent reported its result."),
    ActionStatus.STOPPED: gettext_noop("The agent has received your decision. The action did not run."),
}
_HIDDEN = gettext_noop("This run is blind. You can see the outcome of your feedback when the run has closed.")


@dataclass(frozen=True, slots=True)
class FeedbackOutcome:
    """The outcome of one decision; `after` holds the next attempt's actions, or None if they are unknown or hidden.

    `ending` describes the end of the next attempt; `state` explains why no next attempt is shown.
    """

    decision: tables.Decision
    instruction: str
    trial: int
    action: str
    words: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] | None = None
    ending: str = ""
    state: str = ""

    @property
    def is_solved(self) -> bool:
        """True if the next attempt solved the task."""
        return self.ending == _(_ENDS[Outcome.SUCCEEDED])


def can_see_outcomes(session: Session, run: tables.Run, *, unblinded: bool) -> bool:
    """Return whether a reviewer of the run may see the outcome of their feedback."""
    return unblinded or not run.blind or is_closed(session, run)


def is_closed(session: Session, run: tables.Run) -> bool:
    """Return whether the run has neither decisions to make nor attempts to play."""
    record, item, budget = tables.Trajectory, tables.Item, tables.Budget
    undelivered = select(item.id).where(item.run_id == run.id, item.status == ItemStatus.DECIDED)
    reviewable = (
        select(item.id)
        .join(budget, (col(budget.run_id) == item.run_id) & (col(budget.trial) == item.trial))
        .where(item.run_id == run.id, col(item.status).in_(UNREVIEWED))
        .where(or_(col(budget.cap).is_(None), col(budget.used) < col(budget.cap)))
    )
    last = session.exec(select(func.max(record.trial)).where(record.run_id == run.id)).one()
    unsolved = select(record.id).where(record.run_id == run.id, record.trial == last)
    open_rows = [reviewable, undelivered]
    if last is not None and last + 1 < run.trials:
        open_rows.append(unsolved.where(record.outcome != Outcome.SUCCEEDED))
    return last is not None and all(session.exec(one.limit(1)).first() is None for one in open_rows)


def list_feedback_outcomes(
    session: Session, run: tables.Run, reviewer: str, *, unblinded: bool, limit: int
) -> list[FeedbackOutcome]:
    """List the outcomes of the reviewer's decisions in the run, the latest first."""
    decision, item, record, task = tables.Decision, tables.Item, tables.Trajectory, tables.Task
    statement = (
        select(decision, item, record, task.instruction)
        .join(item, col(item.id) == decision.item_id)
        .join(record, col(record.id) == item.trajectory_id)
        .join(task, col(task.id) == record.task_id)
        .where(item.run_id == run.id, decision.reviewer == reviewer, is_current())
        .order_by(col(decision.id).desc())
        .limit(limit)
    )
    told = can_see_outcomes(session, run, unblinded=unblinded)
    return [_aftermath(session, run, *row, told) for row in session.exec(statement)]


def _aftermath(
    session: Session,
    run: tables.Run,
    row: tables.Decision,
    item: tables.Item,
    record: tables.Trajectory,
    instruction: str,
    told: bool,
) -> FeedbackOutcome:
    body = from_json(session.get_one(tables.TrajectoryBody, record.id).body)
    action = pending_checkpoint(body, item.step, item.kind).action
    replaced = any("instead_of" in step.extra for step in body.steps[item.step : item.step + 1])
    bare = FeedbackOutcome(row, instruction, item.trial, action, feedback_to_agent(row))
    following = _following(session, record)
    state = _state(session, run, row, following)
    if not state and following is None and replaced and row.decision == DecisionKind.EDIT:
        solved = told and record.outcome == Outcome.SUCCEEDED
        continued = _("The agent continued with your action.")
        return replace(
            bare, state=_("The agent continued with your action and solved the task.") if solved else continued
        )
    if state or following is None:
        return replace(bare, state=state or _not_yet(run, row, item))
    if not told:
        return replace(bare, state=_(_HIDDEN))
    made = from_json(session.get_one(tables.TrajectoryBody, following.id).body)
    stop = session.exec(select(tables.Item).where(tables.Item.trajectory_id == following.id)).first()
    is_decided = stop is not None and stop.status not in UNREVIEWED and following.outcome == Outcome.PAUSED
    ending = _("has not ended") if is_decided else _(_ENDS[Outcome(following.outcome)])
    if following.released_by:
        ending = _("{ending} (action run by the simulation)").format(ending=ending)
    before, after = list_actions_to_checkpoint(run, body, item), list_actions_to_checkpoint(run, made, stop)
    return replace(bare, before=before, after=after, ending=ending)


def _following(session: Session, record: tables.Trajectory) -> tables.Trajectory | None:
    following = tables.Trajectory
    return session.exec(
        select(following)
        .where(following.task_id == record.task_id, following.trial == record.trial + 1)
        .where(col(following.carried_over).is_(False))
    ).first()


def _state(session: Session, run: tables.Run, row: tables.Decision, following: tables.Trajectory | None) -> str:
    """Explain why the decision has no outcome to show; return an empty text if no such reason is known."""
    if row.decision == DecisionKind.ESCALATE:
        return _("Escalated to another reviewer.")
    if run.kind == RunKind.ARCHIVE:
        return _("This run is an archive of recorded trials. No agent reads your feedback.")
    if run.kind == RunKind.REPLAY:
        return _(
            "This run replays a log. The next trials were recorded before your decision, so your feedback cannot "
            "affect them."
        )
    if run.kind == RunKind.GATE:
        if not row.delivered_ms:
            return _("Not received by the agent yet.")
        return _(_AT_GATE[find_decided_status(session, row.item_id) or ActionStatus.STOPPED])
    if following is None:
        return ""
    learnt = session.exec(select(tables.Memory.id).where(tables.Memory.decision_id == row.id)).first()
    return "" if learnt else _("The agent tried again for a reason other than this decision.")


def _not_yet(run: tables.Run, row: tables.Decision, item: tables.Item) -> str:
    # Another reviewer of the item may have rejected the action.
    if row.decision == DecisionKind.APPROVE and item.reviews_required > 1:
        return _("You approved the action.") if row.delivered_ms else _("Not received by the agent yet.")
    if row.decision == DecisionKind.APPROVE:
        return _("You approved the action. An approval starts no retry.")
    if item.trial + 1 >= run.trials:
        return _("This was the last attempt of this run.")
    waits_for_retry = _("The agent has not tried again yet.")
    return waits_for_retry if row.delivered_ms else _("Not received by the agent yet.")


def has_unused_feedback(session: Session, run: tables.Run) -> bool:
    """Return whether any decision is undelivered, or contains feedback that another attempt could still use."""
    decision, item, memory = tables.Decision, tables.Item, tables.Memory
    told = select(memory.id).where(memory.decision_id == decision.id).exists()
    lesson = (col(item.trial) + 1 < run.trials) & ~told
    lesson &= (col(decision.label) == Label.MISALIGNED) | (col(decision.decision) == DecisionKind.RESPOND)
    statement = (
        select(decision.id)
        .join(item, col(item.id) == decision.item_id)
        .where(item.run_id == run.id, is_current(), decision.decision != DecisionKind.ESCALATE)
        .where(col(decision.delivered_ms).is_(None) | lesson)
        .where(col(item.status).in_([ItemStatus.DECIDED, ItemStatus.DELIVERED]))
        .limit(1)
    )
    return session.exec(statement).first() is not None
