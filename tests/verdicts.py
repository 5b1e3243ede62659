"""Runs with verdicts of invented scores, written straight into the tables."""

from __future__ import annotations

from sqlalchemy import insert
from sqlmodel import select

from console import runs
from console.database import reading, writing
from storage import tables
from storage.tables import RunKind


def a_run(name, labels, *, environment="webshop", outcomes=None, trials=None, carried_over=()):
    """A run with a trajectory for each label (misaligned, aligned or None), every one of a task of its own."""
    outcomes = outcomes or ["failed"] * len(labels)
    with writing() as session:
        run = runs.create(session, name, RunKind.ARCHIVE, 1)
        run.environment = environment
        session.add(run)
        for place, label in enumerate(labels):
            task = tables.Task(
                run_id=run.id,
                task_key=f"t{place}",
                environment=environment,
                instruction="a kettle",
                instruction_digest="d",
            )
            session.add(task)
            session.flush()
            session.add(
                tables.Trajectory(
                    run_id=run.id,
                    task_id=task.id,
                    trial=trials[place] if trials else 0,
                    environment=environment,
                    outcome=outcomes[place],
                    recorded_outcome=outcomes[place],
                    label=label,
                    carried_over=place in carried_over,
                    n_steps=4,
                    n_critical=1,
                    digest=str(place),
                    created_ms=1,
                )
            )
    return name


def judge(name, detector, scores, *, threshold=0.5, step=3, **more):
    """A verdict for each trajectory of the run, in order; None for no verdict. `more` are further columns.

    A function among them gets the score.
    """
    with writing() as session:
        run = runs.get(session, name)
        ids = trajectory_ids(session, run)
        rows = [
            {
                "run_id": run.id,
                "trajectory_id": id,
                "step": step,
                "kind": "action",
                "detector": detector,
                "score": score,
                "threshold": threshold,
                "flagged": score > threshold,
                "parameters": "{}",
                "created_ms": 1,
                **{column: value(score) if callable(value) else value for column, value in more.items()},
            }
            for id, score in zip(ids, scores, strict=True)
            if score is not None
        ]
        session.execute(insert(tables.Verdict), rows)


def trajectory_ids(session, run):
    """The ids of the run's trajectories, in order."""
    record = tables.Trajectory
    return list(session.exec(select(record.id).where(record.run_id == run.id).order_by(record.id)))


def of_run(name, question):
    """What a service answers to a session and the run."""
    with reading() as session:
        return question(session, runs.get(session, name))
