"""The replay of a recorded log: feedback on a trial reveals the next recorded trial of the task.

When the decision on an approved action is delivered, the recorded outcome becomes the outcome. An edited action has no
recorded outcome, so its trial ends as rejected. `advance` passes live runs to their engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Any, Unpack

from sqlmodel import Session, col, func, select

from console import runs
from console.auth import audit_log
from console.database import now_ms, writing
from console.detection.batch import detect
from console.errors import Refused
from console.review.resolution import is_feedback, list_current_decisions, resolve_decisions
from console.runs import current_decisions
from console.runs.trajectory_rows import TASK_COLUMNS, Prepared, insert_rows
from console.runs.workers import lock_run
from console.trajectory import Outcome, from_json
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at
from console.trials import engine
from console.trials.apply_decisions import deliver_decisions
from console.trials.memory import describe_memory
from console.trials.round import Advance
from console.trials.start import RunSettings
from storage import tables
from storage.queue import HALTED
from storage.tables import UNREVIEWED, DecisionKind, ItemStatus, RunKind


def start_replay(name: str, source: str, detector: str, **settings: Unpack[RunSettings]) -> tables.Run:
    """Create a replay of an archive run and judge its first trial; raise Refused if the archive has no trajectories."""
    with writing() as session:
        run = add_replay_run(session, name, source, **settings)
        session.flush()
        session.expunge(run)
    judge_replay(name, detector)
    return run


def add_replay_run(
    session: Session,
    name: str,
    source: str,
    *,
    task_keys: Sequence[str] | None = None,
    most_trials: int | None = None,
    detector: str | None = None,
    **settings: Unpack[RunSettings],
) -> tables.Run:
    """Add a replay run with the first recorded trial of all tasks or of `task_keys`; raise Refused if none exists."""
    origin = runs.get(session, source)
    if origin.kind != RunKind.ARCHIVE:
        raise Refused(f"Run {source!r} is not an archive of imported logs. Choose an archive run to replay.")
    trial = tables.Trajectory.trial
    numbers = select(func.min(trial), func.max(trial)).where(col(tables.Trajectory.run_id) == origin.id)
    first, last = session.exec(numbers).one()
    recorded = (last or 0) + 1
    run = runs.create(
        session,
        name,
        RunKind.REPLAY,
        now_ms(),
        actor="replay",
        source_run_id=origin.id,
        critical=origin.critical,
        ends=origin.ends,
        detector=detector,
        **{**settings, "trials": recorded if most_trials is None else min(recorded, most_trials)},
    )
    run.environment = origin.environment
    records = [] if first is None else _recorded(session, origin.id, trial=first, task_keys=task_keys)
    if not records:
        raise Refused(f"Run {source!r} has no trajectories. Import a log into it first.")
    _reveal(session, run, records)
    return run


def advance(run_name: str, progress: engine.Progress | None = None) -> Advance:
    """Deliver due decisions and reveal the next trial of every task with feedback. A repeated call changes nothing.

    Raise Refused if another process continues the run.
    """
    done = Advance()
    with writing() as session:
        run = runs.get(session, run_name)
        session.expunge(run)
    if run.kind == RunKind.LIVE:
        return engine.advance(run_name, progress=progress)
    if run.kind != RunKind.REPLAY:
        onward = "Its agents continue by themselves."
        if run.kind == RunKind.ARCHIVE:
            logged = quote(run_name)
            onward = f"Replay it first: inferact run start --actor replay --from {logged} --name {logged}-replay"
        raise Refused(f"Run {run_name!r} is of kind {run.kind} and has no next trial. {onward}")
    with lock_run(run):
        deliver_decisions(run, done)
        with writing() as session:
            _settle(session, run, done)
            session.flush()
        if done.revealed:
            done.queued = judge_replay(run_name, run.detector or "rules")
    return done


def list_lineage(session: Session, run: tables.Run, task_id: int) -> list[dict[str, Any]]:
    """List a task's trials with decisions and, in live runs, memory and actions; not for reviewers of blinded runs."""
    record = tables.Trajectory
    trials = session.exec(
        select(record).where(record.run_id == run.id, record.task_id == task_id).order_by(col(record.trial))
    )
    return [
        {
            "trial": found.trial,
            "trajectory_id": found.id,
            "outcome": found.outcome,
            "carried_over": found.carried_over,
            "decisions": _decisions(session, found.id, run.kind),
            **(describe_memory(session, found) if run.kind == RunKind.LIVE else {}),
        }
        for found in trials
    ]


def judge_replay(run_name: str, detector: str) -> int:
    """Judge the revealed checkpoints without a verdict, and queue the flagged checkpoints; return the number queued."""
    reports = detect(run_name, [detector], route=detector)
    _hold_flagged(run_name)
    return sum(report.queued for report in reports)


