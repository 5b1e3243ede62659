"""The headline numbers of a study, and data versions: short strings that change with the study's results."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlmodel import Session

from console.errors import Unknown
from console.runs import is_current
from console.studies.results.condition_runs import PEOPLE
from console.studies.sessions.stages import NOT_IN, ParticipantStage
from storage.tables import AssignmentStatus, DecisionKind, Study, Table

_tables = Table.metadata.tables
_NAMES = "study participant assignment adjudication item decision run trajectory event budget ledger"
_study, _person, _place, _settled, _item, _decision, _run, _record, _event, _budget, _ledger = (
    _tables[name] for name in _NAMES.split()
)
_answer, _event_of_page, _sure = (_tables[name] for name in ("questionnaire_answer", "page_event", "confidence"))


@dataclass(frozen=True, slots=True)
class Headline:
    """The progress of a study. Decisions on practice items and checks are not counted."""

    places: int
    joined: int
    finished: int
    simulated: int
    arms: int
    arms_done: int
    decisions: int
    human_decisions: int
    mean_seconds: float | None


def headline(session: Session, study_id: int) -> Headline:
    """Return the headline numbers of a study's results; raise Unknown if the study does not exist."""
    if session.get(Study, study_id) is None:
        raise Unknown("study", study_id)
    counted = _count_decisions(session, study_id)
    human, spent = counted.get(True, (0, 0))
    done = func.count().filter(_place.c.status == AssignmentStatus.DONE)
    arms, arms_done = session.execute(select(func.count(), done).where(_place.c.study_id == study_id)).one()
    is_human = _person.c.kind == PEOPLE
    people = (
        func.count(),
        func.count().filter(is_human, _person.c.joined_ms.is_not(None)),
        func.count().filter(
            is_human, _person.c.finished_ms.is_not(None), _person.c.stage != ParticipantStage.WITHDRAWN
        ),
        func.count().filter(~is_human),
    )
    ours = _person.c.study_id == study_id, _person.c.stage.not_in(NOT_IN)
    places, joined, finished, simulated = session.execute(select(*people).where(*ours)).one()
    return Headline(
        places=places,
        joined=joined,
        finished=finished,
        simulated=simulated,
        arms=arms,
        arms_done=arms_done,
        decisions=sum(n for n, _ in counted.values()),
        human_decisions=human,
        mean_seconds=spent / human / 1_000 if human else None,
    )


def _count_decisions(session: Session, study_id: int) -> dict[bool, tuple[int, int]]:
    """Return the number of current decisions and their total ms, for people (True) and simulated reviewers (False)."""
    spent = func.coalesce(func.sum(_decision.c.decided_ms - _decision.c.claimed_ms), 0)
    joined = (
        _place.join(_person, _person.c.id == _place.c.participant_id)
        .join(_item, _item.c.run_id == _place.c.run_id)
        .join(_decision, _decision.c.item_id == _item.c.id)
    )
    made = is_current(_decision.c), _decision.c.decision != DecisionKind.ESCALATE
    mine = _decision.c.reviewer == _person.c.code, *made
    human = (_person.c.kind == PEOPLE).label("human")
    statement = select(human, func.count(), spent).select_from(joined).where(_place.c.study_id == study_id, *mine)
    rows = session.execute(statement.group_by(human))
    return {bool(is_human): (int(count), int(milliseconds)) for is_human, count, milliseconds in rows}


@dataclass(frozen=True, slots=True)
class DataVersions:
    """The data version of the study, and of each participant's own decisions and outcomes, by pseudonym."""

    study: str
    people: Mapping[str, str]


def data_versions(session: Session, study_id: int) -> DataVersions:
    """Return the current versions; read participants and assignments in full, other large tables through indexes."""
    study = session.execute(select(_study).where(_study.c.id == study_id)).all()
    whose = select(_person).where(_person.c.study_id == study_id).order_by(_person.c.number, _person.c.id)
    people = session.execute(whose).all()
    places = session.execute(select(_place).where(_place.c.study_id == study_id).order_by(_place.c.id)).all()
    newest = func.max(_settled.c.id), func.count(), func.max(_settled.c.at_ms)
    settled = session.execute(select(*newest).where(_settled.c.study_id == study_id)).all()
    runs: dict[int, list[int]] = {who.id: [who.practice_run_id] for who in people}
    for place in places:
        runs[place.participant_id] += [place.run_id, place.checks_run_id]
    facts = _of_runs(session, sorted({run for each in runs.values() for run in each if run is not None}))
    own = {
        who.code: _digest(
            study,
            settled,
            who,
            [one for one in places if one.participant_id == who.id],
            [facts.get(run) for run in runs[who.id]],
        )
        for who in people
    }
    return DataVersions(
        _digest(study, people, places, settled, _count_reports(session, study_id), sorted(facts.items())), own
    )


def _digest(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _count_reports(session: Session, study_id: int) -> list[Any]:
    """Return the latest row and the number of rows of page events, questionnaire answers and confidence ratings."""
    counts = (
        select(func.max(told.c.id), func.count(), func.max(told.c.at_ms)).where(told.c.study_id == study_id)
        for told in (_answer, _event_of_page)
    )
    mine = _sure.c.participant_id.in_(select(_person.c.id).where(_person.c.study_id == study_id))
    sure = select(func.count(), func.max(_sure.c.at_ms)).where(mine)
    return [row for statement in (*counts, sure) for row in session.execute(statement)]


def _of_runs(session: Session, runs: list[int]) -> dict[int, list[Any]]:
    """Return a data version per run: claims and decisions change the ledger, deliveries items, the engine events."""
    facts: dict[int, list[Any]] = defaultdict(list)
    alike = _item.c.run_id, _item.c.status
    statuses = select(*alike, func.count()).where(_item.c.run_id.in_(runs)).group_by(*alike).order_by(*alike)
    # A maximum within one run or budget is one index lookup; over all runs it would scan the whole index.
    newest = [
        select(func.max(part.c.id)).where(part.c.run_id == _run.c.id).scalar_subquery() for part in (_record, _event)
    ]
    stands = select(_run.c.id, _run.c.kind, *newest).where(_run.c.id.in_(runs))
    moved = select(func.max(_ledger.c.id)).where(_ledger.c.budget_id == _budget.c.id).scalar_subquery()
    spent = select(_budget.c.run_id, _budget.c.id, _budget.c.used, moved).where(_budget.c.run_id.in_(runs))
    for statement in (statuses, stands, spent.order_by(_budget.c.id)):
        for run_id, *rest in session.execute(statement):
            facts[run_id].append(rest)
    return facts
