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
from console.runs.export.query import OF_TRAJECTORY, RUN_NAME, ExportQuery, fields, integer, text, time
from storage.tables import Table

_tables = Table.metadata.tables
_NAMES = "decision item run trajectory task line_correction allowed_check"
_decision, _item, _run, _trajectory, _task, _correction, _allowed = (_tables[name] for name in _NAMES.split())
_OF_ANSWER, _NEEDED = 4, 2
_OF_LINE = 6


def with_task(rows: Any) -> Any:
    """Return the join of these rows of items with the item, its trajectory and its task."""
    items = rows.join(_item, _item.c.id == rows.c.item_id)
    return items.join(_trajectory, _trajectory.c.id == _item.c.trajectory_id).join(
        _task, _task.c.id == _trajectory.c.task_id
    )


def _open_answers(_session: Session, page: Page) -> Page:
    """Return one row per answer, with the answer in the row's last cells."""
    return [(*row[: -_OF_ANSWER - _NEEDED], *cells) for row in page for cells in _cells(row[-2], row[-1])]


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
    joined=with_task(_decision),
    run_id=_item.c.run_id,
    key=_decision.c.id,
    needs=(
        _decision.c.answers,
        select(_run.c.options).where(_run.c.id == _item.c.run_id).correlate(_item).scalar_subquery(),
    ),
    amend=lambda: _open_answers,
    for_researchers=True,
)


def _open_lines(_session: Session, page: Page) -> Page:
    """Return the rows with the last cells from the JSON of the line."""
    return [(*row[: -_OF_LINE - 1], *_line_cells(row[-1])) for row in page]


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
    joined=with_task(_correction),
    run_id=_item.c.run_id,
    key=_correction.c.id,
    needs=(_correction.c.line,),
    amend=lambda: _open_lines,
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
