"""The headline numbers of a study, which pages show; they are counted in SQL."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlmodel import Session

from console.errors import Unknown
from console.runs import is_current
from console.studies.results.condition_runs import PEOPLE
from console.studies.sessions.stages import NOT_IN
from storage.tables import AssignmentStatus, Study, Table

_person, _place, _item, _decision = (
    Table.metadata.tables[name] for name in ("participant", "assignment", "item", "decision")
)


@dataclass(frozen=True, slots=True)
class Headline:
    """The progress of a study. Decisions are those on the study's own items, excluding practice and checks."""

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
    counted = _decided(session, study_id)
    human, spent = counted.get(True, (0, 0))
    done = func.count().filter(_place.c.status == AssignmentStatus.DONE)
    arms, arms_done = session.execute(select(func.count(), done).where(_place.c.study_id == study_id)).one()
    is_human = _person.c.kind == PEOPLE
    people = (
        func.count(),
        func.count().filter(is_human, _person.c.joined_ms.is_not(None)),
        func.count().filter(is_human, _person.c.finished_ms.is_not(None)),
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


def _decided(session: Session, study_id: int) -> dict[bool, tuple[int, int]]:
    """Return the number of current decisions and their total ms, for people (True) and simulated reviewers (False)."""
    spent = func.coalesce(func.sum(_decision.c.decided_ms - _decision.c.claimed_ms), 0)
    joined = (
        _place.join(_person, _person.c.id == _place.c.participant_id)
        .join(_item, _item.c.run_id == _place.c.run_id)
        .join(_decision, _decision.c.item_id == _item.c.id)
    )
    mine = _decision.c.reviewer == _person.c.code, is_current(_decision.c)
    human = (_person.c.kind == PEOPLE).label("human")
    statement = select(human, func.count(), spent).select_from(joined).where(_place.c.study_id == study_id, *mine)
    rows = session.execute(statement.group_by(human))
    return {bool(is_human): (int(count), int(milliseconds)) for is_human, count, milliseconds in rows}
