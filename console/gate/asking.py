"""A question judged and written: one transaction holds the trajectory, the verdict and, where flagged, the item."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import and_, insert
from sqlmodel import Session, col, select

from console import events
from console.critical import digest
from console.detectors import Detector, Verdict, detector
from console.gate.answer import Reason
from console.gate.question import Question
from console.judging import verdict_row
from console.live.rows import write
from console.runs import patterns
from console.trajectories import Prepared, prepare
from console.trajectory import Outcome, Step, Trajectory, from_json
from storage import tables
from storage.queue import NewItem
from storage.queue import statements as sql
from storage.queue.transaction import Transaction

FAILED = "detector_failed"
"""The parameter of a verdict that no detector gave."""


def judged(run: tables.Run, question: Question) -> dict[str, Any]:
    """The verdict of the run's detector as a row; one that breaks is a flag with the error as its rationale."""
    name, seen = run.detector or "rules", question.checkpoint
    try:
        judge = detector(name)
        row = verdict_row(run, judge, judge.threshold if run.threshold is None else run.threshold, 0, seen)
        if 0.0 <= row["score"] <= 1.0:
            return row
        reason = f"its score is {row['score']!r}, which is not between 0 and 1"
    except Exception as failure:
        # Whatever breaks in a detector, the action must not run for it.
        reason = f"{type(failure).__name__}: {failure}"
    broken = Verdict(1.0, f"The detector failed ({reason}), so a person has to look.", parameters={FAILED: True})
    stand_in = Detector(name, "", lambda _checkpoint, _seed: broken)
    return verdict_row(run, stand_in, run.threshold or stand_in.threshold, 0, seen) | {"flagged": True}


class InSession(Transaction):
    """Statements of the queue inside the session's own transaction, which alone commits."""

    def __init__(self, session: Session) -> None:
        connection = session.connection()
        self._cursor, self._dialect = connection.connection.cursor(), connection.dialect


def latest(session: Session, run: tables.Run, question: Question) -> tables.Ask | None:
    """The last attempt at this question, None where it was never asked."""
    ask = tables.Ask
    # A further attempt is the digest with `:` and its number behind; `;` comes right after `:`.
    statement = (
        select(ask)
        .where(ask.run_id == run.id, ask.digest >= question.digest, ask.digest < f"{question.digest};")
        .order_by(col(ask.id).desc())
        .limit(1)
    )
    return session.exec(statement).first()


def store(
    session: Session,
    run: tables.Run,
    question: Question,
    verdict: dict[str, Any],
    deadline_ms: int | None,
    now_ms: int,
) -> tables.Ask:
    """Writes the question with its verdict and, where flagged, its item; raises IntegrityError where it is there."""
    flagged = verdict["flagged"]
    record = replace(question.record, outcome=Outcome.PAUSED if flagged else Outcome.RUNNING)
    trajectory_id = _placed(session, run, record, question.digest, now_ms)
    row = verdict | {"trajectory_id": trajectory_id}
    verdict_id = session.execute(insert(tables.Verdict).returning(col(tables.Verdict.id)), [row]).scalar_one()
    asked: dict[str, Any] = {
        "run_id": run.id,
        "digest": question.digest,
        "trajectory_id": trajectory_id,
        "item_id": _queued(session, run, question, row, verdict_id, now_ms) if flagged else None,
        "asked_ms": now_ms,
        "heartbeat_ms": now_ms,
        "deadline_ms": deadline_ms,
        "answer": None if flagged else Reason.NOT_FLAGGED.value,
        "answered_ms": None if flagged else now_ms,
    }
    ask_id = session.execute(insert(tables.Ask).returning(col(tables.Ask.id)), [asked]).scalar_one()
    return tables.Ask(id=ask_id, **asked)


def intend(
    session: Session, question: Question, trajectory_id: int, action: str, decision_id: int | None, now_ms: int
) -> int:
    """Says, before it does, that the action runs; returns the intent's id. A second one cannot be written."""
    row = {
        "trajectory_id": trajectory_id,
        "step": question.step,
        "action": action,
        "action_digest": digest(action),
        "decision_id": decision_id,
        "started_ms": now_ms,
    }
    intent_id: int = session.execute(insert(tables.Intent).returning(col(tables.Intent.id)), [row]).scalar_one()
    return intent_id


def intent_of(session: Session, question: Question, trajectory_id: int) -> tables.Intent | None:
    """The go-ahead that was given for this question, if any."""
    intent = tables.Intent
    statement = select(intent).where(intent.trajectory_id == trajectory_id, intent.step == question.step)
    return session.exec(statement).first()


