"""Everything that a study's detectors put before its participants, decided or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from sqlalchemy import and_, func, select
from sqlmodel import Session

from console.runs.current_decisions import is_current
from console.studies.results.condition_runs import ConditionRun, condition_runs, tidy
from console.studies.results.ground_truth import gold_labels
from console.trajectory import Outcome
from storage.tables import Table

_tables = Table.metadata.tables
_item, _task, _verdict, _record, _decision = (
    _tables[name] for name in ("item", "task", "verdict", "trajectory", "decision")
)
_later = _record.alias("later")

_solved_later = (
    select(func.count())
    .where(_later.c.task_id == _record.c.task_id, _later.c.trial > _record.c.trial)
    .where(_later.c.outcome == Outcome.SUCCEEDED)
    .scalar_subquery()
)

_SELECTED: dict[str, Any] = {
    "item_id": _item.c.id,
    "task_id": _task.c.task_key,
    "trial": _item.c.trial,
    "step": _item.c.step,
    "checkpoint": _item.c.kind,
    "status": _item.c.status,
    "detector": _verdict.c.detector,
    "score": _verdict.c.score,
    "probability": _verdict.c.probability,
    "threshold": _verdict.c.threshold,
    "flagged": _verdict.c.flagged,
    "trajectory_label": _record.c.label,
    "label": _decision.c.label,
    "decided_at": _decision.c.decided_ms,
    "solved_later": _solved_later,
}


def items(session: Session, study_id: int) -> pd.DataFrame:
    """One row for each item of the study's own runs, with the participant's standing label where there is one."""
    found = condition_runs(session, study_id)
    rows = [(*row, place) for place, arm in enumerate(found) if arm.run_id is not None for row in _of_run(session, arm)]
    raw = pd.DataFrame.from_records(rows, columns=[*_SELECTED, "arm"])
    raw = raw.astype({"trajectory_label": "str", "label": "str"})
    raw["gold_label"] = gold_labels(session, raw)
    raw["solved_later"] = raw["solved_later"] > 0
    return tidy("items", raw, found)


def _of_run(session: Session, arm: ConditionRun) -> Sequence[Any]:
    mine = and_(_decision.c.item_id == _item.c.id, _decision.c.reviewer == arm.participant, is_current(_decision.c))
    joined = (
        _item.join(_record, _record.c.id == _item.c.trajectory_id)
        .join(_task, _task.c.id == _record.c.task_id)
        .outerjoin(_verdict, _verdict.c.id == _item.c.verdict_id)
        .outerjoin(_decision, mine)
    )
    statement = select(*(value.label(name) for name, value in _SELECTED.items())).select_from(joined)
    with session.connection().execute(statement.where(_item.c.run_id == arm.run_id).order_by(_item.c.id)) as found:
        return found.cursor.fetchall() if found.cursor else ()
