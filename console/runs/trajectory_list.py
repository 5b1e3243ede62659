"""Trajectories out: load one, list a run's, filter and page through them; the index that a search of words goes by."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import String, column, func, literal_column, select, table
from sqlmodel import Session, col

from console.database import reading, writing
from console.errors import Unknown
from console.trajectory import Trajectory, from_json
from storage import tables
from storage.tables import text_search


def load(session: Session, trajectory_id: int) -> Trajectory:
    """The whole record of a trajectory; raises Unknown."""
    body = session.get(tables.TrajectoryBody, trajectory_id)
    if body is None:
        raise Unknown("trajectory", trajectory_id)
    return from_json(body.body)


def _listed(found: tables.Trajectory, task_key: str, instruction: str) -> dict[str, Any]:
    return {
        "trajectory_id": found.id,
        "task_id": task_key,
        "trial": found.trial,
        "environment": found.environment,
        "instruction": instruction,
        "outcome": found.outcome,
        "n_steps": found.n_steps,
        "n_critical_actions": found.n_critical,
        "label": found.label,
        "carried_over": found.carried_over,
        "source": orjson.loads(found.source),
    }


ANYWHERE = "anywhere"
PLACES = (ANYWHERE, *text_search.COLUMNS)
"""Where words are searched for: in all that was asked and done, or in one part of it."""


MOST = 5_000
"""As many matches of a search are counted; nobody pages through more."""


@dataclass(frozen=True, slots=True)
class Filter:
    """What the list of trajectories is narrowed to; empty means any. `place` is one of PLACES.

    The words of `text` are whole ones; one that ends in `*` stands for all that begin so.
    """

    text: str = ""
    place: str = ANYWHERE
    outcomes: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    trial: int | None = None


def rows(session: Session, run: tables.Run, wanted: Filter | None = None) -> Iterator[dict[str, Any]]:
    """One dict per matching trajectory of the run in import order, as `trajectory list --json` prints them."""
    record, task = tables.Trajectory, tables.Task
    statement = (
        select(record, task.task_key, task.instruction)  # type: ignore[call-overload]
        .join(task, task.id == record.task_id)
        .where(*_conditions(session, run, wanted or Filter()))
        .order_by(record.id)
        .execution_options(yield_per=1_000)
    )
    for found, task_key, instruction in session.execute(statement):
        yield _listed(found, task_key, instruction)


def count(session: Session, run: tables.Run, wanted: Filter) -> int:
    """How many trajectories of the run match; of a search one more than MOST where there are more."""
    statement = select(col(tables.Trajectory.id)).where(*_conditions(session, run, wanted))
    if wanted.text.strip():
        statement = statement.limit(MOST + 1)
    return int(session.execute(select(func.count()).select_from(statement.subquery())).scalar_one())


def page(session: Session, run: tables.Run, wanted: Filter, *, offset: int, limit: int) -> list[dict[str, Any]]:
    """One page of matching trajectories in import order."""
    record, task = tables.Trajectory, tables.Task
    statement = (
        select(record, task.task_key, task.instruction)  # type: ignore[call-overload]
        .join(task, _same_task())
        .where(*_conditions(session, run, wanted))
        .order_by(_order(session, wanted))
        .offset(offset)
        .limit(limit)
    )
    columns = ("trajectory_id", "task_id", "trial", "outcome", "label", "n_steps", "instruction", "carried_over")
    rows = [_listed(*row) for row in session.execute(statement)]
    return [{column: row[column] for column in columns} for row in rows]


def _order(session: Session, wanted: Filter) -> Any:
    """Import order, which a search by the index has by itself, so that its first page needs no sorting."""
    indexed = wanted.text.strip() and text_search.has_text_index(session.connection())
    return _INDEX.c.rowid if indexed else tables.Trajectory.id


def task_of(session: Session, run: tables.Run, trajectory_id: int) -> int:
    """The row id of the task of one of the run's trajectories; raises Unknown for one of another run too."""
    record = tables.Trajectory
    found = select(col(record.task_id)).where(col(record.id) == trajectory_id, col(record.run_id) == run.id)
    task_id: int | None = session.execute(found).scalar()
    if task_id is None:
        raise Unknown(f"trajectory of the run {run.name}", trajectory_id)
    return task_id


