"""Corrected requirement lines as an exported table: one row per correction, including undone corrections."""

from __future__ import annotations

import orjson
from sqlalchemy import null
from sqlmodel import Session

from console.runs.export.formats import Page
from console.runs.export.query import OF_TRAJECTORY, Amend, ExportQuery, integer, text, time
from storage.tables import Table

_tables = Table.metadata.tables
_correction, _item = _tables["line_correction"], _tables["item"]
_trajectory, _task = _tables["trajectory"], _tables["task"]
_OF_LINE = 6


def _open_lines() -> Amend:
    """Return an Amend function that fills the row's last cells from the JSON of the line."""

    def amend(_session: Session, page: Page) -> Page:
        return [(*row[: -_OF_LINE - 1], *_cells(row[-1])) for row in page]

    return amend


def _cells(line: str) -> tuple[str | int | None, ...]:
    told = orjson.loads(line)
    shown = told["evidence"] or (None,) * 5
    return told["kind"], told["quote"][0], told["about"], told["standing"], shown[0], shown[4]


CORRECTIONS = ExportQuery(
    cells=(
        integer("correction_id", _correction.c.id),
        integer("item_id", _item.c.id),
        *OF_TRAJECTORY,
        text("reviewer", _correction.c.reviewer),
        text("detector", _correction.c.detector),
        text("model", _correction.c.model),
        time("corrected_at", _correction.c.created_ms),
        time("withdrawn_at", _correction.c.withdrawn_ms),
        text("requirement_kind", null()),
        text("requirement_quote", null()),
        text("requirement_about", null()),
        text("standing", null()),
        text("evidence_quote", null()),
        integer("evidence_step", null()),
    ),
    joined=_correction.join(_item, _item.c.id == _correction.c.item_id)
    .join(_trajectory, _trajectory.c.id == _item.c.trajectory_id)
    .join(_task, _task.c.id == _trajectory.c.task_id),
    run_id=_item.c.run_id,
    key=_correction.c.id,
    needs=(_correction.c.line,),
    amend=_open_lines,
    for_researchers=True,
)
