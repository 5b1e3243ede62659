"""Budgets of a study as tidy tables, spent and entry by entry; it stands alone as one of the study's tables."""

from __future__ import annotations

from typing import Any

import pandas as pd
from sqlalchemy import Integer, cast, func, select
from sqlmodel import Session

from console.studies.results.condition_runs import ConditionRun, condition_runs, tidy
from storage.tables import Table

_budget, _ledger = (Table.metadata.tables[name] for name in ("budget", "ledger"))


def budget(session: Session, study_id: int) -> pd.DataFrame:
    """A row for each arm and trial that anybody has inspected anything of."""
    told = select(_budget.c.trial, _budget.c.cap, _budget.c.used, _budget.c.halted).order_by(_budget.c.trial)
    return _frame(session, study_id, "budget", told)


def ledger(session: Session, study_id: int) -> pd.DataFrame:
    """A row for each movement of an arm's budget, with what was spent by then; without who moved it."""
    by_then = func.sum(_ledger.c.units).over(partition_by=_ledger.c.budget_id, order_by=_ledger.c.id)
    moved = _ledger.c.at_ms.label("at"), _ledger.c.entry, _ledger.c.reason, _ledger.c.units
    told = (
        select(_budget.c.trial, *moved, cast(by_then, Integer).label("used"), _budget.c.cap)
        .join(_ledger, _ledger.c.budget_id == _budget.c.id)
        .order_by(_ledger.c.id)
    )
    return _frame(session, study_id, "ledger", told)


def _frame(session: Session, study_id: int, name: str, told: Any) -> pd.DataFrame:
    found = condition_runs(session, study_id)
    rows = [(place, *row) for place, arm in enumerate(found) for row in _rows(session, told, arm)]
    raw = pd.DataFrame(rows, columns=["arm", *told.selected_columns.keys()], dtype=object)
    return tidy(name, raw, found)


def _rows(session: Session, told: Any, arm: ConditionRun) -> list[Any]:
    # Items that the detector passed and that are audited draw on a budget of another scope, without a cap.
    own = _budget.c.run_id == arm.run_id, _budget.c.scope == ""
    return list(session.execute(told.where(*own))) if arm.run_id else []
