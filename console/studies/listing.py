"""Studies as lists show them, and the allocation as it stands."""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import func
from sqlmodel import Session, col, select

from console import runs
from console.designs import Place, conditions, task_count
from console.studies.creating import design_of
from console.studies.stages import Stage
from storage import tables


def summary(session: Session, study: tables.Study) -> dict[str, Any]:
    """One line of `study list --json`."""
    design, person = design_of(study), tables.Participant
    counted = select(func.count(col(person.id)), func.count(col(person.joined_ms)), func.count(col(person.finished_ms)))
    ours = (person.study_id == study.id, person.stage != Stage.DECLINED)
    places, joined, finished = session.exec(counted.where(*ours)).one()
    return {
        "study": study.name,
        "status": study.status,
        "comparison": design.comparison,
        "conditions": len(conditions(design)),
        "tasks": task_count(design),
        "trials": design.trials,
        "participants": places,
        "joined": joined,
        "finished": finished,
        "join_code": study.join_code,
        "created_at": runs.iso(study.created_ms),
    }


def places(session: Session, study: tables.Study) -> tuple[Place, ...]:
    """Who has which condition at which position on which tasks, as it is stored; who withdrew may be gone."""
    person, part = tables.Participant, tables.Assignment
    statement = (
        select(person, part)
        .join(part, col(part.participant_id) == col(person.id))
        .where(person.study_id == study.id)
        .order_by(col(person.number), col(part.position))
    )
    return tuple(
        Place(
            number=who.number,
            code=who.code,
            kind=who.kind,
            rule=orjson.loads(who.rule),
            position=what.position,
            condition=what.condition,
            tasks=tuple(orjson.loads(what.tasks)),
        )
        for who, what in session.exec(statement)
    )
