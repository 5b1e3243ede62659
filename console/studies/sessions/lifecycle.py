"""The lifecycle of a study: creating it from a design, opening, pausing, closing, and summaries for lists.

The first people of its pilot finish before others join, and the pilot's stop rule decides if others may.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import orjson
from sqlmodel import Session, col, func, select

from console import runs
from console.actors import actor
from console.auth import audit_log
from console.database import now_ms, reading, writing
from console.detection.detectors import detector
from console.errors import BadInput, ConsoleError, Refused, Unknown
from console.language import _
from console.runs import is_current
from console.studies.design import Design, PlannedCondition, allocate, conditions, sample_tasks, task_count
from console.studies.design.allocation import KnownTask, stratify
from console.studies.design.factors import is_unattended
from console.studies.design.model import instruments_of
from console.studies.design.part import PILOT_LIMITS
from console.studies.sessions import known_items, study_tasks
from console.studies.sessions.known_items import share_out
from console.studies.sessions.stages import NOT_IN, ParticipantStage, random_letters
from console.studies.sessions.study_tasks import read_known_tasks
from console.trials.start import ActorAndEnvironments, refuse_protocol
from storage import tables
from storage.tables import ParticipantKind, ProbePurpose, StudyStatus

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


WITHDREW = "participant withdrew"
_PASSED = "pilot passed"
_GONE = (*NOT_IN, ParticipantStage.FREE, ParticipantStage.WITHDRAWN)


@dataclass(frozen=True, slots=True)
class PilotState:
    """The progress of a pilot: planned and finished people, each limit's value, and the end in ms since 1970.

    `ended_ms` is None while people are missing; `values` are empty until then.
    """

    people: int
    finished: int
    values: Mapping[str, float | None]
    ended_ms: int | None = None

    def broken(self, design: Design) -> list[str]:
        """Return the limits of the stop rule that the pilot exceeds, as phrases with both numbers."""
        limits = design.pilot.stop_above.limits()
        return [
            f"{PILOT_LIMITS[name]}: {value:.4g}, limit {limits[name]:.4g}"
            for name, value in self.values.items()
            if name in limits and value is not None and value > limits[name]
        ]

    def describe(self, design: Design) -> str:
        """Describe the state to the researcher."""
        if self.ended_ms is None:
            return f"Pilot: {self.finished} of {self.people} people have finished. Others can join after the pilot."
        if broken := self.broken(design):
            return f"The pilot exceeds its limits ({'; '.join(broken)}). No others can join. Close the study."
        return "The pilot has ended within its limits. Others can join."


def read_pilot(session: Session, study: tables.Study, design: Design) -> PilotState | None:
    """Return the state of the study's pilot, as recorded when it was passed, or None if the design has no pilot."""
    if not design.pilot.people:
        return None
    if recorded := session.exec(select(tables.Event.after).where(*_events(study, _PASSED))).first():
        return PilotState(**orjson.loads(recorded))
    people = design.pilot.people
    done = _people(session, study, tables.Participant.stage == ParticipantStage.FINISHED)[:people]
    if len(done) < people:
        return PilotState(people, len(done), {})
    return PilotState(people, people, _values(session, study, design, done), done[-1].finished_ms)


def refuse_beyond_pilot(session: Session, study: tables.Study, design: Design) -> None:
    """Raise Refused if a further person may not join because of the pilot; record that the pilot is passed."""
    if not design.pilot.people:
        return
    # Two people who join at the same time must not both take the last place of the pilot.
    session.exec(select(tables.Study.id).where(tables.Study.id == study.id).with_for_update()).one()
    state = read_pilot(session, study, design)
    if state is None or state.ended_ms is None:
        if len(_people(session, study, col(tables.Participant.stage).not_in(_GONE))) >= design.pilot.people:
            raise Refused(_("All places that are open now are taken. More places may open later."))
        return
    if state.broken(design):
        raise Refused(_("This study no longer accepts participants. Thank you for your interest."))
    if session.exec(select(tables.Event.id).where(*_events(study, _PASSED))).first() is None:
        audit_log.record(session, None, _PASSED, now_ms(), by="pilot", subject=study.name, after=asdict(state))


def _people(session: Session, study: tables.Study, *which: Any) -> Sequence[tables.Participant]:
    person = tables.Participant
    mine = (person.study_id == study.id, person.kind == ParticipantKind.HUMAN, *which)
    return session.exec(select(person).where(*mine).order_by(col(person.finished_ms), col(person.id))).all()


def _events(study: tables.Study, kind: str) -> tuple[Any, ...]:
    event = tables.Event
    return event.kind == kind, event.subject == study.name, event.at_ms >= study.created_ms


def _values(
    session: Session, study: tables.Study, design: Design, done: Sequence[tables.Participant]
) -> dict[str, float | None]:
    of_people = ~col(tables.Event.detail).contains('"simulated"')
    left = session.exec(select(func.count(col(tables.Event.id))).where(*_events(study, WITHDREW), of_people)).one()
    quiz = len(_people(session, study, tables.Participant.stage == ParticipantStage.FAILED_QUIZ))
    failed = _failed_attention(session, design, [one.id or 0 for one in done])
    times = [(one.finished_ms - one.joined_ms) / 60_000 for one in done if one.finished_ms and one.joined_ms]
    return {
        "withdrawn": left / (left + len(done)),
        "failed_quiz": quiz / (quiz + len(done)) if design.quiz.questions else None,
        "failed_attention": len(failed) / len(done),
        "minutes": median(times) if times else None,
    }


def _failed_attention(session: Session, design: Design, people: Sequence[int]) -> set[int]:
    """Return the people who failed an attention item or a questionnaire item with an expected answer."""
    probe, decision, answer = tables.Probe, tables.Decision, tables.QuestionnaireAnswer
    wrong = (
        select(probe.participant_id)
        .join(decision, col(decision.item_id) == probe.item_id)
        .where(col(probe.participant_id).in_(people), probe.purpose == ProbePurpose.ATTENTION)
        .where(is_current(), decision.label != probe.expected)
    )
    expected = {(one.name, item.key): item.expected for one in instruments_of(design).values() for item in one.items}
    given = session.exec(select(answer).where(col(answer.participant_id).in_(people))).all()
    return set(session.exec(wrong)) | {
        one.participant_id
        for one in given
        if (right := expected.get((one.instrument, one.item))) is not None and one.answer != right
    }
