"""What reviewers made of each trajectory of a run, and whether that put its task right."""

from __future__ import annotations

from typing import Any

import pandas as pd
from sqlalchemy import and_, case, func
from sqlalchemy import select as sa_select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from console.runs.current_decisions import is_current
from console.trajectory import Label, Outcome
from storage import tables
from storage.queue import HALTED
from storage.tables import DecisionKind

_ENDED = (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.HALTED, Outcome.REJECTED, Outcome.FINISHED)
"""How a trial can end; one that runs or waits tells nothing yet."""


def reviewed(session: Session, run: tables.Run) -> pd.DataFrame:
    """Columns trajectory_id, inspected_ms, reported, corrected; answers that were taken back or replaced do not count.

    Corrected tells of what a reviewer called misaligned whether its task then succeeded, in the next trial or with the
    action as edited (1 or 0); it is missing where nothing was tried again.
    """
    item, decision, record = tables.Item, tables.Decision, tables.Trajectory
    following = aliased(record)
    wrong = col(decision.label) == Label.MISALIGNED
    edited = and_(col(decision.decision) == DecisionKind.EDIT, col(record.outcome).in_(_ENDED))
    again = case((edited, col(record.outcome)), else_=col(following.outcome))
    succeeded = case((and_(wrong, again == Outcome.SUCCEEDED), 1), (and_(wrong, again.in_(_ENDED)), 0))
    statement = (
        sa_select(
            col(record.id),
            func.min(col(decision.decided_ms)),
            func.max(case((wrong, 1), else_=0)),
            func.max(succeeded),
        )
        .join(item, col(item.id) == col(decision.item_id))
        .join(record, col(record.id) == col(item.trajectory_id))
        .outerjoin(following, _is_next(following))
        .where(col(item.run_id) == run.id, col(item.kind) != HALTED, is_current())
        .group_by(col(record.id))
    )
    columns = ["trajectory_id", "inspected_ms", "reported", "corrected"]
    rows = [tuple(row) for row in session.execute(statement)]
    return pd.DataFrame(rows, columns=columns).astype({"reported": bool, "corrected": float})


def _is_next(following: Any) -> Any:
    """The condition that it is the next trial of the task."""
    record = tables.Trajectory
    return and_(following.task_id == record.task_id, following.trial == col(record.trial) + 1)
