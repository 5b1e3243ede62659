"""Withdrawal from a study, which deletes the participant's data or removes every link to the person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from sqlalchemy import delete, update
from sqlmodel import Session, col, func, select

from console.auth import audit_log
from console.auth.audit_log import By, Door
from console.database import database_url, now_ms, reading, writing
from console.errors import ConsoleError, Refused, Unknown
from console.language import _
from console.runs.removal import remove_answers
from console.runs.trajectory_rows import task_spec
from console.runs.workers import lock_run
from console.studies.sessions import joining, next_item
from console.studies.sessions.answering import delete_answers
from console.studies.sessions.lifecycle import WITHDREW, design_of
from console.studies.sessions.stages import ParticipantStage, list_assignments, lock_participant, random_letters
from console.studies.sessions.steps import list_own_runs
from console.trajectory import Outcome
from console.trials.start import new_trial
from storage import tables
from storage.engine import overwrite_freed
from storage.queue import HALTED
from storage.run_counts import forget_reviewers
from storage.tables import TAKEN, AssignmentStatus, ItemStatus, ParticipantKind, SlotStatus

NOBODY = "withdrawn"
"""The reviewer's name in the remaining rows of a person who withdrew."""


def empty_run(session: Session, run: tables.Run, name: str) -> None:
    """Delete the data of the run, except its ledger with correct sums and the rows to which the ledger refers."""
    items = select(tables.Item.id).where(tables.Item.run_id == run.id)
    records = select(tables.Trajectory.id).where(tables.Trajectory.run_id == run.id)
    _refund(session, run)
    session.execute(delete(tables.Intent).where(col(tables.Intent.trajectory_id).in_(records)))
    remove_answers(session, items)
    slot, entry, item = tables.Slot, tables.LedgerEntry, tables.Item
    session.execute(update(slot).where(col(slot.item_id).in_(items)).values(reviewer=NOBODY))
    session.execute(update(entry).where(col(entry.item_id).in_(items)).values(reviewer=NOBODY))
    gone = {"status": ItemStatus.CANCELLED, "open_slots": 0, "verdict_id": None}
    session.execute(update(item).where(col(item.run_id) == run.id).values(**gone))
    for judged in (tables.AuditDraw, tables.Verdict):
        session.execute(delete(judged).where(col(judged.run_id) == run.id))
    audit_log.erase(session, [run], now_ms())
    forget_reviewers(session.connection())
    _drop_unspent(session, run)
    _hollow(session, run)
    run.name = name
    session.add(run)
    session.flush()


def rename_reviewer(session: Session, run_ids: Sequence[int], old: str, new: str) -> None:
    """Replace the reviewer's name in these runs, and delete drafts, notes and corrected lines."""
    items = select(tables.Item.id).where(col(tables.Item.run_id).in_(run_ids))
    for table in (tables.Slot, tables.Decision, tables.LedgerEntry):
        mine = (col(table.item_id).in_(items), col(table.reviewer) == old)
        session.execute(update(table).where(*mine).values(reviewer=new))
    forget_reviewers(session.connection())
    for written in (tables.Draft, tables.Note, tables.LineCorrection):
        session.execute(delete(written).where(col(written.item_id).in_(items)))


def _refund(session: Session, run: tables.Run) -> None:
    slot, item, budget = tables.Slot, tables.Item, tables.Budget
    held = select(slot, item.kind).join(item, col(item.id) == slot.item_id).where(item.run_id == run.id)
    for taken, kind in session.exec(held.where(col(slot.status).in_(TAKEN))).all():
        funds = session.get_one(budget, taken.budget_id)
        funds.used, funds.halted = funds.used - taken.units, funds.halted - (kind == HALTED)
        taken.status = SlotStatus.RELEASED
        refund = tables.LedgerEntry(
            budget_id=taken.budget_id,
            item_id=taken.item_id,
            slot_id=taken.id or 0,
            reviewer=NOBODY,
            entry="refund",
            reason="withdrawn",
            units=-taken.units,
            at_ms=now_ms(),
        )
        session.add_all((funds, taken, refund))
    session.flush()


def _drop_unspent(session: Session, run: tables.Run) -> None:
    item, record, body = tables.Item, tables.Trajectory, tables.TrajectoryBody
    told = select(tables.LedgerEntry.item_id)
    session.execute(delete(item).where(col(item.run_id) == run.id, col(item.id).not_in(told)))
    kept = select(item.trajectory_id).where(item.run_id == run.id)
    free = (col(record.run_id) == run.id, col(record.id).not_in(kept))
    session.execute(delete(body).where(col(body.trajectory_id).in_(select(record.id).where(*free))))
    session.execute(delete(record).where(*free))


def _hollow(session: Session, run: tables.Run) -> None:
    record, body = tables.Trajectory, tables.TrajectoryBody
    blank: dict[str, Any] = {
        "outcome": Outcome.FINISHED,
        "recorded_outcome": Outcome.FINISHED,
        "label": None,
        "n_steps": 0,
        "critical_action": None,
        "n_critical": 0,
        "source": "{}",
        "released_by": None,
        "carried_over": False,
    }
    session.execute(update(record).where(col(record.run_id) == run.id).values(**blank))
    for row in session.exec(select(record).where(record.run_id == run.id)).all():
        task = task_spec(session.get_one(tables.Task, row.task_id))
        text = new_trial(task, row.trial).to_json()
        session.execute(update(body).where(col(body.trajectory_id) == row.id).values(body=text))


