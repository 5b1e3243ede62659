"""The lifecycle of a study: creating it from a design, opening, pausing, closing, and summaries for lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import func
from sqlmodel import Session, col, select

from console import runs
from console.actors import actor
from console.auth import audit_log
from console.database import now_ms, reading, writing
from console.detection.detectors import detector
from console.errors import BadInput, ConsoleError, Refused, Unknown
from console.studies.design import Design, PlannedCondition, allocate, conditions, sample_tasks, task_count
from console.studies.design.factors import is_unattended
from console.studies.design.strata import KnownTask, stratify
from console.studies.sessions import known_items, study_tasks
from console.studies.sessions.known_items import share_out
from console.studies.sessions.stages import NOT_IN, random_letters
from console.studies.sessions.study_tasks import read_known_tasks
from console.trials.start import ActorAndEnvironments, refuse_protocol
from storage import tables
from storage.tables import ParticipantKind, StudyStatus

_CREATED = "study created"
_MAY_BECOME = {
    StudyStatus.OPEN: (StudyStatus.DRAFT, StudyStatus.PAUSED),
    StudyStatus.PAUSED: (StudyStatus.OPEN,),
    StudyStatus.CLOSED: (StudyStatus.DRAFT, StudyStatus.OPEN, StudyStatus.PAUSED),
}


def create(design: Design, at_ms: int) -> tables.Study:
    """Create a draft with all its places; raise Refused if the name is taken, BadInput or Unknown for a bad design."""
    from console.studies.design.preregistration import fingerprint  # scipy and pandas, which few commands need

    _check(design)
    with reading() as session:
        _refuse_taken(session, design.name)
        places = planned_places(session, design)
        share_out(design, known_items.find_known_items(session, design, _tasks(places)))
    with writing() as session:
        _refuse_taken(session, design.name)
        study = tables.Study(
            name=design.name, design=design.model_dump_json(), join_code=random_letters(8), created_ms=at_ms
        )
        session.add(study)
        session.flush()
        _fill(session, study, design, places)
        plan = {"fingerprint": fingerprint(design, places)}
        audit_log.record(session, None, _CREATED, at_ms, subject=study.name, after=plan)
        session.flush()
        session.expunge(study)
    return study


def planned_places(session: Session, design: Design) -> tuple[PlannedCondition, ...]:
    """Return the allocation of a new design; its tasks are sampled from the source and distributed over blocks."""
    tasks = sample_tasks(design, study_tasks.list_task_keys(session, design))
    return allocate(design, stratify(design, tasks, read_known_tasks(session, design, tasks)))


def known_properties(session: Session, design: Design, planned: Sequence[PlannedCondition]) -> dict[str, KnownTask]:
    """Return the known properties of the tasks before any review, by task key, or an empty dict without a source."""
    try:
        return read_known_tasks(session, design, _tasks(planned))
    except (ConsoleError, KeyError):
        return {}


def _tasks(planned: Sequence[PlannedCondition]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for place in planned for key in place.tasks))


def open_study(name: str) -> tables.Study:
    """Open the study, so that people can join and continue; raise Unknown, or Refused if it is closed."""
    return _become(name, StudyStatus.OPEN)


def pause(name: str) -> tables.Study:
    """Pause the study for all participants; raise Unknown, or Refused if the study is not open."""
    return _become(name, StudyStatus.PAUSED)


def close(name: str) -> tables.Study:
    """Close the study permanently; raise Unknown if it does not exist."""
    return _become(name, StudyStatus.CLOSED)


def design_of(study: tables.Study) -> Design:
    """Return the study's design."""
    return Design.model_validate_json(study.design)


def find(session: Session, name: str) -> tables.Study | None:
    """Return the study with this name, or None if there is none."""
    return session.exec(select(tables.Study).where(tables.Study.name == name)).first()


def get(session: Session, name: str) -> tables.Study:
    """Return the study with this name; if there is none, raise Unknown with the list of studies."""
    study = find(session, name)
    if study is None:
        raise Unknown("study", name, [study.name for study in list_studies(session)])
    return study


