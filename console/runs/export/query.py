"""Queries for an export: selects for the cells and rows, one range of ids at a time, and columns about a next trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Select, bindparam, func, literal_column, or_, select
from sqlmodel import Session, col
from sqlmodel import select as sql_select

from console.runs.export.formats import Column, ColumnKind, Page
from console.trajectory.checkpoints import CheckpointKind
from storage import tables
from storage.tables import Table

Open = Callable[[], AbstractContextManager[Session]]
"""A function that opens a session for one short read."""

Amend = Callable[[Session, Page], Page]
"""A function that completes a page of rows with values that one select cannot provide."""


class ExportColumn(NamedTuple):
    """A column and its SQL expression."""

    column: Column
    value: Any


def _cell(kind: ColumnKind, name: str, value: Any) -> ExportColumn:
    return ExportColumn(Column(name, kind), value)


_ORDER = (ColumnKind.TEXT, ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.TRUTH, ColumnKind.TIME)
text, integer, number, truth, time = (partial(_cell, kind) for kind in _ORDER)
json, record = partial(_cell, ColumnKind.JSON), partial(_cell, ColumnKind.RECORD)

_OF_TYPE = {int: ColumnKind.INTEGER, float: ColumnKind.NUMBER, bool: ColumnKind.TRUTH}


def fields(table: Any, names: str) -> Iterator[ExportColumn]:
    """Yield the cells of a table's columns, given by name and separated by blanks; the time `x_ms` becomes `x_at`."""
    for name in names.split():
        kind, value = _OF_TYPE.get(table.c[name].type.python_type, ColumnKind.TEXT), table.c[name]
        is_time = kind is ColumnKind.INTEGER and name.endswith("_ms")
        yield time(f"{name.removesuffix('_ms')}_at", value) if is_time else _cell(kind, name, value)


RUN_NAME: Any = bindparam("run_name")
"""The name of the exported run, as a cell."""

STUDY: Any = bindparam("study")
CONDITION: Any = bindparam("condition")
PARTICIPANT: Any = bindparam("participant")
"""The code of the participant who owns a study's run, else null; looked up once, since all rows share the value."""


_tables = Table.metadata.tables
_trajectory, _task = (_tables[name] for name in ("trajectory", "task"))
OF_TRAJECTORY = (
    integer("trajectory_id", _trajectory.c.id),
    text("task_id", _task.c.task_key),
    text("run", RUN_NAME),
    integer("trial", _trajectory.c.trial),
    text("environment", _trajectory.c.environment),
)
"""The cells that each row about a trajectory has."""


@dataclass(frozen=True, slots=True)
class ExportQuery:
    """The rows of one kind of export.

    `joined` contains every table that the cells use. `run_id` and `key` are the columns with the run and the id of a
    row. An export calls `amend` once and passes the pages in order to the result. Each row also ends with the values of
    `needs`, which writers ignore.
    """

    cells: Sequence[ExportColumn]
    joined: Any
    run_id: Any
    key: Any
    page: int = 1_000
    needs: Sequence[Any] = ()
    amend: Callable[[], Amend] | None = None
    for_researchers: bool = False

    @property
    def columns(self) -> list[Column]:
        """The columns in the order of the cells."""
        return [cell.column for cell in self.cells]


def pages(opened: Open, source: ExportQuery, run: tables.Run) -> Iterator[Page]:
    """Yield pages of rows in id order, up to the newest row at the start; use short reads that block no writer.

    Later pages may contain changes made during the export, but no rows added during the export.
    """
    select_page = statement(source)
    amend = source.amend() if source.amend else None
    with opened() as session:
        first, last = session.execute(select(func.min(source.key), func.max(source.key))).one()
        same = {"run": run.id, "run_name": run.name, **_owner(session, run)}
    if first is None:
        return
    for start in range(first, last + 1, source.page):
        chosen = {**same, "low": start, "high": min(start + source.page - 1, last)}
        # Nothing here keeps the page: the next one must not be read while this one still takes room.
        yield _page(opened, select_page, chosen, amend)


def _page(opened: Open, select_page: Select[Any], chosen: dict[str, Any], amend: Amend | None) -> Page:
    # The driver's own tuples: SQLAlchemy's rows cost a sixth of an export, and no cell needs converting.
    with opened() as session, session.connection().execute(select_page, chosen) as found:
        rows: Page = found.cursor.fetchall() if found.cursor else []
        return amend(session, rows) if amend else rows


def statement(source: ExportQuery) -> Select[Any]:
    """Return the select of one page; parameters: run, run_name, the owner, and low and high (ids, both inclusive)."""
    # Adding 0 hides the index on run from the planner, which would walk the whole run for every page.
    of_run = source.run_id + literal_column("0") == bindparam("run")
    values = [cell.value.label(cell.column.name) for cell in source.cells]
    return (
        select(*values, *source.needs)
        .select_from(source.joined)
        .where(of_run, source.key.between(bindparam("low"), bindparam("high")))
        .order_by(source.key)
    )


def _owner(session: Session, run: tables.Run) -> dict[str, str | None]:
    study, place, person = tables.Study, tables.Assignment, tables.Participant
    name = session.exec(sql_select(study.name).where(study.id == run.study_id)).first()
    condition, code = None, None
    if name is not None:
        of_run = or_(col(place.run_id) == run.id, col(place.checks_run_id) == run.id)
        arm = (
            sql_select(place.condition, person.code).join(person, col(person.id) == place.participant_id).where(of_run)
        )
        practice = sql_select(person.code).where(person.practice_run_id == run.id)
        condition, code = session.exec(arm).first() or (None, session.exec(practice).first())
    return {"study": name, "condition": condition, "participant": code}


_decision, _verdict, _memory = (_tables[name] for name in ("decision", "verdict", "memory"))
_next, _later = _trajectory.alias("next_trial"), _verdict.alias("next_verdict")
_IS_NEXT = (_next.c.task_id == _trajectory.c.task_id, _next.c.trial == _trajectory.c.trial + 1)

next_outcome, next_id = (
    select(column).where(*_IS_NEXT).order_by(_next.c.id.desc()).limit(1).scalar_subquery()
    for column in (_next.c.outcome, _next.c.id)
)
"""The outcome and the id of the task's next trial."""
next_score: Any = (
    select(func.max(_later.c.score))
    .join(_next, _next.c.id == _later.c.trajectory_id)
    .where(*_IS_NEXT, _later.c.detector == _verdict.c.detector, _later.c.kind == CheckpointKind.ACTION)
    .scalar_subquery()
)
"""The highest score of the item's detector in the task's next trial."""
reasons_sent: Any = (
    select(_memory.c.rationale).where(_memory.c.decision_id == _decision.c.id).limit(1).scalar_subquery()
)
"""Whether the detector's reasons went to the agent with the feedback of the decision: sent or withheld."""
