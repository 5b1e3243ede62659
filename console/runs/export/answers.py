"""Answers to a run's questions, corrected requirement lines and allowed checks as exported tables.

The rows are one per decision and answered question, one per correction (also if undone), and one per stored check
that a policy allowed immediately.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
from sqlalchemy import null, select
from sqlmodel import Session

from console.runs.export.formats import Page
from console.runs.export.query import OF_TRAJECTORY, RUN_NAME, Amend, ExportQuery, fields, integer, text, time
from storage.tables import Table

_tables = Table.metadata.tables
_decision, _item, _run = _tables["decision"], _tables["item"], _tables["run"]
_trajectory, _task = _tables["trajectory"], _tables["task"]
_correction, _allowed = _tables["line_correction"], _tables["allowed_check"]
_OF_ANSWER, _NEEDED = 4, 2
_OF_LINE = 6


def _with_task(rows: Any) -> Any:
    """Return the join of these rows of items with the item, its trajectory and its task."""
    items = rows.join(_item, _item.c.id == rows.c.item_id)
    return items.join(_trajectory, _trajectory.c.id == _item.c.trajectory_id).join(
        _task, _task.c.id == _trajectory.c.task_id
    )


def _open_answers() -> Amend:
    """Return an Amend function that writes one row per answer, with the answer in the row's last cells."""

    def amend(_session: Session, page: Page) -> Page:
        return [(*row[: -_OF_ANSWER - _NEEDED], *cells) for row in page for cells in _cells(row[-2], row[-1])]

    return amend


def _cells(answers: str | None, options: str | None) -> Iterator[tuple[Any, ...]]:
    if not answers:
        return
    asked = {one["key"]: one for one in orjson.loads(options or "{}").get("questions", ())}
    for key, answer in orjson.loads(answers).items():
        yield key, asked.get(key, {}).get("text"), "scale" if isinstance(answer, int) else "choice", str(answer)


ANSWERS = ExportQuery(
    cells=(
        integer("decision_id", _decision.c.id),
        integer("item_id", _item.c.id),
        *OF_TRAJECTORY,
        *fields(_decision, "reviewer annotator_kind decision superseded decided_ms"),
        text("question", null()),
        text("question_text", null()),
        text("question_kind", null()),
        text("answer", null()),
    ),
    joined=_with_task(_decision),
    run_id=_item.c.run_id,
    key=_decision.c.id,
    needs=(
        _decision.c.answers,
        select(_run.c.options).where(_run.c.id == _item.c.run_id).correlate(_item).scalar_subquery(),
    ),
    amend=_open_answers,
    for_researchers=True,
)


def _open_lines() -> Amend:
    """Return an Amend function that fills the row's last cells from the JSON of the line."""

    def amend(_session: Session, page: Page) -> Page:
        return [(*row[: -_OF_LINE - 1], *_line_cells(row[-1])) for row in page]

    return amend


def _line_cells(line: str) -> tuple[str | int | None, ...]:
    told = orjson.loads(line)
    shown = told["evidence"] or (None,) * 5
    return told["kind"], told["quote"][0], told["about"], told["standing"], shown[0], shown[4]


CORRECTIONS = ExportQuery(
    cells=(
        integer("correction_id", _correction.c.id),
        integer("item_id", _item.c.id),
        *OF_TRAJECTORY,
        *fields(_correction, "reviewer detector model"),
        time("corrected_at", _correction.c.created_ms),
        time("withdrawn_at", _correction.c.withdrawn_ms),
        text("requirement_kind", null()),
        text("requirement_quote", null()),
        text("requirement_about", null()),
        text("standing", null()),
        text("evidence_quote", null()),
        integer("evidence_step", null()),
    ),
    joined=_with_task(_correction),
    run_id=_item.c.run_id,
    key=_correction.c.id,
    needs=(_correction.c.line,),
    amend=_open_lines,
    for_researchers=True,
)

ALLOWED_CHECKS = ExportQuery(
    cells=(
        integer("allowed_id", _allowed.c.id),
        text("run", RUN_NAME),
        *fields(_allowed, "agent tool rule policy_version action_digest"),
        time("allowed_at", _allowed.c.at_ms),
    ),
    joined=_allowed,
    run_id=_allowed.c.run_id,
    key=_allowed.c.id,
    for_researchers=True,
)
