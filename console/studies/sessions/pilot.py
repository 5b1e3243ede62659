"""The pilot of a study: its first people finish before others join, and its stop rule decides if others may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import orjson
from sqlmodel import Session, col, func, select

from console.auth import audit_log
from console.database import now_ms
from console.errors import Refused
from console.language import _
from console.runs import is_current
from console.studies.design.model import Design, instruments_of
from console.studies.design.part import PILOT_LIMITS
from console.studies.sessions.stages import NOT_IN, ParticipantStage
from storage import tables
from storage.tables import ParticipantKind, ProbePurpose

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
