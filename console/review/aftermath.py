"""The aftermath of a reviewer's words: what the agent's next attempt did otherwise, and how it ended.

In a blind run that is told once the run has closed: before, it would tell what the next item's reviewer may not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlmodel import Session, col, func, or_, select

from console.language import _, gettext_noop, ngettext
from console.review.blinding import actions_up_to_checkpoint
from console.review.reasons import words_to_agent
from console.runs.current_decisions import is_current
from console.trajectory import Label, Outcome, from_json
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at
from storage import tables
from storage.tables import UNREVIEWED, DecisionKind, ItemStatus, RunKind

_ENDS = {
    Outcome.SUCCEEDED: gettext_noop("solved"),
    Outcome.FAILED: gettext_noop("not solved"),
    Outcome.HALTED: gettext_noop("got stuck"),
    Outcome.REJECTED: gettext_noop("turned down again"),
    Outcome.PAUSED: gettext_noop("waits for a review"),
    Outcome.RUNNING: gettext_noop("is under way"),
    Outcome.ERROR: gettext_noop("broke off"),
    Outcome.FINISHED: gettext_noop("ended"),
}
_UNTOLD = gettext_noop("This run is blind: what came of your words is told once it has closed.")


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What came of one decision; `after` are the actions of the next attempt, None where they are not (yet) told.

    `ending` is how that attempt ended, in words; `state` says why where there is nothing to tell.
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
        """Whether the next attempt solved the task."""
        return self.ending == _(_ENDS[Outcome.SUCCEEDED])


@dataclass(frozen=True, slots=True)
class WordsTally:
    """How often an agent tried again with a reviewer's words in a run, and how often it solved the task then.

    `solved` is None while a blind run does not tell it.
    """

    retries: int
    solved: int | None
    open: int = 0

    @property
    def in_words(self) -> str:
        """The tally as a line."""
        said = ngettext("Your words: {count} retry", "Your words: {count} retries", self.retries)
        said = said.format(count=self.retries)
        if self.solved is None:
            return _("{tally}; how they ended is told once this blind run has closed.").format(tally=said)
        if self.open:
            told = _("{tally}, {solved} solved, {open} not ended yet.")
            return told.format(tally=said, solved=self.solved, open=self.open)
        return _("{tally}, {solved} solved.").format(tally=said, solved=self.solved)


def tells(session: Session, run: tables.Run, *, unblinded: bool) -> bool:
    """Whether a reviewer of the run is told what came of their words."""
    return unblinded or not run.blind or is_closed(session, run)


def is_closed(session: Session, run: tables.Run) -> bool:
    """Whether nothing more can be decided in the run, and no agent of it tries again."""
    record, item, budget = tables.Trajectory, tables.Item, tables.Budget
    undelivered = select(func.count()).where(item.run_id == run.id, item.status == ItemStatus.DECIDED)
    reviewable = (
        select(func.count())
        .select_from(item)
        .join(budget, (col(budget.run_id) == item.run_id) & (col(budget.trial) == item.trial))
        .where(item.run_id == run.id, col(item.status).in_(UNREVIEWED))
        .where(or_(col(budget.cap).is_(None), col(budget.used) < col(budget.cap)))
    )
    last = session.exec(select(func.max(record.trial)).where(record.run_id == run.id)).one()
    if last is None or session.exec(reviewable).one() or session.exec(undelivered).one():
        return False
    unsolved = select(func.count()).where(
        record.run_id == run.id, record.trial == last, record.outcome != Outcome.SUCCEEDED
    )
    return last + 1 >= run.trials or not session.exec(unsolved).one()


def words_tally(session: Session, run: tables.Run, reviewer: str, *, unblinded: bool) -> WordsTally | None:
    """The tally of the reviewer's words in the run; None where no agent has tried again with any of them."""
    following = tables.Trajectory.__table__.alias("following")  # type: ignore[attr-defined]
    memory, decision, item, record = tables.Memory, tables.Decision, tables.Item, tables.Trajectory
    statement = (
        select(following.c.id, following.c.outcome, following.c.released_by)
        .select_from(memory)
        .join(decision, col(decision.id) == memory.decision_id)
        .join(item, col(item.id) == decision.item_id)
        .join(record, col(record.id) == item.trajectory_id)
        .join(following, (following.c.task_id == record.task_id) & (following.c.trial == record.trial + 1))
        .where(item.run_id == run.id, decision.reviewer == reviewer, memory.origin == "words", is_current())
        .distinct()
    )
    found: Sequence[Any] = session.exec(statement).all()
    if not found:
        return None
    if not tells(session, run, unblinded=unblinded):
        return WordsTally(len(found), None)
    solved = sum(outcome == Outcome.SUCCEEDED and released is None for _id, outcome, released in found)
    under_way = sum(outcome in (Outcome.PAUSED, Outcome.RUNNING) for _id, outcome, _released in found)
    return WordsTally(len(found), solved, under_way)


