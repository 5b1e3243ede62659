"""The researcher's board: each participant's stage, pending items, remaining budget and last activity."""

from __future__ import annotations

from dataclasses import dataclass

import orjson
from sqlmodel import Session, col, func, select

from console.database import review_queue
from console.runs import is_current
from console.studies.design.model import Design
from console.studies.sessions.condition_run import HELD_UP, is_attended, is_playing
from console.studies.sessions.lifecycle import design_of
from console.studies.sessions.position import current_assignment
from console.studies.sessions.stages import NOT_IN, ParticipantStage, list_assignments
from storage import tables
from storage.tables import AssignmentStatus


@dataclass(frozen=True, slots=True)
class Row:
    """The progress of one participant; times are in ms since 1970.

    Conditions and trials count from 1; 0 means before the first. `decided` is the number of decisions in all
    conditions, `waiting` the number of pending items in the current condition. `problem` is the reason why the agents
    could not continue, or an empty string.
    """

    participant_id: int
    code: str
    kind: str
    stage: str
    condition: str
    number: int
    conditions: int
    trial: int
    trials: int
    decided: int
    waiting: int
    oldest_ms: int | None
    budget_cap: int | None
    budget_left: int | None
    last_seen_ms: int | None
    run: str | None
    problem: str
    completion_code: str | None = None


def read_board(session: Session, study: tables.Study) -> list[Row]:
    """Return one row per place of the study, without people who declined or were screened out."""
    person, design = tables.Participant, design_of(study)
    places = select(person).where(person.study_id == study.id, col(person.stage).not_in(NOT_IN))
    seen = _last_seen(session, study)
    ordered = session.exec(places.order_by(col(person.number), col(person.id)))
    return [_row(session, design, one, seen.get(one.code, (0, None))) for one in ordered]


def _row(session: Session, design: Design, one: tables.Participant, seen: tuple[int, int | None]) -> Row:
    rows = list_assignments(session, one.id)
    attended = [row for row in rows if is_attended(row)]
    now = current_assignment(rows) if one.stage in (ParticipantStage.WORKING, ParticipantStage.BREAK) else None
    arm = session.get(tables.Run, now.run_id) if now and now.run_id else None
    waiting, oldest, trial = _waiting(session, arm)
    budget = review_queue().budget(run_id=arm.id or 0, trial=trial) if arm else None
    done = sum(row.status == AssignmentStatus.DONE for row in attended)
    return Row(
        participant_id=one.id or 0,
        code=one.code,
        kind=one.kind,
        stage=_stage(one, now, arm),
        condition=now.condition if now else "",
        number=min(done + 1, len(attended)) if now else done,
        conditions=len(attended),
        trial=trial + 1 if arm else 0,
        trials=design.trials,
        decided=seen[0],
        waiting=waiting,
        oldest_ms=oldest,
        budget_cap=budget.cap if budget else None,
        budget_left=budget.left if budget else None,
        last_seen_ms=max(
            (at for at in (one.joined_ms, one.consented_ms, one.finished_ms, seen[1]) if at), default=None
        ),
        run=arm.name if arm else None,
        problem=_problem(session, arm) if arm and is_playing(arm) else "",
        completion_code=one.completion_code,
    )


def _stage(one: tables.Participant, now: tables.Assignment | None, arm: tables.Run | None) -> str:
    if one.stage != ParticipantStage.WORKING or now is None:
        return one.stage
    if arm is None:
        return "introduction"
    return "agents_working" if is_playing(arm) else "review"


def _problem(session: Session, arm: tables.Run) -> str:
    event = tables.Event
    told = select(event.detail).where(event.run_id == arm.id, event.kind == HELD_UP).order_by(col(event.id).desc())
    detail = session.exec(told.limit(1)).first()
    return str(orjson.loads(detail).get("problem", "")) if detail else ""


def _waiting(session: Session, arm: tables.Run | None) -> tuple[int, int | None, int]:
    if arm is None:
        return 0, None, 0
    item, is_open = tables.Item, col(tables.Item.open_slots) > 0
    counts = func.count().filter(is_open), func.min(item.created_ms).filter(is_open), func.max(item.trial)
    waiting, oldest, trial = session.exec(select(*counts).where(item.run_id == arm.id)).one()
    return waiting, oldest, trial or 0


def _last_seen(session: Session, study: tables.Study) -> dict[str, tuple[int, int | None]]:
    """Return, keyed by code, the number of decisions and the time of the last claim or decision."""
    slot, item, run, decision = tables.Slot, tables.Item, tables.Run, tables.Decision
    taken = (
        select(slot.reviewer, func.max(slot.claimed_ms))
        .join(item, col(item.id) == slot.item_id)
        .join(run, col(run.id) == item.run_id)
        .where(run.study_id == study.id)
        .group_by(slot.reviewer)
    )
    answered = (
        select(decision.reviewer, func.count(), func.max(decision.decided_ms))
        .join(item, col(item.id) == decision.item_id)
        .join(tables.Assignment, col(tables.Assignment.run_id) == item.run_id)
        .where(tables.Assignment.study_id == study.id, is_current())
        .group_by(decision.reviewer)
    )
    counts = {code: (count, at) for code, count, at in session.exec(answered)}
    return {
        code: (counts.get(code, (0, 0))[0], max(at, counts.get(code, (0, 0))[1])) for code, at in session.exec(taken)
    }
