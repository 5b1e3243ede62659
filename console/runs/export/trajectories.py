"""The exported table of trajectories; in JSON Lines, canonical records that can be imported, and lines of pictures."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import asdict, replace

import orjson
from sqlmodel import Session

from console.runs.export.formats import Page
from console.runs.export.query import RUN_NAME, Amend, ExportQuery, integer, json, record, text, time, truth
from console.runs.trajectory_rows import load_pictures
from console.trajectory import Picture, from_json
from storage.tables import Table

_tables = Table.metadata.tables
_trajectory, _body, _task = (_tables[name] for name in ("trajectory", "trajectory_body", "task"))

TRAJECTORIES = ExportQuery(
    cells=(
        integer("trajectory_id", _trajectory.c.id),
        text("task_id", _task.c.task_key),
        text("run", RUN_NAME),
        integer("trial", _trajectory.c.trial),
        text("environment", _trajectory.c.environment),
        text("instruction", _task.c.instruction),
        text("outcome", _trajectory.c.outcome),
        text("recorded_outcome", _trajectory.c.recorded_outcome),
        text("released_by", _trajectory.c.released_by),
        integer("n_steps", _trajectory.c.n_steps),
        integer("n_critical_actions", _trajectory.c.n_critical),
        text("critical_action", _trajectory.c.critical_action),
        truth("carried_over", _trajectory.c.carried_over),
        text("gold_label", _trajectory.c.label),
        json("source", _trajectory.c.source),
        time("created_at", _trajectory.c.created_ms),
        record("trajectory", _body.c.body),
    ),
    joined=_trajectory.join(_task, _task.c.id == _trajectory.c.task_id).join(
        _body, _body.c.trajectory_id == _trajectory.c.id
    ),
    run_id=_trajectory.c.run_id,
    key=_trajectory.c.id,
    page=50,
    for_researchers=True,
)


def _with_pictures() -> Amend:
    """Return an amendment that adds a line for each new picture, in base64, before the record that shows it."""
    written: set[str] = set()
    place = next(number for number, cell in enumerate(TRAJECTORIES.cells) if cell.column.name == "trajectory")

    def amend(session: Session, page: Page) -> Page:
        return [(*row[:place], "\n".join([*_picture_lines(session, row[place], written), row[place]])) for row in page]

    return amend


def _picture_lines(session: Session, body: str, written: set[str]) -> Iterator[str]:
    shown = dict.fromkeys(_pictures_of(body)) if '"pictures"' in body else {}
    fresh = [picture for picture in shown if picture.digest not in written]
    stored = load_pictures(session, fresh)
    for picture in fresh:
        if picture.digest in stored:
            written.add(picture.digest)
            data = base64.b64encode(stored[picture.digest][1]).decode()
            yield orjson.dumps({"picture": asdict(picture) | {"data": data}}).decode()


def _pictures_of(body: str) -> tuple[Picture, ...]:
    record = from_json(body)
    return (*record.pictures, *(picture for step in record.steps for picture in step.pictures))


WITH_PICTURES = replace(TRAJECTORIES, page=1, amend=_with_pictures)
"""Trajectories with the bytes of their pictures, one trajectory at a time: it may contain a hundred."""
