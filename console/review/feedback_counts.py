"""Counts of the attempts after a reviewer's feedback, by kind, compared with the same tasks in runs without a review.

No count attributes an outcome to the feedback: "solved after" states an order in time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, case, or_
from sqlalchemy import select as sa_select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from console.language import _, gettext_noop, ngettext
from console.review.feedback_outcomes import can_see_outcomes
from console.runs import is_current
from console.trajectory import Outcome
from storage import tables
from storage.tables import DecisionKind, RunKind


class FeedbackKind(StrEnum):
    """The kinds of feedback with separate counts; a message with reasons counts as a message."""

    MESSAGE = "message"
    REASON = "reason"
    REJECTION = "rejection"
    EDIT = "edit"
    REMEDY = "remedy"


_NAMES = {
    FeedbackKind.MESSAGE: gettext_noop("message"),
    FeedbackKind.REASON: gettext_noop("reason only"),
    FeedbackKind.REJECTION: gettext_noop("plain rejection"),
    FeedbackKind.EDIT: gettext_noop("edit"),
    FeedbackKind.REMEDY: gettext_noop("agent's alternative"),
}


@dataclass(frozen=True, slots=True)
class FeedbackCount:
    """The attempts that followed one kind of feedback: retries, or the same attempt continued with an edited action.

    `solved` is None if a blind run hides the number; `open` counts attempts that have not ended. `compared` counts the
    same tasks in runs without a review, once per run, and `compared_solved` the tasks solved there by the same trial.
    """

    kind: FeedbackKind
    attempts: int
    solved: int | None
    open: int = 0
    compared: int = 0
    compared_solved: int = 0

    @property
    def row(self) -> dict[str, str]:
        """The count as a row of texts; an empty text means that a number does not apply."""
        compared = _("{solved} of {count}").format(solved=self.compared_solved, count=self.compared)
        return {
            "kind": _(_NAMES[self.kind]),
            "attempts": str(self.attempts),
            "solved": _("hidden") if self.solved is None else str(self.solved),
            "open": str(self.open or ""),
            "compared": compared if self.compared else "",
        }

    @property
    def in_words(self) -> str:
        """The count as one sentence."""
        said = _name_attempts(self.kind, self.attempts).format(count=self.attempts)
        if self.solved is None:
            return f"{said}."
        if self.open:
            pattern = _("{tally}: {solved} solved, {open} not ended.")
            return pattern.format(tally=said, solved=self.solved, open=self.open)
        return _("{tally}: {solved} solved.").format(tally=said, solved=self.solved)


@dataclass(frozen=True, slots=True)
class FeedbackTally:
    """The counts of a reviewer's feedback in a run by kind, and the names of the runs of the comparison."""

    counts: tuple[FeedbackCount, ...]
    compared_runs: tuple[str, ...] = ()

    @property
    def in_words(self) -> str:
        """The tally as one sentence for each kind of feedback."""
        said = " ".join(count.in_words for count in self.counts)
        return f"{said} {_(_BLIND)}" if self.is_hidden else said

    @property
    def is_hidden(self) -> bool:
        """True if a blind run hides the outcomes."""
        return all(count.solved is None for count in self.counts)

    @property
    def explanation(self) -> str:
        """The explanation of the comparison."""
        if self.is_hidden:
            return _(_BLIND)
        if not any(count.compared for count in self.counts):
            return _(
                "No other run of this agent shows how the same tasks end without a review. The counts therefore state "
                "what came after your feedback, not what the feedback caused."
            )
        names = ", ".join(self.compared_runs)
        return _("“Without a review” counts tasks solved by the same trial, before any decision, in: {runs}.").format(
            runs=names
        )


_BLIND = gettext_noop("This run is blind: you can see the outcomes when the run has closed.")


