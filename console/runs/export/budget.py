"""The budget ledger: every unit spent, given back or settled, with what was used by then."""

from __future__ import annotations

from collections import Counter

from sqlalchemy import literal
from sqlmodel import Session

from console.runs.export.formats import Page
from console.runs.export.query import RUN_NAME, Amend, ExportQuery, integer, text, time
from storage.tables import Table

_tables = Table.metadata.tables
_ledger, _budget = _tables["ledger"], _tables["budget"]

_CELLS = (
    integer("entry_id", _ledger.c.id),
    integer("budget_id", _budget.c.id),
    text("run", RUN_NAME),
    integer("trial", _budget.c.trial),
    text("scope", _budget.c.scope),
    integer("item_id", _ledger.c.item_id),
    integer("claim_id", _ledger.c.slot_id),
    text("reviewer", _ledger.c.reviewer),
    text("entry", _ledger.c.entry),
    text("reason", _ledger.c.reason),
    integer("units", _ledger.c.units),
    integer("cap", _budget.c.cap),
    integer("used", literal(0)),
    time("at", _ledger.c.at_ms),
)
_NAMES = [cell.column.name for cell in _CELLS]


def _running() -> Amend:
    used: Counter[int] = Counter()
    budget, units, place = (_NAMES.index(name) for name in ("budget_id", "units", "used"))

    def amend(_session: Session, page: Page) -> Page:
        amended = []
        for row in page:
            used[row[budget]] += row[units]
            amended.append((*row[:place], used[row[budget]], *row[place + 1 :]))
        return amended

    return amend


BUDGET = ExportQuery(
    cells=_CELLS,
    joined=_ledger.join(_budget, _budget.c.id == _ledger.c.budget_id),
    run_id=_budget.c.run_id,
    key=_ledger.c.id,
    amend=_running,
)