def _hold_flagged(run_name: str) -> None:
    """Pause every trial with a flagged action, regardless of its recorded outcome."""
    item, record = tables.Item, tables.Trajectory
    with writing() as session:
        run = runs.get(session, run_name)
        waiting = (
            select(record)
            .join(item, col(item.trajectory_id) == col(record.id))
            .where(
                item.run_id == run.id,
                record.run_id == run.id,
                item.kind != HALTED,
                col(item.status).in_(UNREVIEWED),
                record.outcome == record.recorded_outcome,
            )
        )
        for found in session.exec(waiting):
            found.outcome = Outcome.PAUSED
            session.add(found)


def _settle(session: Session, run: tables.Run, done: Advance) -> None:
    """Apply the decisions on each fully delivered item whose trial is still held or halted."""
    item, record, body = tables.Item, tables.Trajectory, tables.TrajectoryBody
    statement = (
        select(item, record, body.body)
        .join(record, col(record.id) == item.trajectory_id)
        .join(body, col(body.trajectory_id) == col(record.id))
        .where(item.run_id == run.id, record.run_id == run.id, item.status == ItemStatus.DELIVERED)
        .where(col(record.outcome).in_([Outcome.PAUSED, Outcome.HALTED]))
        .order_by(col(item.id))
    )
    for reviewed, trajectory, text in session.exec(statement).all():
        answers = list_current_decisions(session, reviewed.id)
        if reviewed.kind != HALTED and answers:
            action = checkpoint_at(from_json(text), reviewed.step, CheckpointKind(reviewed.kind)).action
            approved = resolve_decisions(answers, action).action == action
            trajectory.outcome = trajectory.recorded_outcome if approved else Outcome.REJECTED
            done.approved += approved
            done.rejected += not approved
            session.add(trajectory)
        if any(is_feedback(answer, reviewed.kind) for answer in answers):
            _unlock(session, run, trajectory, done)


def _unlock(session: Session, run: tables.Run, trajectory: tables.Trajectory, done: Advance) -> None:
    task = session.get(tables.Task, trajectory.task_id)
    later = select(func.count()).where(
        col(tables.Trajectory.task_id) == trajectory.task_id, col(tables.Trajectory.trial) > trajectory.trial
    )
    if task is None or trajectory.trial + 1 >= run.trials or session.exec(later).one():
        return
    records = _recorded(session, run.source_run_id, trial=trajectory.trial + 1, task=task)
    subject = f"task {task.task_key}"
    if records:
        _reveal(session, run, records)
        done.revealed += 1
    elif not audit_log.has_event(session, run, "no recorded next trial", subject):
        done.nothing_recorded += 1
        audit_log.record(session, run, "no recorded next trial", now_ms(), by="replay", subject=subject)


def _recorded(
    session: Session,
    run_id: int | None,
    *,
    trial: int,
    task: tables.Task | None = None,
    task_keys: Sequence[str] | None = None,
) -> list[tuple[tables.Trajectory, tables.Task, str]]:
    record, body, asked = tables.Trajectory, tables.TrajectoryBody, tables.Task
    statement = (
        select(record, asked, body.body)
        .join(body, col(body.trajectory_id) == col(record.id))
        .join(asked, col(asked.id) == record.task_id)
        .where(record.run_id == run_id, record.trial == trial)
        .order_by(col(record.id))
    )
    if task is not None:
        statement = statement.where(
            asked.task_key == task.task_key, asked.instruction_digest == task.instruction_digest
        )
    if task_keys is not None:
        statement = statement.where(col(asked.task_key).in_(task_keys))
    return list(session.exec(statement))


_COPIED_WORDS = (
    "trial environment outcome recorded_outcome label carried_over critical_action n_steps n_critical digest source"
)
_COPIED = _COPIED_WORDS.split()


def _reveal(session: Session, run: tables.Run, records: Sequence[tuple[tables.Trajectory, tables.Task, str]]) -> None:
    prepared = [
        Prepared(
            task={name: getattr(task, name) for name in TASK_COLUMNS},
            row={name: getattr(record, name) for name in _COPIED},
            body=body,
        )
        for record, task, body in records
    ]
    insert_rows(session, run, prepared, now_ms())


def _decisions(session: Session, trajectory_id: int | None, kind: str) -> list[dict[str, Any]]:
    """List the current decisions; `delivered` is None if no agent receives the decision."""
    decision, item = tables.Decision, tables.Item
    statement = (
        current_decisions()
        .join(item, col(item.id) == decision.item_id)
        .where(item.trajectory_id == trajectory_id)
        .order_by(col(decision.id))
    )
    shown = ("decision", "label", "feedback_text", "reviewer")
    found = [(row, {name: getattr(row, name) for name in shown}) for row in session.exec(statement)]
    return [
        {
            "decision_id": row.id,
            **told,
            "delivered": None
            if kind == RunKind.ARCHIVE or row.decision == DecisionKind.ESCALATE
            else row.delivered_ms is not None,
        }
        for row, told in found
    ]
