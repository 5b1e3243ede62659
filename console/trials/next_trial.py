"""The next trial: tasks with feedback get one, solved tasks are carried over unchanged."""

from __future__ import annotations

from dataclasses import replace

from sqlmodel import Session, select

from console.database import now_ms, writing
from console.runs import audit_log
from console.runs.trajectory_rows import task_spec
from console.trajectory import Outcome, Trajectory
from console.trials import store
from console.trials.memory import UNSOLVED, window
from console.trials.pending import latest
from console.trials.round import NO_FEEDBACK, Advance
from console.trials.start import fresh, insert_trials
from storage import tables

_AGAIN = (Outcome.FAILED, Outcome.HALTED)
"""What the arm without feedback tries again."""


def next_trials(run: tables.Run, done: Advance) -> list[int]:
    """Makes the next trial of every task that is to get one, up to the run's number; returns their ids."""
    with writing() as session:
        last = latest(session, run)
        wanted = [row for row in last if row.trial + 1 < run.trials and _retries(session, run, row)]
        made = insert_trials(session, run, [_again(session, row) for row in wanted], now_ms())
        done.revealed += len(made)
        if made:
            audit_log.record(session, run, "next trial", now_ms(), detail={"tasks": len(made)})
    return made


def carry_over(run: tables.Run, done: Advance) -> None:
    """Copies each solved task, marked so, into every trial that the run has reached."""
    with writing() as session:
        last = latest(session, run)
        reached = max((row.trial for row in last), default=0)
        solved = {row.id: row for row in last if row.outcome == Outcome.SUCCEEDED and row.trial < reached}
        for trial in store.load(session, [id for id in solved if id is not None]):
            done.carried_over += len(_copies(session, run, trial, solved[trial.id], reached))


def _copies(session: Session, run: tables.Run, trial: store.Trial, old: tables.Trajectory, reached: int) -> list[int]:
    record = trial.record.as_carried_over()
    again = [(trial.task_id, replace(record, trial=number)) for number in range(old.trial + 1, reached + 1)]
    kept = {"n_critical": old.n_critical, "released_by": old.released_by}
    return insert_trials(session, run, again, now_ms(), **kept)


def _retries(session: Session, run: tables.Run, last: tables.Trajectory) -> bool:
    if run.feedback_mode == NO_FEEDBACK:
        return last.outcome in _AGAIN
    memory = tables.Memory
    learnt = select(memory.id).where(memory.task_id == last.task_id, memory.trial == last.trial)
    return last.outcome in UNSOLVED and session.exec(learnt).first() is not None


def _again(session: Session, last: tables.Trajectory) -> tuple[int, Trajectory]:
    task = session.get_one(tables.Task, last.task_id)
    trial = last.trial + 1
    return last.task_id, fresh(task_spec(task), trial, window(session, last.task_id, trial))
