"""The review queue as it stands: one row for each item."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select

from console.runs.export.decisions import checkpoint_of, with_actions
from console.runs.export.query import RUN_NAME, ExportQuery, integer, number, text, time, truth
from storage.tables import SlotStatus, Table

_tables = Table.metadata.tables
_item, _task, _verdict, _trajectory = (_tables[name] for name in ("item", "task", "verdict", "trajectory"))
_slot = _tables["slot"]


def _of_claims(value: Any) -> Any:
    held = (_slot.c.item_id == _item.c.id, _slot.c.status == SlotStatus.CLAIMED)
    return select(value).where(*held).correlate(_item).scalar_subquery()


_CELLS = (
    integer("item_id", _item.c.id),
    integer("trajectory_id", _trajectory.c.id),
    text("task_id", _task.c.task_key),
    text("run", RUN_NAME),
    integer("trial", _item.c.trial),
    text("environment", _trajectory.c.environment),
    text("status", _item.c.status),
    number("priority", _item.c.priority),
    number("score", _verdict.c.score),
    text("detector", _verdict.c.detector),
    text("model", _verdict.c.model),
    number("threshold", _verdict.c.threshold),
    truth("flagged", _verdict.c.flagged),
    text("claimed_by", _of_claims(func.aggregate_strings(_slot.c.reviewer, ", "))),
    time("claim_expires_at", _of_claims(func.min(_slot.c.lease_until_ms))),
    integer("reviews_required", _item.c.reviews_required),
    integer("open_slots", _item.c.open_slots),
    integer("step", _item.c.step),
    text("checkpoint", _item.c.kind),
    text("critical_action", _trajectory.c.critical_action),
    time("created_at", _item.c.created_ms),
)

ITEMS = ExportQuery(
    cells=_CELLS,
    joined=_item.join(_trajectory, _trajectory.c.id == _item.c.trajectory_id)
    .join(_task, _task.c.id == _trajectory.c.task_id)
    .outerjoin(_verdict, _verdict.c.id == _item.c.verdict_id),
    run_id=_item.c.run_id,
    key=_item.c.id,
    needs=checkpoint_of(_item),
    amend=with_actions(_CELLS),
)
