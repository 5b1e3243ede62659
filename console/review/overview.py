"""The overview of a run: its counts by trial, the solved tasks and the reviewers; each count is one select.

Attempts are trajectories that were not carried over. The Runs page defines the counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, case, func, literal_column
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console.runs import is_current
from console.runs.status import EVERY, Counts, Sample, count_pending, count_run, draw_sample, read_counts, task_count
from console.trajectory import Outcome
from storage import tables
from storage.tables import DecisionKind, ItemStatus

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

    `tells_outcomes` is true if any record states that its task was solved or failed. The numbers of tasks solved by a
    trial are estimates if the `sample` is not the whole run; all other numbers are exact.
    """

    flows: tuple[TrialFlow, ...]
    tasks: int
    solved: tuple[Solved, ...]
    tells_outcomes: bool
    reviewers: tuple[ReviewerAtWork, ...]
    oldest: tables.Item | None
    sample: Sample = EVERY

    @property
    def waiting(self) -> int:
        """The number of pending items that anyone may claim, including items beyond the budget."""
        return sum(flow.waiting for flow in self.flows)

    @property
    def offered(self) -> int:
        """The number of pending items within the budgets."""
        return sum(flow.waiting - flow.beyond for flow in self.flows)


def build_overview(session: Session, run: tables.Run, now_ms: int, counted: Counts | None = None) -> Overview:
    """Build the overview of the run at the time `now_ms`; `counted` are the run's counts, if known."""
    counted = counted or count_run(session, run)
    total = sum(found[name] for found in counted[0].values() for name in Outcome)
    (counts, inspected), sample = _count_decisions(session, run), draw_sample(session, run, total)
    flows = _flows(session, run, counts, inspected, counted, sample)
    trials = [flow.trial for flow in flows]
    tasks, by_trial = _solved(session, run, trials, sample)
    told = sum(found[name] for found in counted[0].values() for name in (Outcome.SUCCEEDED, Outcome.FAILED))
    item = tables.Item
    pending = select(item).where(item.run_id == run.id, item.status == ItemStatus.PENDING)
    by_age = pending.order_by(col(item.created_ms), col(item.id)).limit(1)
    # By trial, because the index on pending items sorts each trial by age.
    oldest = [row for trial in trials if (row := session.exec(by_age.where(item.trial == trial)).first())]
    return Overview(
        flows,
        tasks,
        by_trial,
        told > 0,
        _reviewers(session, run, counts, now_ms),
        min(oldest, key=lambda row: (row.created_ms, row.id or 0), default=None),
        sample,
    )


_DecisionCounts = Sequence[tuple[int, str, str, int, int, int, int | None]]
"""(trial, reviewer, decision, number of current decisions, number on attempts of the trial, number made by people, time
of the latest decision that was made in the console, or None)."""


def _count_decisions(session: Session, run: tables.Run) -> tuple[_DecisionCounts, dict[int, int]]:
    """Return the counts of the current decisions, and by trial the number of trajectories with such a decision."""
    counts, inspected = [], {}
    for trial, name, reviewer, count, last_ms in read_counts(session, run, "decision"):
        decision, *marks = name.split()
        if decision == "inspected":
            inspected[trial] = count
            continue
        on_attempts, by_people = count * ("known" not in marks), count * ("simulated" not in marks)
        counts.append((trial, reviewer, decision, count, on_attempts, by_people, last_ms))
    return counts, inspected


def _flows(
    session: Session,
    run: tables.Run,
    counts: _DecisionCounts,
    inspected: Mapping[int, int],
    counted: Counts,
    sample: Sample,
) -> tuple[TrialFlow, ...]:
    judged = {trial: n for trial, name, _, n, _ in read_counts(session, run, "judged") if name == run.detector}
    (outcomes, queued), pending = counted, count_pending(session, run)
    answers: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for trial, _, kind, _, count, *_ in counts:
        answers[trial][kind] += count
    found = []
    for trial in sorted({*outcomes, *answers, *pending}):
        outcome = outcomes.get(trial, Counter())
        flagged, stuck, audits, logged = queued.get(trial, (0, 0, 0, 0))
        waiting, beyond = pending.get(trial, (0, 0))
        found.append(
            TrialFlow(
                trial=trial,
                attempts=outcome["attempts"],
                carried_over=outcome["earlier"],
                copies=outcome["copies"],
                judged=None if run.detector is None else judged.get(trial, 0),
                flagged=flagged,
                stuck=stuck,
                audits=audits,
                logged=logged,
                inspected=inspected.get(trial, 0),
                answers=tuple((+answers[trial]).most_common()),
                again=outcomes.get(trial + 1, Counter())["attempts"],
                solved=outcome["held"] - outcome["earlier"],
                waiting=waiting,
                beyond=beyond,
            )
        )
    return tuple(found)


def _solved(session: Session, run: tables.Run, trials: Sequence[int], sample: Sample) -> tuple[int, tuple[Solved, ...]]:
    """Return the number of tasks, and the number of tasks solved by the end of each trial.

    An escalation does not count as a decision.
    """
    record, found = tables.Trajectory, []
    # Every trial of a task counts, so a sample is one of tasks: those of the sample's first trials.
    drawn = sa_select(col(record.task_id)).where(*sample.conditions(run), col(record.trial) == min(trials, default=0))
    when = _solved_and_answered(session, col(record.task_id).in_(drawn) if sample.stated else EVERY.conditions(run)[0])
    # A task with several trajectories in its first trial is drawn more often than one trajectory.
    tasks, known = task_count(session, run), sum(count for *_, count in when)
    scale = min(sample.scale, tasks / max(known, 1)) if sample.stated else 1.0
    for trial in trials:
        solved = [(at, answered, count) for at, answered, count in when if at is not None and at <= trial]
        unaided = sum(count for at, answered, count in solved if answered is None or answered > at)
        found.append(Solved(trial, round(scale * sum(count for *_, count in solved)), round(scale * unaided)))
    return tasks, tuple(found)


def _solved_and_answered(session: Session, among: ColumnElement[bool]) -> list[tuple[int | None, int | None, int]]:
    """Return (first trial that solved the task, first trial with a decision, number of such tasks); None for never."""
    record, item, decision = tables.Trajectory, tables.Item, tables.Decision
    is_solved = (col(record.outcome) == Outcome.SUCCEEDED) & col(record.released_by).is_(None)
    given = select(item.id).join(decision, col(decision.item_id) == item.id).where(item.trajectory_id == record.id)
    is_answered = given.where(is_current(), decision.decision != DecisionKind.ESCALATE).exists()
    first = [func.min(case((which, col(record.trial)))) for which in (is_solved, is_answered)]
    of_task = sa_select(first[0].label("solved"), first[1].label("answered")).where(among)
    each = of_task.group_by(col(record.task_id)).subquery()
    statement = sa_select(*each.c, func.count()).group_by(*each.c)
    return [(at, answered, count) for at, answered, count in session.execute(statement)]


def _reviewers(session: Session, run: tables.Run, counts: _DecisionCounts, now_ms: int) -> tuple[ReviewerAtWork, ...]:
    """Return everyone who has decided on or claimed an item of the run, sorted by the number of decisions."""
    item, slot = tables.Item, tables.Slot
    claimed = (
        select(slot.reviewer)
        .join(item, col(item.id) == slot.item_id)
        # A literal, because SQLite cannot use a partial index with a bound value.
        .where(col(item.run_id) + 0 == run.id, literal_column("slot.status = 'claimed'"), slot.lease_until_ms > now_ms)
    )
    holds = Counter(session.exec(claimed))
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
