"""The ground truth of reviewed checkpoints, and checkpoint keys that are the same for all participants.

If the source of a trajectory has a label, that label is the ground truth. In a live run, a rejected action never runs
and an edited action is a different action. The result of the pending action is therefore found in a copy of the
embedded world.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from sqlalchemy import func, select
from sqlmodel import Session, col

from console.environments import ENVIRONMENTS
from console.review.simulated.faults import find_true_label
from console.runs import is_current
from console.runs.trajectory_rows import task_spec
from console.trajectory import Label, from_json
from console.trajectory.checkpoints import pending_checkpoint
from storage import tables
from storage.queue import HALTED
from storage.tables import RunKind

_AT_ONCE = 500


def gold_labels(session: Session, raw: pd.DataFrame) -> pd.Series[Any]:
    """Return the true label of each row, missing if unknown; `raw` has the columns item_id and trajectory_label."""
    tried = dict(_tried(session, sorted({int(item) for item in raw["item_id"]})))
    return raw["item_id"].map(tried).astype("str").fillna(raw["trajectory_label"])


def _tried(session: Session, items: Sequence[int]) -> Iterator[tuple[int, str]]:
    live = select(col(tables.Run.id)).where(col(tables.Run.kind) == RunKind.LIVE).limit(1)
    if session.execute(live).first() is None:
        return
    known: dict[tuple[str, ...], str] = {}
    for start in range(0, len(items), _AT_ONCE):
        for item_id, step, kind, task, body in session.execute(_live(items[start : start + _AT_ONCE])):
            # Trial 0 of a task is the same text for all participants, so its action is run only once.
            case = (task.instruction_digest, task.gold, body, str(step), kind)
            if case not in known:
                known[case] = str(find_true_label(task_spec(task), pending_checkpoint(from_json(body), step, kind)))
            yield item_id, known[case]


def _live(items: Sequence[int]) -> Any:
    item, run, record, task = tables.Item, tables.Run, tables.Trajectory, tables.Task
    body = tables.TrajectoryBody
    worlds = [name for name, environment in ENVIRONMENTS.items() if environment.start]
    return (
        select(col(item.id), col(item.step), col(item.kind), task, col(body.body))
        .join(run, col(run.id) == col(item.run_id))
        .join(record, col(record.id) == col(item.trajectory_id))
        .join(task, col(task.id) == col(record.task_id))
        .join(body, col(body.trajectory_id) == col(record.id))
        .where(col(item.id).in_(items), col(run.kind) == RunKind.LIVE, col(item.kind) != HALTED)
        .where(col(task.environment).in_(worlds), col(task.gold) != "{}")
    )


def checkpoint_key(task_key: str, step: int, kind: str, trial: int = 0) -> str:
    """Return the key of a checkpoint in its study or run; in trial 0 it is the same for all participants."""
    name = f"{task_key}/{step}/{kind}"
    return name if trial == 0 else f"{name}/trial {trial}"


def select_labelled(study_id: int | None, run_id: int | None, reviewer: str | None = None) -> Any:
    """Return a select of checkpoints with labels: task key, step, kind, trial, item, and the counts of both labels.

    For a study, the select covers trial 0 of its participants' own items; for a run, it covers all items.
    """
    item, decision, record, task = tables.Item, tables.Decision, tables.Trajectory, tables.Task
    place = task.task_key, item.step, item.kind, item.trial
    counted = [func.count().filter(col(decision.label) == label) for label in (Label.ALIGNED, Label.MISALIGNED)]
    statement = (
        select(*map(col, place), func.min(item.id), *counted)
        .select_from(item)
        .join(decision, col(decision.item_id) == col(item.id))
        .join(record, col(record.id) == item.trajectory_id)
        .join(task, col(task.id) == record.task_id)
        .where(is_current(), col(decision.label).is_not(None))
        .group_by(*map(col, place))
    )
    if reviewer is not None:
        statement = statement.where(col(decision.reviewer) == reviewer)
    if study_id is None:
        return statement.where(col(item.run_id) == run_id)
    arms = select(col(tables.Assignment.run_id)).where(col(tables.Assignment.study_id) == study_id)
    return statement.where(col(item.run_id).in_(arms), col(item.trial) == 0)