def move(session: Session, run: tables.Run, trajectory_id: int, outcome: Outcome) -> None:
    """Gives the stored trajectory its new outcome."""
    body = session.get_one(tables.TrajectoryBody, trajectory_id)
    write(session, trajectory_id, replace(from_json(body.body), outcome=outcome), patterns(run))


def _placed(session: Session, run: tables.Run, asked: Trajectory, digest: str, now_ms: int) -> int:
    """The trial's latest trajectory grown to the question, or a new one where the question does not continue it."""
    task_id, trajectory_id, body = _latest_of_trial(session, run, asked)
    if trajectory_id is not None:
        before = from_json(body)
        if _continues(session, trajectory_id, before, asked):
            steps = before.steps + asked.steps[len(before.steps) :]
            grown = replace(before, steps=steps, critical_action=asked.critical_action, outcome=asked.outcome)
            write(session, trajectory_id, grown, patterns(run))
            return trajectory_id
    return _inserted(session, run, task_id, prepare(asked, patterns(run)), digest, now_ms)


def _inserted(session: Session, run: tables.Run, task_id: int | None, ready: Prepared, digest: str, now_ms: int) -> int:
    if task_id is None:
        made = insert(tables.Task).returning(col(tables.Task.id))
        task_id = session.execute(made, [{**ready.task, "run_id": run.id}]).scalar_one()
    row = {**ready.row, "run_id": run.id, "task_id": task_id, "digest": digest, "created_ms": now_ms}
    statement = insert(tables.Trajectory).returning(col(tables.Trajectory.id))
    trajectory_id: int = session.execute(statement, [row]).scalar_one()
    session.execute(insert(tables.TrajectoryBody), [{"trajectory_id": trajectory_id, "body": ready.body}])
    return trajectory_id


def _latest_of_trial(session: Session, run: tables.Run, asked: Trajectory) -> tuple[int | None, int | None, str]:
    """Ids of the task and of its trial's latest trajectory, None where there is none yet, with the body."""
    record, task, body = tables.Trajectory, tables.Task, tables.TrajectoryBody
    statement = (
        select(task.id, record.id, body.body)
        .join(record, and_(col(record.task_id) == col(task.id), col(record.trial) == asked.trial), isouter=True)
        .join(body, col(body.trajectory_id) == col(record.id), isouter=True)
        .where(task.run_id == run.id, task.task_key == asked.task_id, task.instruction == asked.instruction)
        .order_by(col(record.id).desc())
        .limit(1)
    )
    return session.exec(statement).first() or (None, None, "")


def _continues(session: Session, trajectory_id: int, before: Trajectory, asked: Trajectory) -> bool:
    """Whether the steps go on from those stored, so that what earlier reviewers saw stays as they saw it."""
    held = len(before.steps)
    if len(asked.steps) < held or not all(map(_same, before.steps, asked.steps)):
        return False
    if before.critical_action is None:
        return True
    if len(asked.steps) == held:
        return False
    intent = tables.Intent
    ran = session.exec(select(intent.action).where(intent.trajectory_id == trajectory_id, intent.step == held)).first()
    return asked.steps[held].action in (before.critical_action, ran)


def _same(ours: Step, theirs: Step) -> bool:
    return (ours.thought, ours.action, ours.observation) == (theirs.thought, theirs.action, theirs.observation)


def _queued(
    session: Session, run: tables.Run, question: Question, verdict: dict[str, Any], verdict_id: int, now_ms: int
) -> int:
    if FAILED in verdict["parameters"]:
        detail = {"trajectory_id": verdict["trajectory_id"], "reason": verdict["rationale"]}
        events.record(session, run, "detector failed", now_ms, actor="gate", detail=detail)
    db = InSession(session)
    item = NewItem(
        run_id=run.id or 0,
        trial=question.record.trial,
        trajectory_id=verdict["trajectory_id"],
        step=question.step,
        kind=verdict["kind"],
        priority=verdict["score"],
        reviews_required=run.reviews_per_item,
        verdict_id=verdict_id,
        created_ms=now_ms,
    )
    db.run_many(sql.PUT, [vars(item)])
    at = select(tables.Item.id).where(
        tables.Item.trajectory_id == item.trajectory_id, tables.Item.step == item.step, tables.Item.kind == item.kind
    )
    return session.exec(at).one() or 0
