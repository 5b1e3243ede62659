"""The overview of a run: its counts by trial, the solved tasks and the reviewers; each count is one select.

Attempts are trajectories that were not carried over. The Runs page defines the counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import case, func, literal
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console import runs
from console.auth.audit_log import Door
from console.runs import IS_AUDIT, IS_LOGGED, IS_SEEDED, is_current
from console.runs.status import task_count
from console.trajectory import Outcome
from storage import tables
from storage.queue import HALTED
from storage.tables import UNREVIEWED, DecisionKind, SlotStatus

AT_WORK_MS = 10 * 60_000
"""The time in ms after the last decision in which a reviewer counts as active; a claim counts as well."""


@dataclass(frozen=True, slots=True)
class TrialFlow:
    """The counts of one trial's attempts; `answers` holds (decision, number of current decisions), most frequent first.

    `carried_over` counts the tasks solved earlier, and `copies` the unsolved attempts that the log repeats unchanged.
    `waiting` includes items with a known answer, which no other count includes; `beyond` counts its items beyond the
    budget. `judged` is None if the run has no routing detector.
    """

    trial: int
    attempts: int
    carried_over: int
    copies: int
    judged: int | None
    flagged: int
    stuck: int
    audits: int
    logged: int
    inspected: int
    answers: tuple[tuple[str, int], ...]
    again: int
    solved: int
    waiting: int
    beyond: int


@dataclass(frozen=True, slots=True)
class Solved:
    """The tasks solved by the end of a trial; `unaided` counts the tasks without a decision up to the solution."""

    trial: int
    tasks: int
    unaided: int


@dataclass(frozen=True, slots=True)
class ReviewerAtWork:
    """A reviewer of the run, with current decisions, claimed items and the time of the last decision (ms since 1970).

    `is_simulated` is true if the reviewer has decided but a person made none of these decisions.
    """

    name: str
    decisions: int
    holds: int
    last_ms: int | None
    is_simulated: bool

    def is_at_work(self, now_ms: int) -> bool:
        """Return whether the reviewer holds a claim or decided recently."""
        return self.holds > 0 or (self.last_ms is not None and now_ms - self.last_ms <= AT_WORK_MS)


@dataclass(frozen=True, slots=True)
class Overview:
    """The overview of a run at one moment; `oldest` is the item that has been pending longest.

    `tells_outcomes` is true if any record states that its task was solved or failed.
    """

    flows: tuple[TrialFlow, ...]
    tasks: int
    solved: tuple[Solved, ...]
    tells_outcomes: bool
    reviewers: tuple[ReviewerAtWork, ...]
    oldest: tables.Item | None

    @property
    def waiting(self) -> int:
        """The number of pending items that anyone may claim, including items beyond the budget."""
        return sum(flow.waiting for flow in self.flows)

    @property
    def offered(self) -> int:
        """The number of pending items within the budgets."""
        return sum(flow.waiting - flow.beyond for flow in self.flows)


def build_overview(session: Session, run: tables.Run, now_ms: int) -> Overview:
    """Build the overview of the run at the time `now_ms`."""
    counts = _count_decisions(session, run)
    tasks, by_trial = _solved(session, run)
    item = tables.Item
    pending = select(item).where(item.run_id == run.id, col(item.open_slots) > 0, col(item.status).in_(UNREVIEWED))
    return Overview(
        _flows(session, run, counts),
        tasks,
        by_trial,
        _tells_outcomes(session, run),
        _reviewers(session, run, counts, now_ms),
        session.exec(pending.order_by(col(item.created_ms), col(item.id)).limit(1)).first(),
    )


_DecisionCounts = Sequence[tuple[int, str, str, int, int, int, int | None]]
"""(trial, reviewer, decision, number of current decisions, number on attempts of the trial, number made by people, time
of the latest decision that was made in the console, or None)."""


def _count_decisions(session: Session, run: tables.Run) -> _DecisionCounts:
    item, decision = tables.Item, tables.Decision
    grouped = (col(item.trial), col(decision.reviewer), col(decision.decision))
    on_attempts = case((~IS_SEEDED, 1))
    by_people = case((col(decision.annotator_kind) == "human", 1))
    # A decision of a log was made when the log was written, whenever that was.
    made_here = case((col(decision.door) != Door.IMPORT, col(decision.decided_ms)))
    statement = (
        sa_select(*grouped, func.count(), func.count(on_attempts), func.count(by_people), func.max(made_here))
        .join(decision, col(decision.item_id) == item.id)
        .where(col(item.run_id) == run.id, is_current())
        .group_by(*grouped)
    )
    rows: list[Any] = [tuple(row) for row in session.execute(statement)]
    return rows


def _flows(session: Session, run: tables.Run, counts: _DecisionCounts) -> tuple[TrialFlow, ...]:
    attempts, judged = _attempts(session, run), _judged(session, run)
    queued, inspected = _queued(session, run), _inspected(session, run)
    answers: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for trial, _, kind, _, count, *_ in counts:
        answers[trial][kind] += count
    found = []
    left = {trial: budget["left"] for trial, budget in runs.budgets(session, run).items()}
    for trial, (made, carried, copies, solved) in attempts.items():
        flagged, stuck, waiting, free, audits, logged = queued.get(trial, (0, 0, 0, 0, 0, 0))
        rest = left.get(trial)
        found.append(
            TrialFlow(
                trial=trial,
                attempts=made,
                carried_over=carried,
                copies=copies,
                judged=None if run.detector is None else judged.get(trial, 0),
                flagged=flagged,
                stuck=stuck,
                audits=audits,
                logged=logged,
                inspected=inspected.get(trial, 0),
                answers=tuple((+answers[trial]).most_common()),
                again=attempts[trial + 1][0] if trial + 1 in attempts else 0,
                solved=solved,
                waiting=waiting,
                beyond=0 if rest is None else max(0, waiting - free - rest),
            )
        )
    return tuple(found)


def _attempts(session: Session, run: tables.Run) -> dict[int, tuple[int, int, int, int]]:
    """Return for each trial the numbers of attempts, tasks solved earlier, other copies and solved attempts."""
    record = tables.Trajectory
    own = col(record.carried_over).is_(False)
    solved = own & _is_solved()
    earlier = func.count(case((~own & _is_solved(), col(record.task_id)))), func.count(case((~own & ~_is_solved(), 1)))
    statement = (
        sa_select(col(record.trial), func.count(case((own, 1))), *earlier, func.count(case((solved, 1))))
        .where(col(record.run_id) == run.id)
        .group_by(col(record.trial))
        .order_by(col(record.trial))
    )
    return {trial: (made, carried, copies, good) for trial, made, carried, copies, good in session.execute(statement)}


def _is_solved() -> Any:
    record = tables.Trajectory
    return (col(record.outcome) == Outcome.SUCCEEDED) & col(record.released_by).is_(None)


def _judged(session: Session, run: tables.Run) -> dict[int, int]:
    verdict, record = tables.Verdict, tables.Trajectory
    judged = sa_select(col(verdict.trajectory_id)).where(
        col(verdict.run_id) == run.id, col(verdict.detector) == run.detector
    )
    statement = (
        sa_select(col(record.trial), func.count())
        .where(col(record.run_id) == run.id, col(record.carried_over).is_(False), col(record.id).in_(judged))
        .group_by(col(record.trial))
    )
    return _by_first(session.execute(statement))


def _by_first(rows: Iterable[Any]) -> dict[Any, int]:
    return {name: count for name, count in rows}  # noqa: C416 - mypy does not see the rows as pairs


def _queued(session: Session, run: tables.Run) -> dict[int, tuple[int, int, int, int, int, int]]:
    """Return by trial the numbers of flagged and halted trajectories, claimable and free items, audits and logged ones.

    Free items use no inspection. The log states the decision on a logged trajectory.
    """
    item = tables.Item
    stuck, own = col(item.kind) == HALTED, ~IS_SEEDED
    asked = own & ~stuck
    waits = (col(item.open_slots) > 0) & col(item.status).in_(UNREVIEWED)
    statement = (
        sa_select(
            col(item.trial),
            func.count(func.distinct(case((asked & ~IS_AUDIT & ~IS_LOGGED, col(item.trajectory_id))))),
            func.count(func.distinct(case((own & stuck, col(item.trajectory_id))))),
            func.count(case((waits, 1))),
            func.count(case((waits & stuck, 1))) if run.halted_free else literal(0),
            func.count(func.distinct(case((asked & IS_AUDIT, col(item.trajectory_id))))),
            func.count(func.distinct(case((asked & IS_LOGGED, col(item.trajectory_id))))),
        )
        .where(col(item.run_id) == run.id)
        .group_by(col(item.trial))
    )
    return {trial: tuple(counts) for trial, *counts in session.execute(statement)}


def _inspected(session: Session, run: tables.Run) -> dict[int, int]:
    item = tables.Item
    statement = (
        sa_select(col(item.trial), func.count(func.distinct(col(item.trajectory_id))))
        .join(tables.Decision, col(tables.Decision.item_id) == item.id)
        .where(col(item.run_id) == run.id, is_current(), ~IS_SEEDED)
        .group_by(col(item.trial))
    )
    return _by_first(session.execute(statement))


def _solved(session: Session, run: tables.Run) -> tuple[int, tuple[Solved, ...]]:
    """Return the number of tasks, and the number of tasks solved by the end of each trial.

    An escalation does not count as a decision.
    """
    record = tables.Trajectory
    trials = session.exec(select(record.trial).where(record.run_id == run.id).distinct().order_by(col(record.trial)))
    when = _solved_and_answered(session, run)
    return task_count(session, run), tuple(
        Solved(
            trial,
            sum(count for at, _, count in when if at <= trial),
            sum(count for at, answered, count in when if at <= trial and (answered is None or answered > at)),
        )
        for trial in trials
    )


def _solved_and_answered(session: Session, run: tables.Run) -> list[tuple[int, int | None, int]]:
    """Return (first trial that solved the task, first trial with a decision or None, number of such tasks)."""
    record, item, decision = tables.Trajectory, tables.Item, tables.Decision
    first_solved = (
        sa_select(col(record.task_id).label("task"), func.min(col(record.trial)).label("trial"))
        .where(col(record.run_id) == run.id, _is_solved())
        .group_by(col(record.task_id))
        .subquery()
    )
    first_answered = (
        sa_select(col(record.task_id).label("task"), func.min(col(record.trial)).label("trial"))
        .join(item, col(item.trajectory_id) == col(record.id))
        .join(decision, col(decision.item_id) == item.id)
        .where(col(item.run_id) == run.id, is_current(), col(decision.decision) != DecisionKind.ESCALATE)
        .group_by(col(record.task_id))
        .subquery()
    )
    statement = (
        sa_select(first_solved.c.trial, first_answered.c.trial, func.count())
        .outerjoin(first_answered, first_answered.c.task == first_solved.c.task)
        .group_by(first_solved.c.trial, first_answered.c.trial)
    )
    return [(at, answered, count) for at, answered, count in session.execute(statement)]


def _tells_outcomes(session: Session, run: tables.Run) -> bool:
    record = tables.Trajectory
    told = col(record.outcome).in_([Outcome.SUCCEEDED, Outcome.FAILED])
    return session.exec(select(record.id).where(record.run_id == run.id, told).limit(1)).first() is not None


def _reviewers(session: Session, run: tables.Run, counts: _DecisionCounts, now_ms: int) -> tuple[ReviewerAtWork, ...]:
    """Return everyone who has decided on or claimed an item of the run, sorted by the number of decisions."""
    item, slot = tables.Item, tables.Slot
    held = (
        sa_select(col(slot.reviewer), func.count())
        .join(item, col(item.id) == slot.item_id)
        .where(col(item.run_id) == run.id, col(slot.status) == SlotStatus.CLAIMED, col(slot.lease_until_ms) > now_ms)
        .group_by(col(slot.reviewer))
    )
    holds = _by_first(session.execute(held))
    answers: Counter[str] = Counter()
    own: Counter[str] = Counter()
    last: dict[str, int] = {}
    for _, name, _, count, _, by_people, at_ms in counts:
        answers[name] += count
        own[name] += by_people
        if at_ms is not None:
            last[name] = max(at_ms, last.get(name, 0))
    found = [
        ReviewerAtWork(name, answers[name], holds.get(name, 0), last.get(name), answers[name] > 0 == own[name])
        for name in {**answers, **holds}
    ]
    return tuple(sorted(found, key=lambda one: (-one.decisions, one.name)))
