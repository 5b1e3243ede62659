"""The condition runs of a study, each with its participant, condition and factor levels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import pandas as pd
from sqlmodel import Session, col, select

from console.errors import Unknown
from console.studies.results.csv_files import coerce, fields
from storage import tables
from storage.tables import AssignmentStatus, ParticipantKind

PEOPLE, RULES = "human", "rule"


@dataclass(frozen=True, slots=True)
class ConditionRun:
    """One condition of one participant. A practice run has neither a condition nor levels."""

    study: str
    participant_id: int
    participant: str
    annotator_kind: str
    condition: str | None
    levels: dict[str, str]
    position: int | None
    tasks: tuple[str, ...]
    status: str
    run_id: int | None
    checks_run_id: int | None

    @property
    def done(self) -> bool:
        """Whether all trials of the condition are closed."""
        return self.status == AssignmentStatus.DONE

    def cells(self, factors: Iterable[str]) -> tuple[Any, ...]:
        """Return the cells that describe the run in every table of results, in the order of the data dictionary."""
        levels = (self.levels.get(name) for name in factors)
        return (self.study, self.participant, self.annotator_kind, self.condition, *levels, self.position)


def condition_runs(session: Session, study_id: int) -> list[ConditionRun]:
    """List every participant's conditions, by participant and position; raise Unknown if the study does not exist."""
    study = session.get(tables.Study, study_id)
    if study is None:
        raise Unknown("study", study_id)
    person, place = tables.Participant, tables.Assignment
    statement = (
        select(place, person)
        .join(person, col(person.id) == place.participant_id)
        .where(place.study_id == study_id)
        .order_by(col(person.number), col(person.id), col(place.position))
    )
    return [
        ConditionRun(
            study=study.name,
            participant_id=who.id or 0,
            participant=who.code,
            annotator_kind=kind_of(who),
            condition=found.condition,
            levels=orjson.loads(found.levels),
            position=found.position,
            tasks=tuple(str(key) for key in orjson.loads(found.tasks)),
            status=found.status,
            run_id=found.run_id,
            checks_run_id=found.checks_run_id,
        )
        for found, who in session.exec(statement)
    ]


def practice(session: Session, study_id: int) -> list[ConditionRun]:
    """List the practice of each participant who has one, as a run without a condition."""
    study, person = session.get_one(tables.Study, study_id), tables.Participant
    statement = select(person).where(person.study_id == study_id, col(person.practice_run_id).is_not(None))
    return [
        ConditionRun(study.name, who.id or 0, who.code, kind_of(who), None, {}, None, (), "", None, who.practice_run_id)
        for who in session.exec(statement.order_by(col(person.number)))
    ]


def factors(found: Iterable[ConditionRun]) -> list[str]:
    """List the names of the factors, in their order in the conditions."""
    return list(dict.fromkeys(name for arm in found for name in arm.levels))


def kind_of(who: tables.Participant) -> str:
    """Return `human` for a person and `rule` for a simulated reviewer, as in the table of decisions."""
    return PEOPLE if who.kind == ParticipantKind.HUMAN else RULES


def tidy(table: str, raw: pd.DataFrame, everyone: Sequence[ConditionRun], only: Collection[str] = ()) -> pd.DataFrame:
    """Return `raw` as this table of the data dictionary, or some of its columns; `arm` is an index into `everyone`."""
    names = factors(everyone)
    of_arms = fields("success", names)[: len(names) + 5]
    cells = pd.DataFrame([arm.cells(names) for arm in everyone], columns=[one.name for one in of_arms], dtype=object)
    told = coerce(of_arms, cells).take(raw["arm"].to_numpy(dtype="int64")).set_axis(raw.index)
    wanted = [field for field in fields(table, names) if not only or field.name in only]
    return coerce(wanted, raw.drop(columns="arm").join(told))
