"""What people answered beside the items, one row an answer, and the scores that their questionnaires make of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from sqlmodel import Session, col, select

from console.studies.design.instruments import keyed, score, scored_items
from console.studies.design.model import Design, instruments_of
from console.studies.results.condition_runs import kind_of
from console.studies.results.data_dictionary import table_of
from storage import tables


def questionnaires(session: Session, study_id: int) -> pd.DataFrame:
    """One row for each answer to an item of a questionnaire."""
    known = instruments_of(_design(session, study_id))
    rows = []
    for head, answer in _answers(session, study_id):
        instrument = known.get(answer.instrument)
        scored = {one.key: one for one in scored_items(instrument)} if instrument else {}
        item = scored.get(answer.item) if answer.answer else None
        points = keyed(instrument, item, answer.answer) if instrument and item else None
        rows.append((*head, answer.instrument, answer.item, answer.answer, points, answer.at_ms))
    return table_of("questionnaires", rows)


def scales(session: Session, study_id: int) -> pd.DataFrame:
    """One row for each questionnaire that somebody has filled in, with its score."""
    known, sheets = instruments_of(_design(session, study_id)), dict[tuple[Any, ...], dict[str, str]]()
    for head, answer in _answers(session, study_id):
        if answer.instrument in known and answer.answer:
            sheets.setdefault((*head, answer.instrument), {})[answer.item] = answer.answer
    return table_of("scales", [(*head, score(known[head[-1]], given)) for head, given in sheets.items()])


def failed_items(session: Session, study_id: int) -> dict[str, int]:
    """By participant: how many items of questionnaires with an expected answer were answered otherwise."""
    known = instruments_of(_design(session, study_id))
    failed: dict[str, int] = {}
    for head, answer in _answers(session, study_id):
        instrument = known.get(answer.instrument)
        expected = {one.key: one.expected for one in instrument.items} if instrument else {}
        wrong = expected.get(answer.item) not in (None, answer.answer)
        failed[head[1]] = failed.get(head[1], 0) + wrong
    return failed


def _answers(session: Session, study_id: int) -> Iterator[tuple[tuple[Any, ...], tables.QuestionnaireAnswer]]:
    """Each answer after (study, participant, annotator_kind, moment, condition, position)."""
    answer, person, place = tables.QuestionnaireAnswer, tables.Participant, tables.Assignment
    name = session.get_one(tables.Study, study_id).name
    statement = (
        select(answer, person, place)
        .join(person, col(person.id) == answer.participant_id)
        .outerjoin(place, col(place.id) == col(answer.assignment_id))
        .where(answer.study_id == study_id)
        .order_by(col(person.number), col(answer.id))
    )
    for given, who, part in session.exec(statement):
        condition, position = (part.condition, part.position) if part else (None, None)
        yield (name, who.code, kind_of(who), given.moment, condition, position), given


def _design(session: Session, study_id: int) -> Design:
    return Design.model_validate_json(session.get_one(tables.Study, study_id).design)