def previous(session: Session, trajectory_id: int) -> Trajectory | None:
    """The record of the same task's trial before, or None."""
    row = session.get(tables.Trajectory, trajectory_id)
    if row is None:
        raise Unknown("trajectory", trajectory_id)
    record = tables.Trajectory
    statement = (
        select(col(record.id))
        .where(col(record.task_id) == row.task_id, col(record.trial) < row.trial)
        .order_by(col(record.trial).desc())
        .limit(1)
    )
    found = session.execute(statement).scalar()
    return load(session, found) if found else None


def _same_task() -> Any:
    return col(tables.Task.id) == col(tables.Trajectory.task_id)


def _conditions(session: Session, run: tables.Run, wanted: Filter) -> list[Any]:
    record = tables.Trajectory
    found: list[Any] = [col(record.run_id) == run.id]
    if wanted.place not in PLACES:
        raise Unknown("place to search in", wanted.place, PLACES)
    if wanted.text.strip():
        indexed = text_search.has_text_index(session.connection())
        found += _indexed(wanted) if indexed else [_read_through(session, wanted)]
    if wanted.outcomes:
        found.append(col(record.outcome).in_(wanted.outcomes))
    if wanted.labels:
        named = col(record.label).in_([label for label in wanted.labels if label != "none"])
        found.append(named | col(record.label).is_(None) if "none" in wanted.labels else named)
    if wanted.trial is not None:
        found.append(col(record.trial) == wanted.trial)
    return found


def _indexed(wanted: Filter) -> list[Any]:
    """Trajectories that have every word in the place wanted; joined, so that a page of them needs no others."""
    readable = wanted.text.replace("\0", "").replace('"', '""').encode("utf-8", "ignore").decode()
    words = [word for word in readable.split() if any(sign.isalnum() for sign in word)]
    # Words without a letter or digit match nothing, as the empty phrase does.
    match = " AND ".join(f'"{word}"{" *" if word.endswith("*") else ""}' for word in words or [""])
    scope = match if wanted.place == ANYWHERE else f"{{{wanted.place}}} : ({match})"
    # Adding 0 keeps the planner from asking the index anew for every trajectory of the run.
    same = col(tables.Trajectory.id) == _INDEX.c.rowid + literal_column("0")
    return [same, _INDEX.c[text_search.INDEX].op("MATCH")(scope)]


_INDEX = table(text_search.INDEX, column("rowid"), column(text_search.INDEX))


def _read_through(session: Session, wanted: Filter) -> Any:
    """The same where there is no index: trajectories with every word in the place wanted, also within other words."""
    body = tables.TrajectoryBody
    words = [orjson.dumps(word.rstrip("*")).decode()[1:-1] for word in wanted.text.replace("\0", "").split()]
    dialect = session.connection().dialect.name
    read: Any = col(body.body)
    if wanted.place != ANYWHERE:
        read = literal_column(text_search.text_of(wanted.place, dialect), String)
    hits = select(col(body.trajectory_id)).where(*(read.icontains(word, autoescape=True) for word in words))
    return col(tables.Trajectory.id).in_(hits)


def catch_up_index(seconds: float | None = None) -> int:
    """Takes words of what is new into the text index, in short transactions, for at most about that long.

    Returns how many trajectories still wait.
    """
    with reading() as session:
        left = text_search.waiting(session.connection())
    end = None if seconds is None else time.monotonic() + seconds
    while left and (end is None or time.monotonic() < end):
        with writing() as session:
            left = text_search.take_in(session.connection())
    return left
