"""What tells cheaply whether a study's results are still the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from sqlalchemy import func, select
from sqlmodel import Session

from storage.tables import Table

_tables = Table.metadata.tables
_study, _person, _place, _settled, _item, _run, _record, _event, _budget, _ledger = (
    _tables[name]
    for name in (
        "study", "participant", "assignment", "adjudication", "item", "run", "trajectory", "event", "budget", "ledger"
    )
)  # fmt: skip


_answer, _event_of_page, _sure = (_tables[name] for name in ("questionnaire_answer", "page_event", "confidence"))


def data_version(session: Session, study_id: int) -> str:
    """A short text that differs whenever anything that the results rest on does.

    It reads rows of people and assignments, and of everything else only indexes.
    """
    told = hashlib.sha256()
    for part in _parts(session, study_id):
        told.update(repr(part).encode())
    return told.hexdigest()[:16]


def _parts(session: Session, study_id: int) -> Iterator[Any]:
    yield session.execute(select(_study).where(_study.c.id == study_id)).all()
    yield session.execute(select(_person).where(_person.c.study_id == study_id).order_by(_person.c.id)).all()
    yield session.execute(select(_place).where(_place.c.study_id == study_id).order_by(_place.c.id)).all()
    settled = func.max(_settled.c.id), func.count(), func.max(_settled.c.at_ms)
    yield session.execute(select(*settled).where(_settled.c.study_id == study_id)).all()
    for told in (_answer, _event_of_page):
        count = func.max(told.c.id), func.count(), func.max(told.c.at_ms)
        yield session.execute(select(*count).where(told.c.study_id == study_id)).all()
    mine = _sure.c.participant_id.in_(select(_person.c.id).where(_person.c.study_id == study_id))
    yield session.execute(select(func.count(), func.max(_sure.c.at_ms)).where(mine)).all()
    yield from _of_runs(session, _runs(session, study_id))


def _runs(session: Session, study_id: int) -> list[int]:
    places = select(_place.c.run_id, _place.c.checks_run_id).where(_place.c.study_id == study_id)
    people = select(_person.c.practice_run_id).where(_person.c.study_id == study_id)
    rows = [*session.execute(places), *session.execute(people)]
    return sorted({run for row in rows for run in row if run is not None})


def _of_runs(session: Session, runs: list[int]) -> Iterator[Any]:
    """Every claim, answer, undo and revision moves the ledger; deliveries show in the items, the engine in events."""
    statuses = select(_item.c.status, func.count()).where(_item.c.run_id.in_(runs)).group_by(_item.c.status)
    yield session.execute(statuses.order_by(_item.c.status)).all()
    # A maximum within one run or budget is one step down an index; over all of them it would walk them whole.
    newest = [
        select(func.max(part.c.id)).where(part.c.run_id == _run.c.id).scalar_subquery() for part in (_record, _event)
    ]
    yield session.execute(select(_run.c.id, _run.c.kind, *newest).where(_run.c.id.in_(runs)).order_by(_run.c.id)).all()
    moved = select(func.max(_ledger.c.id)).where(_ledger.c.budget_id == _budget.c.id).scalar_subquery()
    spent = select(_budget.c.id, _budget.c.used, moved).where(_budget.c.run_id.in_(runs))
    yield session.execute(spent.order_by(_budget.c.id)).all()
