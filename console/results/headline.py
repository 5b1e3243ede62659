"""What a page shows of a study at once: a few numbers, counted in SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlmodel import Session

from console.results.arms import PEOPLE, Arm, arms
from storage.tables import Table

_person, _item, _decision = (Table.metadata.tables[name] for name in ("participant", "item", "decision"))


@dataclass(frozen=True, slots=True)
class Headline:
    """How far a study has come; decisions are those on its own items, practice and checks left out."""

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
    """The numbers at the head of a study's results; raises Unknown for a study."""
    found = arms(session, study_id)
    counted = [(arm, *_decided(session, arm)) for arm in found if arm.run_id is not None]
    people = [(n, spent) for arm, n, spent in counted if arm.annotator_kind == PEOPLE]
    human = sum(n for n, _ in people)
    spent = sum(of_arm for _, of_arm in people)
    places, joined, finished, simulated = _people(session, study_id)
    return Headline(
        places=places,
        joined=joined,
        finished=finished,
        simulated=simulated,
        arms=len(found),
        arms_done=sum(arm.done for arm in found),
        decisions=sum(n for _, n, _ in counted),
        human_decisions=human,
        mean_seconds=spent / human / 1_000 if human else None,
    )


def _decided(session: Session, arm: Arm) -> tuple[int, int]:
    """How many standing decisions, and their milliseconds."""
    spent = func.coalesce(func.sum(_decision.c.decided_ms - _decision.c.claimed_ms), 0)
    mine: Any = (_item.c.run_id == arm.run_id, _decision.c.reviewer == arm.participant)
    joined = _item.join(_decision, _decision.c.item_id == _item.c.id)
    statement = select(func.count(), spent).select_from(joined).where(*mine, _decision.c.superseded.is_(False))
    count, milliseconds = session.execute(statement).one()
    return int(count), int(milliseconds)


def _people(session: Session, study_id: int) -> tuple[int, int, int, int]:
    human = _person.c.kind == PEOPLE
    told = (
        func.count(),
        func.count().filter(human, _person.c.joined_ms.is_not(None)),
        func.count().filter(human, _person.c.finished_ms.is_not(None)),
        func.count().filter(~human),
    )
    places, joined, finished, simulated = session.execute(select(*told).where(_person.c.study_id == study_id)).one()
    return places, joined, finished, simulated
