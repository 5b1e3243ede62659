"""Evasion of feedback in a run whose feedback includes the detector's reasons for some of the tasks.

If the world of a trial reports no outcome, a reviewer who sees no output of a detector can label the trial. Blind
labels are the decisions in a run of copies, which have no verdict, thought, memory or earlier trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pandas as pd
from sqlalchemy import func
from sqlalchemy import select as sa_select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from console import runs
from console.analysis.statistics.estimates import show_intervals
from console.analysis.statistics.feedback_evasion import GOLD, EvasionFigure, compare_evasion
from console.database import now_ms, review_queue, writing
from console.errors import Refused
from console.runs import RunOptions, current_decisions, run_checkpoints
from console.runs.trajectory_rows import task_spec
from console.trajectory import Outcome, Trajectory, from_json
from console.trajectory.checkpoints import Checkpoint, CheckpointKind
from console.trials.start import insert_tasks, insert_trials
from storage import tables
from storage.queue import NewItem
from storage.tables import RunKind

COLUMNS = ("figure", "rationale", "value", "tasks", "note")
"""The columns of the table that `in_words` fills."""
_READ = ("task", "rationale", "score", "next_score", "next_threshold", "next_outcome", "next_id")
_SOURCE = "labels"
"""The key of a copy's `extra` for the id of the trajectory that the copy stands for."""
_HIDDEN = dict.fromkeys(("score", "explanation", "detector", "highlights", "earlier"), "hidden")


def measure_evasion(session: Session, run: tables.Run) -> list[EvasionFigure]:
    """Compare the trials after feedback with and without the detector's reasons."""
    found, labels = _read_feedback(session, [run.id or 0]), read_blind_labels(session)
    return compare_evasion(found.assign(next_label=found["next_id"].map(labels)))


def _read_feedback(session: Session, run_ids: Sequence[int]) -> pd.DataFrame:
    """Return one row per memory of the runs, with the scores of its action and of the next trial's highest action."""
    memory, item, verdict, following = tables.Memory, tables.Item, tables.Verdict, aliased(tables.Trajectory)
    later = aliased(tables.Verdict)
    of_next = (
        col(later.trajectory_id) == following.id,
        col(later.detector) == col(verdict.detector),
        col(later.kind) == CheckpointKind.ACTION,
    )
    scores = [
        sa_select(func.max(column)).where(*of_next).scalar_subquery() for column in (later.score, later.threshold)
    ]
    statement = (
        sa_select(
            col(memory.task_id),
            col(memory.rationale),
            col(verdict.score),
            *scores,
            col(following.outcome),
            col(following.id),
        )
        .join(tables.Decision, col(tables.Decision.id) == memory.decision_id)
        .join(item, col(item.id) == tables.Decision.item_id)
        .join(verdict, col(verdict.id) == item.verdict_id)
        .join(following, (col(following.task_id) == memory.task_id) & (col(following.trial) == memory.trial + 1))
        .where(col(item.run_id).in_(run_ids), col(memory.rationale).is_not(None))
        .where(col(following.carried_over).is_(False))
        .order_by(col(memory.id))
    )
    return pd.DataFrame([tuple(row) for row in session.execute(statement)], columns=_READ)


def start_blind_labels(name: str, source: str, *, is_study: bool = False) -> int:
    """Queue copies of the next trials without a reported outcome in a new run, for blind labels; return their number.

    The source is a run or, with `is_study`, a study. Raise Refused if the source has no such trials.
    """
    with writing() as session:
        of_study = select(tables.Run).join(tables.Assignment, col(tables.Assignment.run_id) == col(tables.Run.id))
        of_study = of_study.join(tables.Study).where(tables.Study.name == source)
        given = session.exec(of_study).all() if is_study else [runs.get(session, source)]
        of_ids, found = {one.id or 0: one for one in given}, list[tuple[tables.Run, tables.Task, Trajectory]]()
        feedback = _read_feedback(session, list(of_ids)).drop_duplicates("task")
        ids = feedback[~feedback["next_outcome"].isin(GOLD)]["next_id"].tolist()
        for id in Random(f"blind labels {name}").sample(ids, len(ids)):
            row, body = session.get_one(tables.Trajectory, id), session.get_one(tables.TrajectoryBody, id).body
            task, record = session.get_one(tables.Task, row.task_id), from_json(body)
            if seen := run_checkpoints(of_ids[row.run_id], record)[-1:]:
                found.append((of_ids[row.run_id], task, _copy(record, seen[0], id)))
        if not found:
            raise Refused(f"{source} has no feedback whose next trial lacks an outcome. Blind labels add nothing.")
        items = _store_copies(session, name, found)
    review_queue().open_budgets(items[0].run_id, [0], None)
    return review_queue().put(items)


