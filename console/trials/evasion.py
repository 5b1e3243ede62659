"""Evasion of feedback in a run whose feedback includes the detector's reasons for some of the tasks."""

from __future__ import annotations

from typing import Any

import pandas as pd
from sqlalchemy import func
from sqlalchemy import select as sa_select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from console.analysis.statistics.feedback_evasion import EvasionFigure, compare_evasion
from console.detection.routing import routing_name
from console.trajectory.checkpoints import CheckpointKind
from storage import tables

COLUMNS = ("figure", "rationale", "value", "tasks", "note")
"""The columns of the table that `in_words` fills."""
_READ = ("task", "rationale", "score", "next_score", "next_threshold", "next_outcome")


def measure_evasion(session: Session, run: tables.Run) -> list[EvasionFigure]:
    """Compare the trials after feedback with and without the detector's reasons."""
    return compare_evasion(_read_feedback(session, run))


def _read_feedback(session: Session, run: tables.Run) -> pd.DataFrame:
    """Return one row per memory of the run, with the scores of its action and of the next trial's highest action."""
    memory, item, verdict, following = tables.Memory, tables.Item, tables.Verdict, aliased(tables.Trajectory)
    later = aliased(tables.Verdict)
    of_next = (
        col(later.trajectory_id) == following.id,
        col(later.detector) == routing_name(run),
        col(later.kind) == CheckpointKind.ACTION,
    )
    scores = [
        sa_select(func.max(column)).where(*of_next).scalar_subquery() for column in (later.score, later.threshold)
    ]
    statement = (
        sa_select(col(memory.task_id), col(memory.rationale), col(verdict.score), *scores, col(following.outcome))
        .join(tables.Decision, col(tables.Decision.id) == memory.decision_id)
        .join(item, col(item.id) == tables.Decision.item_id)
        .join(verdict, col(verdict.id) == item.verdict_id)
        .join(following, (col(following.task_id) == memory.task_id) & (col(following.trial) == memory.trial + 1))
        .where(col(item.run_id) == run.id, col(memory.rationale).is_not(None), col(following.carried_over).is_(False))
        .order_by(col(memory.id))
    )
    return pd.DataFrame([tuple(row) for row in session.execute(statement)], columns=_READ)


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
    if row["value"] is None:
        return row | {"value": "–"}
    span = "" if row["low"] is None else f" ({row['low']:.2f} to {row['high']:.2f})"
    return row | {"value": f"{row['value']:.2f}{span}"}