def withdraw(participant_id: int, *, themselves: bool = False) -> None:
    """Withdraw the participant as stated in the consent; a repeated withdrawal has no effect.

    The audit log names the acting person. If participants withdraw themselves, the audit log uses a new pseudonym that
    is not linked to the person. Raise Refused if the place is free or the participant's agents are working.
    """
    with reading() as session:
        participant = session.get(tables.Participant, participant_id)
        if participant is None or participant.stage == ParticipantStage.WITHDRAWN:
            return
        if participant.stage == ParticipantStage.FREE:
            raise Refused(
                f"The place {participant.code} has no participant to withdraw. Choose a place that a person has taken."
            )
        ids = list_own_runs(session, participant)
        runs = [session.get_one(tables.Run, run_id) for run_id in ids]
        if any(run.hold for run in runs):
            raise Refused(_("This data is on legal hold, so it cannot be erased now. Ask the team of the study."))
        removes = design_of(session.get_one(tables.Study, participant.study_id)).consent.withdrawal == "remove"
    with _lock_runs(runs):
        with reading() as session:
            next_item.release_claims(session, ids, participant.code, now_ms())
        leave = _remove if removes else _anonymise
        leave(participant_id, themselves)


def find_by_code(session: Session, study: tables.Study, code: str) -> tables.Participant:
    """Return the participant with this code; if there is none, raise Unknown with the list of codes."""
    person = tables.Participant
    known = session.exec(select(person).where(person.study_id == study.id).order_by(col(person.number))).all()
    found = next((one for one in known if one.code == code), None)
    if found is None:
        raise Unknown("participant", code, [one.code for one in known])
    return found


@contextmanager
def _lock_runs(runs: Sequence[tables.Run]) -> Iterator[None]:
    """Lock these runs, so that their agents cannot start; raise Refused if the agents are working."""
    with ExitStack() as held:
        for run in runs:
            try:
                held.enter_context(lock_run(run))
            except ConsoleError as busy:
                raise Refused(_("The agents are still working. Confirm the withdrawal again in a moment.")) from busy
        yield


def _remove(participant_id: int, themselves: bool) -> None:
    with writing() as session:
        participant, study = lock_participant(session, participant_id)
        ids = list_own_runs(session, participant)
        is_person = participant.kind == ParticipantKind.HUMAN
        had_conditions = bool(list_assignments(session, participant.id))
        place = joining.free_again(session, participant, ParticipantStage.WITHDRAWN) if had_conditions else None
        for row in list_assignments(session, place.id) if place else ():
            row.run_id = row.checks_run_id = row.began_ms = row.ended_ms = None
            row.status = AssignmentStatus.WAITING
            session.add(row)
        session.execute(delete(tables.Probe).where(col(tables.Probe.participant_id) == participant_id))
        delete_answers(session, participant_id)
        session.delete(participant)
        session.flush()
        for run_id in ids:
            empty_run(session, session.get_one(tables.Run, run_id), f"withdrawn-{random_letters(12)}")
        _tell(session, study, _pseudonym() if themselves else None, is_person=is_person)
    overwrite_freed(database_url())


def _tell(session: Session, study: tables.Study, pseudonym: str | None, *, is_person: bool) -> None:
    """Record the withdrawal without the network address, which would identify the person."""
    by = By(pseudonym, Door.BROWSER) if pseudonym else None
    detail = None if is_person else {"simulated": True}
    audit_log.record(session, None, WITHDREW, now_ms(), by=by, subject=study.name, detail=detail)


def _pseudonym() -> str:
    return f"W{random_letters(6)}"


def _anonymise(participant_id: int, themselves: bool) -> None:
    with writing() as session:
        participant, study = lock_participant(session, participant_id)
        ids, old, new = list_own_runs(session, participant), participant.code, _pseudonym()
        rename_reviewer(session, ids, old, new)
        delete_answers(session, participant_id)
        audit_log.erase(session, [session.get_one(tables.Run, run_id) for run_id in ids], now_ms(), actor=old)
        for run_id in ids:
            run = session.get_one(tables.Run, run_id)
            run.name = f"withdrawn-{random_letters(12)}"
            session.add(run)
        session.execute(
            update(tables.Assignment)
            .where(col(tables.Assignment.participant_id) == participant_id)
            .where(col(tables.Assignment.status) == AssignmentStatus.WORKING)
            .values(status=AssignmentStatus.DONE, ended_ms=now_ms())
        )
        # The number in the allocation would identify the person.
        highest = select(func.max(tables.Participant.number)).where(tables.Participant.study_id == study.id)
        participant.number = (session.exec(highest).one() or 0) + 1
        participant.code, participant.answers, participant.secret = new, "{}", None
        participant.completion_code, participant.stage = None, ParticipantStage.WITHDRAWN
        participant.outside_id = None
        session.add(participant)
        _tell(session, study, new if themselves else None, is_person=participant.kind == ParticipantKind.HUMAN)