def _copy(record: Trajectory, seen: Checkpoint, id: int) -> Trajectory:
    """Return the trajectory up to its last checkpoint, without anything that quotes the detector or the feedback."""
    steps = tuple(replace(step, thought="", extra={}) for step in seen.steps)
    outcome = Outcome.FINISHED if seen.kind is CheckpointKind.END else Outcome.PAUSED
    kept = replace(record, steps=steps, critical_action=seen.action or record.critical_action, outcome=outcome)
    return replace(kept, trial=0, memory=(), gold={}, extra={_SOURCE: id})


def _store_copies(
    session: Session, name: str, found: Sequence[tuple[tables.Run, tables.Task, Trajectory]]
) -> list[NewItem]:
    options, at_ms, source = RunOptions(view=_HIDDEN, labels_trials=True).to_json(), now_ms(), found[0][0]
    run = runs.create(session, name, RunKind.ARCHIVE, at_ms, blind=True, critical=source.critical, options=options)
    run.environment = ",".join(dict.fromkeys(task.environment for _, task, _ in found))
    specs = [replace(task_spec(task), task_id=f"{place}", gold={}) for place, (_, task, _) in enumerate(found)]
    records = [replace(record, task_id=spec.task_id) for spec, (*_, record) in zip(specs, found, strict=True)]
    copies = insert_trials(session, run, list(zip(insert_tasks(session, run, specs), records, strict=True)), at_ms)
    kinds = [CheckpointKind.ACTION if one.outcome is Outcome.PAUSED else CheckpointKind.END for one in records]
    return [
        NewItem(run.id or 0, 0, id, len(record.steps), str(kind), 0.0, 1, None, at_ms)
        for id, record, kind in zip(copies, records, kinds, strict=True)
    ]


def read_blind_labels(session: Session) -> dict[int, str]:
    """Return the blind label of each labelled trajectory, by its id.

    The label of a reviewer who had an item of the same task in the source does not count.
    """
    item, body, record, slot = tables.Item, tables.TrajectoryBody, tables.Trajectory, tables.Slot
    of_runs = select(tables.Run.id).where(col(tables.Run.options).contains('"labels_trials":true'))
    bodies = select(item.id, body.body).join(body, col(body.trajectory_id) == col(item.trajectory_id))
    copied = {id: from_json(text).extra for id, text in session.exec(bodies.where(col(item.run_id).in_(of_runs)))}
    found: dict[int, str] = {}
    for answer in session.exec(current_decisions().where(col(tables.Decision.item_id).in_(list(copied)))):
        source = session.get(record, copied[answer.item_id].get(_SOURCE))
        if source is None or not answer.label:
            continue
        knew = select(slot.id).join(item).join(record, col(record.id) == item.trajectory_id)
        if session.exec(knew.where(record.task_id == source.task_id, slot.reviewer == answer.reviewer)).first() is None:
            found[source.id or 0] = answer.label
    return found


def tabulate_evasion(found: list[EvasionFigure]) -> list[dict[str, Any]]:
    """Return one row per figure and arm, with the limits of its 95% interval."""
    rows = []
    for one in found:
        low, high = one.estimate.bounds
        figures = {"value": one.estimate.value, "low": low, "high": high, "tasks": one.estimate.n}
        rows.append({"figure": one.figure, "rationale": one.rationale, **figures, "note": one.estimate.note})
    return rows


def in_words(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with its value and interval as one text."""
    return show_intervals(row | {"value_low": row["low"], "value_high": row["high"]}, ".2f", "value")
