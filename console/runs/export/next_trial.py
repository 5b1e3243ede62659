"""Columns about the agent after a decision: the next trial of the task, and whether it got the detector's reasons."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select

from console.trajectory.checkpoints import CheckpointKind
from storage.tables import Table

_tables = Table.metadata.tables
_decision, _verdict, _trajectory, _memory = (_tables[name] for name in ("decision", "verdict", "trajectory", "memory"))
_next, _later = _trajectory.alias("next_trial"), _verdict.alias("next_verdict")
_IS_NEXT = (_next.c.task_id == _trajectory.c.task_id, _next.c.trial == _trajectory.c.trial + 1)

next_outcome, next_id = (
    select(column).where(*_IS_NEXT).order_by(_next.c.id.desc()).limit(1).scalar_subquery()
    for column in (_next.c.outcome, _next.c.id)
)
"""The outcome and the id of the task's next trial."""
next_score: Any = (
    select(func.max(_later.c.score))
    .join(_next, _next.c.id == _later.c.trajectory_id)
    .where(*_IS_NEXT, _later.c.detector == _verdict.c.detector, _later.c.kind == CheckpointKind.ACTION)
    .scalar_subquery()
)
"""The highest score of the item's detector in the task's next trial."""
reasons_sent: Any = (
    select(_memory.c.rationale).where(_memory.c.decision_id == _decision.c.id).limit(1).scalar_subquery()
)
"""Whether the detector's reasons went to the agent with the feedback of the decision: sent or withheld."""
