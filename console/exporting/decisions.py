"""Decisions in long form: one row for each revision of each reviewer's answer."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from console.exporting.actions import checkpoint_of, with_actions
from console.exporting.source import (
    CONDITION,
    PARTICIPANT,
    RUN_NAME,
    STUDY,
    Source,
    integer,
    number,
    text,
    time,
    truth,
)
from storage.tables import Table

_tables = Table.metadata.tables
_decision, _item, _task, _verdict = (_tables[name] for name in ("decision", "item", "task", "verdict"))
_trajectory, _next = _tables["trajectory"], _tables["trajectory"].alias("next_trial")

next_outcome: Any = (
    select(_next.c.outcome)
    .where(_next.c.task_id == _trajectory.c.task_id, _next.c.trial == _trajectory.c.trial + 1)
    .order_by(_next.c.id.desc())
    .limit(1)
    .scalar_subquery()
)

_CELLS = (
    integer("decision_id", _decision.c.id),
    integer("item_id", _item.c.id),
    integer("trajectory_id", _trajectory.c.id),
    text("task_id", _task.c.task_key),
    text("run", RUN_NAME),
    integer("trial", _trajectory.c.trial),
    text("environment", _trajectory.c.environment),
    text("study", STUDY),
    text("condition", CONDITION),
    text("participant", PARTICIPANT),
    text("reviewer", _decision.c.reviewer),
    text("annotator_kind", _decision.c.annotator_kind),
    text("detector", _verdict.c.detector),
    text("model", _verdict.c.model),
    number("score", _verdict.c.score),
    number("threshold", _verdict.c.threshold),
    truth("flagged", _verdict.c.flagged),
    text("critical_action", _trajectory.c.critical_action),
    text("decision", _decision.c.decision),
    text("label", _decision.c.label),
    text("feedback_type", _decision.c.feedback_type),
    text("feedback_text", _decision.c.feedback_text),
    text("edited_action", _decision.c.edited_action),
    time("claimed_at", _decision.c.claimed_ms),
    time("decided_at", _decision.c.decided_ms),
    integer("lead_time_ms", _decision.c.decided_ms - _decision.c.claimed_ms),
    integer("revision", _decision.c.revision),
    truth("superseded", _decision.c.superseded),
    integer("budget_cap", _decision.c.budget_cap),
    integer("budget_used", _decision.c.budget_used),
    time("delivered_at", _decision.c.delivered_ms),
    text("next_trial_outcome", next_outcome),
    text("gold_label", _trajectory.c.label),
    time("withdrawn_at", _decision.c.withdrawn_ms),
)

DECISIONS = Source(
    cells=_CELLS,
    joined=_decision.join(_item, _item.c.id == _decision.c.item_id)
    .join(_trajectory, _trajectory.c.id == _item.c.trajectory_id)
    .join(_task, _task.c.id == _trajectory.c.task_id)
    .outerjoin(_verdict, _verdict.c.id == _item.c.verdict_id),
    run_id=_item.c.run_id,
    key=_decision.c.id,
    needs=checkpoint_of(_item, _decision.c.action_digest),
    amend=with_actions(_CELLS),
)