def aftermaths(session: Session, run: tables.Run, reviewer: str, *, unblinded: bool, limit: int) -> list[Aftermath]:
    """What came of the reviewer's answers in the run, the latest first."""
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
    told = tells(session, run, unblinded=unblinded)
    return [_aftermath(session, run, *row, told) for row in session.exec(statement)]


def _aftermath(
    session: Session,
    run: tables.Run,
    row: tables.Decision,
    item: tables.Item,
    record: tables.Trajectory,
    instruction: str,
    told: bool,
) -> Aftermath:
    body = from_json(session.get_one(tables.TrajectoryBody, record.id).body)
    action = checkpoint_at(body, item.step, CheckpointKind(item.kind)).action
    # Where a person's action ran, the agent's own stands beside it.
    replaced = next((step.extra.get("instead_of") for step in body.steps[item.step : item.step + 1]), None)
    bare = Aftermath(row, instruction, item.trial, str(replaced or action), words_to_agent(row))
    following = _following(session, record)
    state = _state(session, run, row, following)
    if not state and following is None and replaced and row.decision == DecisionKind.EDIT:
        solved = told and record.outcome == Outcome.SUCCEEDED
        went_on = _("The agent went on with your action.")
        return replace(bare, state=_("The agent went on with your action and solved the task.") if solved else went_on)
    if state or following is None:
        return replace(bare, state=state or _not_yet(run, row, item))
    if not told:
        return replace(bare, state=_(_UNTOLD))
    made = from_json(session.get_one(tables.TrajectoryBody, following.id).body)
    stop = session.exec(select(tables.Item).where(tables.Item.trajectory_id == following.id)).first()
    ending = _(_ENDS[Outcome(following.outcome)])
    if following.released_by:
        ending = _("{ending} by the simulation").format(ending=ending)
    before, after = actions_up_to_checkpoint(run, body, item), actions_up_to_checkpoint(run, made, stop)
    return replace(bare, before=before, after=after, ending=ending)


def _following(session: Session, record: tables.Trajectory) -> tables.Trajectory | None:
    following = tables.Trajectory
    return session.exec(
        select(following)
        .where(following.task_id == record.task_id, following.trial == record.trial + 1)
        .where(col(following.carried_over).is_(False))
    ).first()


def _state(session: Session, run: tables.Run, row: tables.Decision, following: tables.Trajectory | None) -> str:
    """Why nothing came of it, or nothing can be told; empty where the next attempt was made with it in mind."""
    if run.kind == RunKind.ARCHIVE:
        return _("This run is an archive: its trials were over before you answered, and no agent reads it.")
    if run.kind == RunKind.REPLAY:
        return _(
            "This run replays a log: its next attempts were recorded before you answered, so none follows from it."
        )
    if run.kind == RunKind.GATE:
        has_it = _("The agent has it; what it does next is its own.")
        return has_it if row.delivered_ms else _("The agent has not got it yet.")
    if following is None:
        return ""
    learnt = session.exec(select(tables.Memory.id).where(tables.Memory.decision_id == row.id)).first()
    return "" if learnt else _("The agent tried again, but not because of this answer.")


def _not_yet(run: tables.Run, row: tables.Decision, item: tables.Item) -> str:
    if row.decision == DecisionKind.ESCALATE:
        return _("You passed it on.")
    if row.decision == DecisionKind.APPROVE:
        return _("You approved, so there was nothing to try again.")
    if item.trial + 1 >= run.trials:
        return _("That was the last attempt that this run makes.")
    return _("The agent has not tried again yet.") if row.delivered_ms else _("The agent has not got it yet.")


def has_more_to_try(session: Session, run: tables.Run) -> bool:
    """Whether answers in the run have not reached its agents yet, or taught them nothing yet that they could try."""
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