def _name_attempts(kind: FeedbackKind, count: int) -> str:
    if kind is FeedbackKind.MESSAGE:
        return ngettext("{count} retry after a message", "{count} retries after a message", count)
    if kind is FeedbackKind.REASON:
        return ngettext("{count} retry after a reason only", "{count} retries after a reason only", count)
    if kind is FeedbackKind.REJECTION:
        return ngettext("{count} retry after a plain rejection", "{count} retries after a plain rejection", count)
    if kind is FeedbackKind.REMEDY:
        return ngettext(
            "{count} attempt continued with an agent's alternative",
            "{count} attempts continued with an agent's alternative",
            count,
        )
    return ngettext("{count} attempt continued after an edit", "{count} attempts continued after an edit", count)


class _Attempt(NamedTuple):
    """An attempt that followed a decision of one kind; `task` is the environment and the key of its task."""

    kind: FeedbackKind
    trajectory: int
    outcome: str
    released_by: str | None
    trial: int
    task: tuple[str, str]

    @property
    def is_solved(self) -> bool:
        return self.outcome == Outcome.SUCCEEDED and self.released_by is None

    @property
    def is_open(self) -> bool:
        return self.outcome in (Outcome.PAUSED, Outcome.RUNNING)


def tally_feedback(
    session: Session, run: tables.Run, reviewer: str, *, unblinded: bool, compares: bool = False
) -> FeedbackTally | None:
    """Count the attempts after the reviewer's feedback in the run by kind; return None if there are none.

    With `compares`, also count the same tasks in other runs of the same Actor, before any decision on them.
    """
    if run.kind != RunKind.LIVE:
        return None
    found = [*_list_retries(session, run, reviewer), *_list_edited(session, run, reviewer)]
    if not found:
        return None
    if not can_see_outcomes(session, run, unblinded=unblinded):
        counts = Counter(one.kind for one in found)
        return FeedbackTally(tuple(FeedbackCount(kind, counts[kind], None) for kind in FeedbackKind if counts[kind]))
    others = _list_unreviewed(session, run, {one.task for one in found}) if compares else {}
    tallied = [_count(kind, [one for one in found if one.kind == kind], others) for kind in FeedbackKind]
    names = sorted({name for of_task in others.values() for name in of_task})
    return FeedbackTally(tuple(one for one in tallied if one.attempts), tuple(names))


def _count(kind: FeedbackKind, attempts: Sequence[_Attempt], others: _Others) -> FeedbackCount:
    solved, open_ = (sum(getattr(one, name) for one in attempts) for name in ("is_solved", "is_open"))
    ended = {(one.task, one.trial) for one in attempts if not one.is_open}
    known = [
        is_solved
        for task, trial in ended
        for other in others.get(task, {}).values()
        if (is_solved := other.is_solved_by(trial)) is not None
    ]
    return FeedbackCount(kind, len(attempts), solved, open_, len(known), sum(known))


def _list_retries(session: Session, run: tables.Run, reviewer: str) -> list[_Attempt]:
    """List the retries after the reviewer's feedback, once for each kind of feedback that the retry followed."""
    decision, record, following = tables.Decision, tables.Trajectory, aliased(tables.Trajectory)
    kind = case(
        (col(decision.feedback_text) != "", FeedbackKind.MESSAGE.value),
        (or_(col(decision.reason_codes) != "", col(decision.marked_steps).is_not(None)), FeedbackKind.REASON.value),
        else_=FeedbackKind.REJECTION.value,
    )
    statement = (
        _select_attempts(kind, following)
        .select_from(tables.Memory)
        .join(decision, col(decision.id) == tables.Memory.decision_id)
        .join(tables.Item, col(tables.Item.id) == decision.item_id)
        .join(record, col(record.id) == tables.Item.trajectory_id)
        .join(following, (col(following.task_id) == record.task_id) & (col(following.trial) == record.trial + 1))
        .join(tables.Task, col(tables.Task.id) == following.task_id)
        .where(*_own(run, reviewer), col(following.carried_over).is_(False))
        .distinct()
    )
    return _read(session.execute(statement))


