"""Answers to a run's questions as a tidy exported table: one row per decision and answered question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
from sqlalchemy import null, select
from sqlmodel import Session

from console.runs.export.formats import Page
from console.runs.export.query import OF_TRAJECTORY, Amend, ExportQuery, integer, text, time, truth
from storage.tables import Table

_tables = Table.metadata.tables
_decision, _item, _run = _tables["decision"], _tables["item"], _tables["run"]
_trajectory, _task = _tables["trajectory"], _tables["task"]
_OF_ANSWER, _NEEDED = 4, 2


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
        text("reviewer", _decision.c.reviewer),
        text("annotator_kind", _decision.c.annotator_kind),
        text("decision", _decision.c.decision),
        truth("superseded", _decision.c.superseded),
        time("decided_at", _decision.c.decided_ms),
        text("question", null()),
        text("question_text", null()),
        text("question_kind", null()),
        text("answer", null()),
    ),
    joined=_decision.join(_item, _item.c.id == _decision.c.item_id)
    .join(_trajectory, _trajectory.c.id == _item.c.trajectory_id)
    .join(_task, _task.c.id == _trajectory.c.task_id),
    run_id=_item.c.run_id,
    key=_decision.c.id,
    needs=(
        _decision.c.answers,
        select(_run.c.options).where(_run.c.id == _item.c.run_id).correlate(_item).scalar_subquery(),
    ),
    amend=_open_answers,
    for_researchers=True,
)
