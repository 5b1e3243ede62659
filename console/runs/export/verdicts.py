"""Verdicts: what each detector answered at each checkpoint, with the gold label beside it."""

from __future__ import annotations

from console.runs.export.decisions import checkpoint_of, with_actions
from console.runs.export.query import RUN_NAME, ExportQuery, integer, json, number, text, time, truth
from storage.tables import Table

_tables = Table.metadata.tables
_verdict, _trajectory, _task = (_tables[name] for name in ("verdict", "trajectory", "task"))

_CELLS = (
    integer("verdict_id", _verdict.c.id),
    integer("trajectory_id", _trajectory.c.id),
    text("task_id", _task.c.task_key),
    text("run", RUN_NAME),
    integer("trial", _trajectory.c.trial),
    text("environment", _trajectory.c.environment),
    integer("step", _verdict.c.step),
    text("checkpoint", _verdict.c.kind),
    text("critical_action", _trajectory.c.critical_action),
    text("detector", _verdict.c.detector),
    text("model", _verdict.c.model),
    number("score", _verdict.c.score),
    number("probability", _verdict.c.probability),
    number("threshold", _verdict.c.threshold),
    truth("flagged", _verdict.c.flagged),
    text("inferred_task", _verdict.c.inferred_task),
    text("rationale", _verdict.c.rationale),
    text("prompt_fingerprint", _verdict.c.prompt_fingerprint),
    json("parameters", _verdict.c.parameters),
    integer("seed", _verdict.c.seed),
    text("raw", _verdict.c.raw),
    number("latency_ms", _verdict.c.latency_ms),
    integer("requests", _verdict.c.requests),
    integer("prompt_tokens", _verdict.c.prompt_tokens),
    integer("completion_tokens", _verdict.c.completion_tokens),
    number("cost_usd", _verdict.c.cost_usd),
    time("created_at", _verdict.c.created_ms),
    text("outcome", _trajectory.c.outcome),
    text("gold_label", _trajectory.c.label),
)

VERDICTS = ExportQuery(
    cells=_CELLS,
    joined=_verdict.join(_trajectory, _trajectory.c.id == _verdict.c.trajectory_id).join(
        _task, _task.c.id == _trajectory.c.task_id
    ),
    run_id=_verdict.c.run_id,
    key=_verdict.c.id,
    page=1_000,
    needs=checkpoint_of(_verdict),
    amend=with_actions(_CELLS),
    for_researchers=True,
)
