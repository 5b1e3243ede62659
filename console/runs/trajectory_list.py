"""Trajectories: functions that load one trajectory, and list, filter and search a run's trajectories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Select, column, func, literal_column, select, table
from sqlmodel import Session, col

from console.errors import Unknown
from console.trajectory import Trajectory, from_json
from storage import tables
from storage.tables import server_search, text_search


def load(session: Session, trajectory_id: int) -> Trajectory:
    """Return the whole record of a trajectory; raise Unknown if the id does not exist."""
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
"""The searchable parts: the whole trajectory, or one part of it."""


_MOST_FOUND, _MOST_LISTED = 5_000, 50_000


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter for the list of trajectories; empty fields match every trajectory. `place` is one of PLACES.

    `text` holds whole words; a word that ends in `*` matches all words with that prefix.
    """

    text: str = ""
    place: str = ANYWHERE
    outcomes: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    trial: int | None = None

    @property
    def most(self) -> int:
        """The maximum number of matches that are counted and listed page by page."""
        return _MOST_FOUND if self.text.strip() else _MOST_LISTED


def rows(session: Session, run: tables.Run, wanted: Filter | None = None) -> Iterator[dict[str, Any]]:
    """Yield one dict per matching trajectory of the run in import order, in the format of `trajectory list --json`."""
    matching = _select(session, run, wanted or Filter()).order_by(col(tables.Trajectory.id))
    for found, task_key, instruction in session.execute(matching.execution_options(yield_per=1_000)):
        yield _listed(found, task_key, instruction)


def count(session: Session, run: tables.Run, wanted: Filter) -> int:
    """Return the number of the run's matching trajectories, at most one more than `wanted.most`."""
    statement = select(col(tables.Trajectory.id)).where(*_conditions(session, run, wanted)).limit(wanted.most + 1)
    return int(session.execute(select(func.count()).select_from(statement.subquery())).scalar_one())


def page(session: Session, run: tables.Run, wanted: Filter, *, offset: int, limit: int) -> list[dict[str, Any]]:
    """Return one page of matching trajectories in import order."""
    matching = _select(session, run, wanted).order_by(_order(session, wanted)).offset(offset).limit(limit)
    columns = ("trajectory_id", "task_id", "trial", "outcome", "label", "n_steps", "instruction", "carried_over")
    rows = [_listed(*row) for row in session.execute(matching)]
    return [{column: row[column] for column in columns} for row in rows]


def _order(session: Session, wanted: Filter) -> Any:
    """Return the SQL expression that sorts in import order, the order in which the index yields matches."""
    indexed = wanted.text.strip() and session.connection().dialect.name == "sqlite"
    return _INDEX.c.rowid if indexed else tables.Trajectory.id


def task_of(session: Session, run: tables.Run, trajectory_id: int) -> int:
    """Return the row id of the task of a trajectory; raise Unknown if the run does not contain the trajectory."""
    record = tables.Trajectory
    found = select(col(record.task_id)).where(col(record.id) == trajectory_id, col(record.run_id) == run.id)
    task_id: int | None = session.execute(found).scalar()
    if task_id is None:
        raise Unknown(f"trajectory of run {run.name}", trajectory_id)
    return task_id


def _select(session: Session, run: tables.Run, wanted: Filter) -> Select[tables.Trajectory, str, str]:
    record, task = tables.Trajectory, tables.Task
    same_task = col(task.id) == col(record.task_id)
    columns = (record, col(task.task_key), col(task.instruction))
    return select(*columns).join(task, same_task).where(*_conditions(session, run, wanted))


def _conditions(session: Session, run: tables.Run, wanted: Filter) -> list[Any]:
    record = tables.Trajectory
    found: list[Any] = [col(record.run_id) == run.id]
    if wanted.place not in PLACES:
        raise Unknown("search field", wanted.place, PLACES)
    if wanted.text.strip():
        found += _indexed(wanted, session.connection().dialect.name)
    if wanted.outcomes:
        found.append(col(record.outcome).in_(wanted.outcomes))
    if wanted.labels:
        named = col(record.label).in_([label for label in wanted.labels if label != "none"])
        found.append(named | col(record.label).is_(None) if "none" in wanted.labels else named)
    if wanted.trial is not None:
        found.append(col(record.trial) == wanted.trial)
    return found


def _indexed(wanted: Filter, dialect: str) -> list[Any]:
    """Return SQL conditions on the index, on SQLite a joined one, for trajectories that contain every word, so that a
    page reads only matching trajectories.
    """
    readable = wanted.text.replace("\0", "").encode("utf-8", "ignore").decode()
    words = [word.replace('"', '""') for word in readable.split() if any(sign.isalnum() for sign in word)]
    if dialect != "sqlite":
        return [server_search.find_words(words, None if wanted.place == ANYWHERE else wanted.place)]
    # Words without a letter or digit match nothing, as the empty phrase does.
    match = " AND ".join(f'"{word}"{" *" if word.endswith("*") else ""}' for word in words or [""])
    scope = match if wanted.place == ANYWHERE else f"{{{wanted.place}}} : ({match})"
    # Adding 0 keeps the planner from querying the index again for every trajectory of the run.
    same = col(tables.Trajectory.id) == _INDEX.c.rowid + literal_column("0")
    return [same, _INDEX.c[text_search.INDEX].op("MATCH")(scope)]


_INDEX = table(text_search.INDEX, column("rowid"), column(text_search.INDEX))
