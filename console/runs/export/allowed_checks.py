"""Checks that a policy allowed immediately as an exported table: one row per stored check."""

from __future__ import annotations

from console.runs.export.query import RUN_NAME, ExportQuery, integer, text, time
from storage.tables import Table

_allowed = Table.metadata.tables["allowed_check"]

ALLOWED_CHECKS = ExportQuery(
    cells=(
        integer("allowed_id", _allowed.c.id),
        text("run", RUN_NAME),
        text("agent", _allowed.c.agent),
        text("tool", _allowed.c.tool),
        text("rule", _allowed.c.rule),
        integer("policy_version", _allowed.c.policy_version),
        text("action_digest", _allowed.c.action_digest),
        time("allowed_at", _allowed.c.at_ms),
    ),
    joined=_allowed,
    run_id=_allowed.c.run_id,
    key=_allowed.c.id,
    for_researchers=True,
)
