"""Trajectories; as JSON Lines each line is the canonical record, which an import reads back."""

from __future__ import annotations

from console.runs.export.query import RUN_NAME, ExportQuery, integer, json, record, text, time, truth
from storage.tables import Table

_tables = Table.metadata.tables
_trajectory, _body, _task = (_tables[name] for name in ("trajectory", "trajectory_body", "task"))

TRAJECTORIES = ExportQuery(
    cells=(
        integer("trajectory_id", _trajectory.c.id),
        text("task_id", _task.c.task_key),
        text("run", RUN_NAME),
        integer("trial", _trajectory.c.trial),
        text("environment", _trajectory.c.environment),
        text("instruction", _task.c.instruction),
        text("outcome", _trajectory.c.outcome),
        text("recorded_outcome", _trajectory.c.recorded_outcome),
        text("released_by", _trajectory.c.released_by),
        integer("n_steps", _trajectory.c.n_steps),
        integer("n_critical_actions", _trajectory.c.n_critical),
        text("critical_action", _trajectory.c.critical_action),
        truth("carried_over", _trajectory.c.carried_over),
        text("gold_label", _trajectory.c.label),
        json("source", _trajectory.c.source),
        time("created_at", _trajectory.c.created_ms),
        record("trajectory", _body.c.body),
    ),
    joined=_trajectory.join(_task, _task.c.id == _trajectory.c.task_id).join(
        _body, _body.c.trajectory_id == _trajectory.c.id
    ),
    run_id=_trajectory.c.run_id,
    key=_trajectory.c.id,
    page=50,
    for_researchers=True,
)
