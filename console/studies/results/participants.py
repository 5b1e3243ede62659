"""Who took part, and who was to see what in which order."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd
from sqlalchemy import func, select
from sqlmodel import Session, col
from sqlmodel import select as rows_of

from console.runs.current_decisions import is_current
from console.studies.results.condition_runs import condition_runs, kind_of, practice, tidy
from console.studies.results.data_dictionary import fields, typed
from storage import tables
from storage.tables import Table

_item, _decision = (Table.metadata.tables[name] for name in ("item", "decision"))


def participants(session: Session, study_id: int) -> pd.DataFrame:
    """One row for each place that somebody has, simulated reviewers among them; free places are left out."""
    found = condition_runs(session, study_id)
    done = Counter(arm.participant_id for arm in found if arm.done)
    decided = _decided(session, study_id)
    person = tables.Participant
    statement = rows_of(person).where(person.study_id == study_id).order_by(col(person.number), col(person.id))
    name = session.get_one(tables.Study, study_id).name
    rows = [
        (name, who.code, kind_of(who), who.kind, who.stage, who.joined_ms, who.finished_ms, done[who.id or 0],
         decided.get(who.id or 0, 0), who.answers)
        for who in session.exec(statement)
        if who.stage != "free"
    ]  # fmt: skip
    columns = fields("participants", ())
    return typed(columns, pd.DataFrame(rows, columns=[field.name for field in columns], dtype=object))


def allocation(session: Session, study_id: int) -> pd.DataFrame:
    """One row for each participant, condition and task, in the order in which they are to come."""
    found = condition_runs(session, study_id)
    rows = [
        (place, at, key, arm.status) for place, arm in enumerate(found) for at, key in enumerate(arm.tasks, 1)
    ]  # fmt: skip
    raw = pd.DataFrame(rows, columns=["arm", "place", "task_id", "status"])
    return tidy("allocation", raw, found)


def _decided(session: Session, study_id: int) -> dict[int, int]:
    """Standing decisions by participant."""
    whose: dict[int, tuple[int, str]] = {}
    for arm in [*practice(session, study_id), *condition_runs(session, study_id)]:
        whose |= {run: (arm.participant_id, arm.participant) for run in (arm.run_id, arm.checks_run_id) if run}
    mine: Any = (_item.c.run_id.in_(whose), is_current(_decision.c))
    joined = _item.join(_decision, _decision.c.item_id == _item.c.id)
    statement = select(_item.c.run_id, _decision.c.reviewer, func.count()).select_from(joined).where(*mine)
    counted: Counter[int] = Counter()
    for run, reviewer, count in session.execute(statement.group_by(_item.c.run_id, _decision.c.reviewer)):
        person, code = whose[run]
        counted[person] += count if reviewer == code else 0
    return dict(counted)
