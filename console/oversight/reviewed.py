"""What reviewers made of each trajectory of a run, and whether that put its task right."""

from __future__ import annotations

import pandas as pd
from sqlalchemy import and_, case, exists, func, or_
from sqlalchemy import select as sa_select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from console.trajectory import Label, Outcome
from storage import tables
from storage.queue import HALTED
from storage.tables import DecisionKind


def reviewed(session: Session, run: tables.Run) -> pd.DataFrame:
    """Columns trajectory_id, inspected_ms, reported, corrected; answers that were taken back or replaced do not count.

    Corrected is what a reviewer called misaligned and whose task then succeeded: in the next trial, or with the action
    as edited.
    """
    item, decision, record = tables.Item, tables.Decision, tables.Trajectory
    following = aliased(record)
    wrong = col(decision.label) == Label.MISALIGNED
    next_succeeded = exists().where(
        col(following.task_id) == col(record.task_id),
        col(following.trial) == col(record.trial) + 1,
        col(following.outcome) == Outcome.SUCCEEDED,
    )
    edited = and_(col(decision.decision) == DecisionKind.EDIT, col(record.outcome) == Outcome.SUCCEEDED)
    statement = (
        sa_select(
            col(record.id),
            func.min(col(decision.decided_ms)),
            func.max(case((wrong, 1), else_=0)),
            func.max(case((and_(wrong, or_(next_succeeded, edited)), 1), else_=0)),
        )
        .join(item, col(item.id) == col(decision.item_id))
        .join(record, col(record.id) == col(item.trajectory_id))
        .where(col(item.run_id) == run.id, col(item.kind) != HALTED, col(decision.superseded).is_(False))
        .group_by(col(record.id))
    )
    columns = ["trajectory_id", "inspected_ms", "reported", "corrected"]
    rows = [tuple(row) for row in session.execute(statement)]
    return pd.DataFrame(rows, columns=columns).astype({"reported": bool, "corrected": bool})
