"""How sure people were and how long they were away or idle, by decision; and all that their browsers told."""

from __future__ import annotations

import pandas as pd
from sqlalchemy import or_
from sqlmodel import Session, col, func, select

from console.runs.current_decisions import is_current
from console.studies.results.condition_runs import kind_of
from console.studies.results.data_dictionary import table_of
from storage import tables
from storage.tables import ParticipantKind


def page_times(session: Session, study_id: int) -> pd.DataFrame:
    """One row for each standing decision of a person, practice left out."""
    decision, item, person = tables.Decision, tables.Item, tables.Participant
    place, sure = tables.Assignment, tables.Confidence
    name, spent = session.get_one(tables.Study, study_id).name, _spent(session, study_id)
    statement = (
        select(decision, person, place, sure.level)
        .join(item, col(item.id) == decision.item_id)
        .join(place, or_(col(place.run_id) == item.run_id, col(place.checks_run_id) == item.run_id))
        .join(person, col(person.id) == place.participant_id)
        .outerjoin(sure, col(sure.decision_id) == decision.id)
        .where(place.study_id == study_id, person.kind == ParticipantKind.HUMAN)
        .where(decision.reviewer == person.code, is_current())
        .order_by(col(decision.id))
    )
    rows = [
        (
            made.id,
            made.item_id,
            name,
            who.code,
            kind_of(who),
            part.condition,
            part.position,
            level,
            *(spent.get((who.id, made.item_id, kind), 0) for kind in ("away", "idle")),
        )
        for made, who, part, level in session.exec(statement)
    ]
    return table_of("page_times", rows)


def trace(session: Session, study_id: int) -> pd.DataFrame:
    """One row for each event that a participant's browser told of the page of an item."""
    event, person = tables.PageEvent, tables.Participant
    name = session.get_one(tables.Study, study_id).name
    statement = (
        select(event, person)
        .join(person, col(person.id) == event.participant_id)
        .where(event.study_id == study_id)
        .order_by(col(event.id))
    )
    rows = [
        (one.item_id, name, who.code, kind_of(who), one.kind, one.detail, one.ms, one.lasted_ms, one.at_ms)
        for one, who in session.exec(statement)
    ]
    return table_of("trace", rows)


def _spent(session: Session, study_id: int) -> dict[tuple[int | None, int, str], int]:
    """Milliseconds by participant, item and kind."""
    event = tables.PageEvent
    key = (col(event.participant_id), col(event.item_id), col(event.kind))
    statement = select(*key, func.sum(event.lasted_ms)).where(event.study_id == study_id, event.lasted_ms > 0)
    return {(who, item, kind): int(spent) for who, item, kind, spent in session.exec(statement.group_by(*key))}
