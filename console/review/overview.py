"""The overview of a run: its loop trial by trial, what was solved, who reviews; each count is one select.

Attempts are trajectories that were not carried over; the exports hold every count again, as `DEFINITIONS` says.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import case, func
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console.runs import task_count
from console.runs.current_decisions import is_current
from console.trajectory import Outcome
from storage import tables
from storage.queue import HALTED
from storage.tables import UNREVIEWED, DecisionKind, SlotStatus

AT_WORK_MS = 10 * 60_000
"""Who has answered no longer ago, or holds an item, is at work."""

DEFINITIONS = {
    "attempts": "Trajectories of the trial, without those carried over because their task was solved before.",
    "judged": "Attempts with a verdict of the detector that flags.",
    "flagged": "Attempts that came into the queue at an action, whichever rule or detector put them there.",
    "stuck": "Attempts that came into the queue because they halted without such an action.",
    "inspected": "Attempts with at least one standing decision: given, and not taken back.",
    "answers": "Standing decisions by kind; where an item needs several reviews, one attempt has several.",
    "again": "Attempts of the next trial.",
    "solved": "Attempts that succeeded; one that the simulation released without a decision does not count.",
}
"""What each count of a trial counts."""


@dataclass(frozen=True, slots=True)
class TrialFlow:
    """How the attempts of one trial went; `answers` are (kind, number of standing decisions), most first.

    `judged` is None where no detector routes the run.
    """

    trial: int
    attempts: int
    carried_over: int
    judged: int | None
    flagged: int
    stuck: int
    inspected: int
    answers: tuple[tuple[str, int], ...]
    again: int
    solved: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Solved:
    """Tasks solved by the end of a trial: all, and those on which nobody had answered up to the attempt that did it."""

    trial: int
    tasks: int
    unaided: int


@dataclass(frozen=True, slots=True)
class ReviewerAtWork:
    """A reviewer of the run: standing decisions, items in their hands, when the last one was made (ms since 1970).

    `is_simulated` where none of those is a person's.
    """

    name: str
    decisions: int
    holds: int
    last_ms: int | None
    is_simulated: bool

    def is_at_work(self, now_ms: int) -> bool:
        """Whether they hold an item, or answered a short while ago."""
        return self.holds > 0 or (self.last_ms is not None and now_ms - self.last_ms <= AT_WORK_MS)


@dataclass(frozen=True, slots=True)
class Overview:
    """The overview of a run at one moment; `oldest` is the item that has waited longest.

    `tells_outcomes` says whether any record tells that its task was solved, or that it was not.
    """

    flows: tuple[TrialFlow, ...]
    tasks: int
    solved: tuple[Solved, ...]
    tells_outcomes: bool
    reviewers: tuple[ReviewerAtWork, ...]
    oldest: tables.Item | None

    @property
    def waiting(self) -> int:
        """How many items wait for anybody."""
        return sum(flow.waiting for flow in self.flows)


def overview(session: Session, run: tables.Run, now_ms: int) -> Overview:
    """The overview of the run as it stands."""
    standing = _standing(session, run)
    tasks, by_trial = _solved(session, run)
    return Overview(
        _flows(session, run, standing),
        tasks,
        by_trial,
        _tells_outcomes(session, run),
        _reviewers(session, run, standing, now_ms),
        _oldest(session, run),
    )


_Standing = Sequence[tuple[int, str, str, int, int, int]]
"""(trial, reviewer, kind, number of standing decisions, how many of them people made, when the last was made)."""


def _standing(session: Session, run: tables.Run) -> _Standing:
    item, decision = tables.Item, tables.Decision
    grouped = (col(item.trial), col(decision.reviewer), col(decision.decision))
    by_people = case((col(decision.annotator_kind) == "human", 1))
    statement = (
        sa_select(*grouped, func.count(), func.count(by_people), func.max(col(decision.decided_ms)))
        .join(decision, col(decision.item_id) == item.id)
        .where(col(item.run_id) == run.id, is_current())
        .group_by(*grouped)
    )
    rows: list[Any] = [tuple(row) for row in session.execute(statement)]
    return rows


def _flows(session: Session, run: tables.Run, standing: _Standing) -> tuple[TrialFlow, ...]:
    attempts, judged = _attempts(session, run), _judged(session, run)
    queued, inspected = _queued(session, run), _inspected(session, run)
    answers: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for trial, _, kind, count, *_ in standing:
        answers[trial][kind] += count
    found = []
    for trial, (made, carried, solved) in attempts.items():
        flagged, stuck, waiting = queued.get(trial, (0, 0, 0))
        found.append(
            TrialFlow(
                trial=trial,
                attempts=made,
                carried_over=carried,
                judged=None if run.detector is None else judged.get(trial, 0),
                flagged=flagged,
                stuck=stuck,
                inspected=inspected.get(trial, 0),
                answers=tuple(answers[trial].most_common()),
                again=attempts[trial + 1][0] if trial + 1 in attempts else 0,
                solved=solved,
                waiting=waiting,
            )
        )
    return tuple(found)


def _attempts(session: Session, run: tables.Run) -> dict[int, tuple[int, int, int]]:
    """By trial: attempts, carried over, solved."""
    record = tables.Trajectory
    own = col(record.carried_over).is_(False)
    solved = own & _is_solved()
    statement = (
        sa_select(
            col(record.trial), func.count(case((own, 1))), func.count(case((~own, 1))), func.count(case((solved, 1)))
        )
        .where(col(record.run_id) == run.id)
        .group_by(col(record.trial))
        .order_by(col(record.trial))
    )
    return {trial: (made, carried, good) for trial, made, carried, good in session.execute(statement)}


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
    """Counts by what they count."""
    return {name: count for name, count in rows}  # noqa: C416 - rows are no pairs to mypy


def _queued(session: Session, run: tables.Run) -> dict[int, tuple[int, int, int]]:
    """By trial: trajectories flagged and stuck, and items that wait for anybody."""
    item = tables.Item
    stuck = col(item.kind) == HALTED
    waits = (col(item.open_slots) > 0) & col(item.status).in_(UNREVIEWED)
    statement = (
        sa_select(
            col(item.trial),
            func.count(func.distinct(case((~stuck, col(item.trajectory_id))))),
            func.count(func.distinct(case((stuck, col(item.trajectory_id))))),
            func.count(case((waits, 1))),
        )
        .where(col(item.run_id) == run.id)
        .group_by(col(item.trial))
    )
    return {trial: (flagged, halted, open_) for trial, flagged, halted, open_ in session.execute(statement)}


def _inspected(session: Session, run: tables.Run) -> dict[int, int]:
    item = tables.Item
    statement = (
        sa_select(col(item.trial), func.count(func.distinct(col(item.trajectory_id))))
        .join(tables.Decision, col(tables.Decision.item_id) == item.id)
        .where(col(item.run_id) == run.id, is_current())
        .group_by(col(item.trial))
    )
    return _by_first(session.execute(statement))


def _solved(session: Session, run: tables.Run) -> tuple[int, tuple[Solved, ...]]:
    """(tasks of the run, what of them was solved by the end of each trial).

    A task that was only passed on to a colleague counts as not answered.
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
    """(the first trial that solved it, the first about which an answer stands, how many tasks there are of those)."""
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


def _reviewers(session: Session, run: tables.Run, standing: _Standing, now_ms: int) -> tuple[ReviewerAtWork, ...]:
    """Everybody who has answered in the run or holds an item of it, who answered most first."""
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
    for _, name, _, count, by_people, at_ms in standing:
        answers[name] += count
        own[name] += by_people
        last[name] = max(at_ms, last.get(name, 0))
    found = [
        ReviewerAtWork(name, answers[name], holds.get(name, 0), last.get(name), answers[name] > 0 == own[name])
        for name in {**answers, **holds}
    ]
    return tuple(sorted(found, key=lambda one: (-one.decisions, one.name)))


def _oldest(session: Session, run: tables.Run) -> tables.Item | None:
    item = tables.Item
    statement = select(item).where(item.run_id == run.id, col(item.open_slots) > 0, col(item.status).in_(UNREVIEWED))
    return session.exec(statement.order_by(col(item.created_ms), col(item.id)).limit(1)).first()
