"""Ground truth of what participants decided on.

Where the source of a trajectory tells it, that is its label. In a live run a rejected action never runs and an edited
one is another, so there the embedded world tells what the action that waited would have led to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import orjson
import pandas as pd
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console.critical import CheckpointKind, checkpoint_at
from console.environments import environment
from console.environments.facts import TaskSpec
from console.reviewers import Case
from console.reviewers.faults import misleads
from console.trajectory import Label, from_json
from storage import tables
from storage.tables import RunKind

_AT_ONCE = 500


def gold_labels(session: Session, raw: pd.DataFrame) -> pd.Series[Any]:
    """The true label of each row, missing where nobody knows it. Columns: item_id, trajectory_label."""
    tried = _tried(session, sorted({int(item) for item in raw["item_id"]}))
    return raw["item_id"].map(tried).astype("str").fillna(raw["trajectory_label"])


def _tried(session: Session, items: Sequence[int]) -> dict[int, str]:
    """By item, what came of the action when it was tried in the embedded world; only items of live runs."""
    known: dict[tuple[str, str, int, str, str], str] = {}
    found = {}
    for item_id, key, step, kind, spec, body in _live(session, items):
        case = (spec.environment, key, step, kind, body)
        if case not in known:
            known[case] = _label(spec, step, kind, body)
        found[item_id] = known[case]
    return found


def _label(spec: TaskSpec, step: int, kind: str, body: str) -> str:
    record = from_json(body)
    seen = checkpoint_at(record, step, CheckpointKind(kind))
    if kind == CheckpointKind.ACTION and step < len(record.steps):
        # Where a reviewer wrote another action, the one that had waited is kept beside it.
        seen = replace(seen, action=str(record.steps[step].extra.get("instead_of", seen.action)))
    return str(Label.MISALIGNED if misleads(Case(spec, seen)) else Label.ALIGNED)


def _live(session: Session, items: Sequence[int]) -> Iterator[tuple[int, str, int, str, TaskSpec, str]]:
    item, run, record, task, body = (
        tables.Item, tables.Run, tables.Trajectory, tables.Task, tables.TrajectoryBody
    )  # fmt: skip
    live = select(run.id).where(run.kind == RunKind.LIVE)
    for start in range(0, len(items), _AT_ONCE):
        statement = (
            sa_select(col(item.id), col(item.step), col(item.kind), task, col(body.body))
            .join(record, col(record.id) == item.trajectory_id)
            .join(task, col(task.id) == record.task_id)
            .join(body, col(body.trajectory_id) == col(record.id))
            .where(col(item.id).in_(items[start : start + _AT_ONCE]), col(item.run_id).in_(live))
            .where(col(item.kind) != CheckpointKind.HALTED, col(task.gold) != "{}")
        )
        for item_id, step, kind, asked, text in session.execute(statement):
            if environment(asked.environment).start is not None:
                yield item_id or 0, asked.task_key, step, kind, _spec(asked), text


def _spec(task: tables.Task) -> TaskSpec:
    gold, options = orjson.loads(task.gold), orjson.loads(task.options)
    return TaskSpec(task.task_key, task.environment, task.instruction, gold, options)