def plan_fingerprint(session: Session, study: tables.Study) -> str:
    """Return the fingerprint of design and allocation at the study's creation, or an empty text if not recorded."""
    event = tables.Event
    made = session.exec(select(event.after).where(event.kind == _CREATED, event.subject == study.name)).first()
    return str(orjson.loads(made).get("fingerprint", "")) if made else ""


def list_studies(session: Session) -> Sequence[tables.Study]:
    """List all studies, newest first."""
    return session.exec(select(tables.Study).order_by(col(tables.Study.id).desc())).all()


def _refuse_taken(session: Session, name: str) -> None:
    if find(session, name) is not None:
        raise Refused(f"There is already a study named {name!r}. Choose another name.")


def _check(design: Design) -> None:
    for condition in conditions(design):
        detector(condition.levels["detector"])
        if design.source.environment is not None:
            played = ActorAndEnvironments(actor(design.source.actor))
            refuse_protocol(condition.levels["protocol"], played, [design.source.environment])
        if design.source.actor == "replay" and is_unattended(condition.levels):
            raise BadInput(
                f"conditions: {condition.name} has feedback none, but a replay has recorded trials only. Use nl or "
                "binary."
            )


def _fill(session: Session, study: tables.Study, design: Design, places: Sequence[PlannedCondition]) -> None:
    levels = {condition.name: condition.levels for condition in conditions(design)}
    people: dict[int, tables.Participant] = {}
    for place in places:
        if place.number not in people:
            rule = orjson.dumps(dict(place.rule)).decode()
            people[place.number] = tables.Participant(
                study_id=study.id or 0, number=place.number, code=place.code, kind=place.kind, rule=rule
            )
    session.add_all(people.values())
    session.flush()
    session.add_all(
        tables.Assignment(
            study_id=study.id or 0,
            participant_id=people[place.number].id or 0,
            position=place.position,
            condition=place.condition,
            levels=orjson.dumps(dict(levels[place.condition])).decode(),
            tasks=orjson.dumps(place.tasks).decode(),
        )
        for place in places
    )


def _become(name: str, status: StudyStatus) -> tables.Study:
    with writing() as session:
        study = get(session, name)
        if study.status != status:
            if study.status not in _MAY_BECOME[status]:
                needed = " or ".join(_MAY_BECOME[status])
                raise Refused(f"Study {name!r} is {study.status}. Only a study that is {needed} can become {status}.")
            at_ms, before = now_ms(), study.status
            study.status = status
            if status is StudyStatus.OPEN and study.opened_ms is None:
                study.opened_ms = at_ms
            if status is StudyStatus.CLOSED:
                study.closed_ms = at_ms
            session.add(study)
            audit_log.record(session, None, f"study {status}", at_ms, subject=name, before=before, after=status)
        session.flush()
        session.expunge(study)
    return study


def summary(session: Session, study: tables.Study) -> dict[str, Any]:
    """Return one entry of `study list --json`."""
    design, person = design_of(study), tables.Participant
    counted = select(func.count(col(person.id)), func.count(col(person.joined_ms)), func.count(col(person.finished_ms)))
    ours = (person.study_id == study.id, col(person.stage).not_in(NOT_IN))
    places, joined, finished = session.exec(counted.where(*ours)).one()
    people = session.exec(counted.where(*ours, person.kind == ParticipantKind.HUMAN)).one()
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
        **dict(zip(("people", "people_joined", "people_finished"), people, strict=True)),
    }


def list_places(session: Session, study: tables.Study) -> tuple[PlannedCondition, ...]:
    """Return the stored allocation; participants who withdrew may be missing."""
    person, part = tables.Participant, tables.Assignment
    statement = (
        select(person, part)
        .join(part, col(part.participant_id) == col(person.id))
        .where(person.study_id == study.id)
        .order_by(col(person.number), col(part.position))
    )
    return tuple(
        PlannedCondition(
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