def _list_edited(session: Session, run: tables.Run, reviewer: str) -> list[_Attempt]:
    """List the attempts that continued with an action edited by the reviewer, or with an alternative of the agent."""
    decision, record, body = tables.Decision, aliased(tables.Trajectory), tables.TrajectoryBody
    # The trial notes at the step that ran whether its edit was one of the Actor's own alternatives.
    is_remedy = col(body.body).contains('"remedy":true')
    statement = (
        _select_attempts(case((is_remedy, FeedbackKind.REMEDY.value), else_=FeedbackKind.EDIT.value), record)
        .select_from(decision)
        .join(tables.Item, col(tables.Item.id) == decision.item_id)
        .join(record, col(record.id) == tables.Item.trajectory_id)
        .join(tables.Task, col(tables.Task.id) == record.task_id)
        .join(body, col(body.trajectory_id) == record.id)
        .where(*_own(run, reviewer), decision.decision == DecisionKind.EDIT, col(decision.delivered_ms).is_not(None))
        .distinct()
    )
    return _read(session.execute(statement))


def _own(run: tables.Run, reviewer: str) -> tuple[ColumnElement[bool], ...]:
    return (col(tables.Item.run_id) == run.id, col(tables.Decision.reviewer) == reviewer, is_current())


def _select_attempts(kind: Any, record: Any) -> Any:
    told = (record.id, record.outcome, record.released_by, record.trial)
    return sa_select(kind, *told, col(tables.Task.environment), col(tables.Task.task_key))


def _read(rows: Iterable[Any]) -> list[_Attempt]:
    return [
        _Attempt(FeedbackKind(kind), id, outcome, released, trial, (environment, key))
        for kind, id, outcome, released, trial, environment, key in rows
    ]


@dataclass(slots=True)
class _Unreviewed:
    """A task in another run: its first solved trial, its last ended trial and the first trial with a decision."""

    solved: int | None = None
    ended: int = -1
    decided: int | None = None

    def is_solved_by(self, trial: int) -> bool | None:
        """Return whether the task was solved by this trial without a review; None if this is unknown."""
        if self.decided is not None and self.decided <= min(trial, self.ended if self.solved is None else self.solved):
            return None
        if self.solved is not None and self.solved <= trial:
            return True
        return False if self.ended >= trial else None


_Others = dict[tuple[str, str], dict[str, _Unreviewed]]
"""The same tasks in other runs: by environment and key, then by the name of the run."""


def _list_unreviewed(session: Session, run: tables.Run, wanted: set[tuple[str, str]]) -> _Others:
    """Return the wanted tasks in the other live runs of the same Actor, outside studies."""
    other, task, record = tables.Run, tables.Task, tables.Trajectory
    item, decision = tables.Item, tables.Decision
    comparable = (
        col(other.id) != run.id,
        col(other.actor) == run.actor,
        col(other.kind) == RunKind.LIVE,
        col(other.study_id).is_(None),
    )
    # An action that was released without a decision counts: that is how the task ends without a review.
    attempts = (
        sa_select(col(task.environment), col(task.task_key), col(other.name), col(record.trial), col(record.outcome))
        .join(task, col(task.id) == record.task_id)
        .join(other, col(other.id) == record.run_id)
        .where(*comparable)
    )
    found: _Others = defaultdict(dict)
    for environment, key, name, trial, outcome in session.execute(attempts):
        if (environment, key) not in wanted or outcome in (Outcome.PAUSED, Outcome.RUNNING):
            continue
        one = found[environment, key].setdefault(name, _Unreviewed())
        one.ended = max(one.ended, trial)
        if outcome == Outcome.SUCCEEDED:
            one.solved = trial if one.solved is None else min(one.solved, trial)
    decided = (
        sa_select(col(task.environment), col(task.task_key), col(other.name), col(item.trial))
        .join(record, col(record.task_id) == task.id)
        .join(item, col(item.trajectory_id) == record.id)
        .join(decision, col(decision.item_id) == item.id)
        .join(other, col(other.id) == record.run_id)
        .where(*comparable, is_current(), col(decision.decision) != DecisionKind.ESCALATE)
    )
    for environment, key, name, trial in session.execute(decided):
        if (known := found.get((environment, key), {}).get(name)) is not None:
            known.decided = trial if known.decided is None else min(known.decided, trial)
    return found
