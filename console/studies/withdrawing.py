"""Leaving a study: everything of the participant is removed, or stays without a way back to them.

What is removed leaves the budget's ledger and one event, neither of which says who it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from sqlalchemy import update
from sqlmodel import Session, col, func, select

from console.database import database_url, now_ms, reading, writing
from console.errors import ConsoleError, Refused, Unknown
from console.runs import audit_log
from console.studies import desk, erasing, joining
from console.studies.creating import design_of
from console.studies.sessions import own_runs
from console.studies.stages import Stage, assignments, letters, locked
from console.trials.run_lock import alone
from storage import tables
from storage.engine import overwrite_freed
from storage.tables import AssignmentStatus


def withdraw(participant_id: int) -> None:
    """Takes the participant out of the study as its consent says; who is gone already stays so.

    Raises Refused for a place that nobody has, and while their agents are at work.
    """
    with reading() as session:
        participant = session.get(tables.Participant, participant_id)
        if participant is None or participant.stage == Stage.WITHDRAWN:
            return
        if participant.stage == Stage.FREE:
            raise Refused(f"Nobody has the place of {participant.code}, so nobody can withdraw from it.")
        ids = own_runs(session, participant)
        runs = [session.get_one(tables.Run, run_id) for run_id in ids]
        removes = design_of(session.get_one(tables.Study, participant.study_id)).consent.withdrawal == "remove"
    with _still(runs):
        with reading() as session:
            desk.put_down(session, ids, participant.code, now_ms())
        if removes:
            _remove(participant_id)
        else:
            _anonymise(participant_id)


def of_code(session: Session, study: tables.Study, code: str) -> tables.Participant:
    """The participant of that code; raises Unknown, naming those there are."""
    person = tables.Participant
    known = session.exec(select(person).where(person.study_id == study.id).order_by(col(person.number))).all()
    found = next((one for one in known if one.code == code), None)
    if found is None:
        raise Unknown("participant", code, [one.code for one in known])
    return found


@contextmanager
def _still(runs: Sequence[tables.Run]) -> Iterator[None]:
    """Keeps the agents of all these runs from working meanwhile."""
    with ExitStack() as held:
        for run in runs:
            try:
                held.enter_context(alone(run))
            except ConsoleError as busy:
                raise Refused("The agents are at work just now; withdraw again in a moment.") from busy
        yield


def _remove(participant_id: int) -> None:
    with writing() as session:
        participant, study = locked(session, participant_id)
        ids = own_runs(session, participant)
        had_conditions = bool(assignments(session, participant.id))
        place = joining.free_again(session, participant, Stage.WITHDRAWN) if had_conditions else None
        for row in assignments(session, place.id) if place else ():
            row.run_id = row.checks_run_id = row.began_ms = row.ended_ms = None
            row.status = AssignmentStatus.WAITING
            session.add(row)
        erasing.forget_probes(session, participant_id)
        session.delete(participant)
        session.flush()
        for run_id in ids:
            erasing.empty(session, session.get_one(tables.Run, run_id), f"withdrawn-{letters(12)}")
        audit_log.record(session, None, "participant withdrew", now_ms(), actor="study", subject=study.name)
    overwrite_freed(database_url())


def _anonymise(participant_id: int) -> None:
    with writing() as session:
        participant, study = locked(session, participant_id)
        ids, old, new = own_runs(session, participant), participant.code, f"W{letters(6)}"
        erasing.rename_reviewer(session, ids, old, new)
        for run_id in ids:
            run = session.get_one(tables.Run, run_id)
            run.name = f"withdrawn-{letters(12)}"
            session.add(run)
        session.execute(
            update(tables.Assignment)
            .where(col(tables.Assignment.participant_id) == participant_id)
            .where(col(tables.Assignment.status) == AssignmentStatus.WORKING)
            .values(status=AssignmentStatus.DONE, ended_ms=now_ms())
        )
        # Its number in the allocation would lead back to whoever had the place.
        highest = select(func.max(tables.Participant.number)).where(tables.Participant.study_id == study.id)
        participant.number = (session.exec(highest).one() or 0) + 1
        participant.code, participant.answers, participant.secret = new, "{}", None
        participant.completion_code, participant.stage = None, Stage.WITHDRAWN
        session.add(participant)
        audit_log.record(session, None, "participant withdrew", now_ms(), actor="study", subject=study.name)
