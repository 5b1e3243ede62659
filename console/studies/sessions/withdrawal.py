"""Withdrawal from a study: everything of the participant is removed, or stays without a way back to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from sqlalchemy import delete, update
from sqlmodel import Session, col, func, select

from console.auth.origin import By, Door
from console.database import database_url, now_ms, reading, writing
from console.errors import ConsoleError, Refused, Unknown
from console.language import _
from console.runs import audit_log
from console.runs.removal import remove_answers
from console.runs.trajectory_rows import task_spec
from console.studies.sessions import joining, next_item
from console.studies.sessions.answering import forget_answers
from console.studies.sessions.lifecycle import design_of
from console.studies.sessions.stages import ParticipantStage, assignments, letters, locked
from console.studies.sessions.steps import own_runs
from console.trajectory import Outcome
from console.trials.run_lock import alone
from console.trials.start import fresh
from storage import tables
from storage.engine import overwrite_freed
from storage.queue import HALTED
from storage.tables import AssignmentStatus, ItemStatus, SlotStatus

NOBODY = "withdrawn"
"""The reviewer in what stays of somebody who is gone."""

_HELD = (SlotStatus.CLAIMED, SlotStatus.DECIDED)


def empty(session: Session, run: tables.Run, name: str) -> None:
    """Leaves nothing of the run but its ledger, which still adds up, and what that points at, without content."""
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
    session.execute(delete(tables.Verdict).where(col(tables.Verdict.run_id) == run.id))
    audit_log.erase(session, [run], now_ms())
    _drop_unspent(session, run)
    _hollow(session, run)
    run.name = name
    session.add(run)
    session.flush()


def forget_probes(session: Session, participant_id: int) -> None:
    """Forgets which items of known answer the participant had."""
    session.execute(delete(tables.Probe).where(col(tables.Probe.participant_id) == participant_id))


def rename_reviewer(session: Session, run_ids: Sequence[int], old: str, new: str) -> None:
    """Puts the new name wherever the old one stands in these runs; drafts go."""
    items = select(tables.Item.id).where(col(tables.Item.run_id).in_(run_ids))
    for table in (tables.Slot, tables.Decision, tables.LedgerEntry):
        mine = (col(table.item_id).in_(items), col(table.reviewer) == old)
        session.execute(update(table).where(*mine).values(reviewer=new))
    for written in (tables.Draft, tables.Note):
        session.execute(delete(written).where(col(written.item_id).in_(items)))


def _refund(session: Session, run: tables.Run) -> None:
    """Empties every place with a refund, so that budget and ledger go on agreeing."""
    slot, item, budget = tables.Slot, tables.Item, tables.Budget
    held = select(slot, item.kind).join(item, col(item.id) == slot.item_id).where(item.run_id == run.id)
    for taken, kind in session.exec(held.where(col(slot.status).in_(_HELD))).all():
        funds = session.get_one(budget, taken.budget_id)
        funds.used, funds.halted = funds.used - taken.units, funds.halted - (kind == HALTED)
        taken.status = SlotStatus.RELEASED
        session.add_all((funds, taken, _entry(taken, now_ms())))
    session.flush()


def _entry(taken: tables.Slot, at_ms: int) -> tables.LedgerEntry:
    return tables.LedgerEntry(
        budget_id=taken.budget_id,
        item_id=taken.item_id,
        slot_id=taken.id or 0,
        reviewer=NOBODY,
        entry="refund",
        reason="withdrawn",
        units=-taken.units,
        at_ms=at_ms,
    )


def _drop_unspent(session: Session, run: tables.Run) -> None:
    """Deletes items and trials that the ledger does not point at."""
    item, record, body = tables.Item, tables.Trajectory, tables.TrajectoryBody
    told = select(tables.LedgerEntry.item_id)
    session.execute(delete(item).where(col(item.run_id) == run.id, col(item.id).not_in(told)))
    kept = select(item.trajectory_id).where(item.run_id == run.id)
    free = (col(record.run_id) == run.id, col(record.id).not_in(kept))
    session.execute(delete(body).where(col(body.trajectory_id).in_(select(record.id).where(*free))))
    session.execute(delete(record).where(*free))


def _hollow(session: Session, run: tables.Run) -> None:
    """Leaves the trials that are still there as if they had never begun."""
    record, body = tables.Trajectory, tables.TrajectoryBody
    blank: dict[str, Any] = {
        "outcome": Outcome.FINISHED,
        "recorded_outcome": Outcome.FINISHED,
        "label": None,
        "n_steps": 0,
    }
    blank |= {"critical_action": None, "n_critical": 0, "source": "{}", "released_by": None, "carried_over": False}
    session.execute(update(record).where(col(record.run_id) == run.id).values(**blank))
    for row in session.exec(select(record).where(record.run_id == run.id)).all():
        task = task_spec(session.get_one(tables.Task, row.task_id))
        text = fresh(task, row.trial).to_json()
        session.execute(update(body).where(col(body.trajectory_id) == row.id).values(body=text))


def withdraw(participant_id: int, *, themselves: bool = False) -> None:
    """Takes the participant out of the study as its consent says; who is gone already stays so.

    The audit names whoever acts; where they do it `themselves`, a fresh pseudonym that leads nowhere stands for them.
    Raises Refused for a place that nobody has, and while their agents are at work.
    """
    with reading() as session:
        participant = session.get(tables.Participant, participant_id)
        if participant is None or participant.stage == ParticipantStage.WITHDRAWN:
            return
        if participant.stage == ParticipantStage.FREE:
            raise Refused(f"Nobody has the place of {participant.code}, so nobody can withdraw from it.")
        ids = own_runs(session, participant)
        runs = [session.get_one(tables.Run, run_id) for run_id in ids]
        removes = design_of(session.get_one(tables.Study, participant.study_id)).consent.withdrawal == "remove"
    with _still(runs):
        with reading() as session:
            next_item.put_down(session, ids, participant.code, now_ms())
        if removes:
            _remove(participant_id, themselves)
        else:
            _anonymise(participant_id, themselves)


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
                raise Refused(_("The agents are at work just now; withdraw again in a moment.")) from busy
        yield


def _remove(participant_id: int, themselves: bool) -> None:
    with writing() as session:
        participant, study = locked(session, participant_id)
        ids = own_runs(session, participant)
        had_conditions = bool(assignments(session, participant.id))
        place = joining.free_again(session, participant, ParticipantStage.WITHDRAWN) if had_conditions else None
        for row in assignments(session, place.id) if place else ():
            row.run_id = row.checks_run_id = row.began_ms = row.ended_ms = None
            row.status = AssignmentStatus.WAITING
            session.add(row)
        forget_probes(session, participant_id)
        forget_answers(session, participant_id)
        session.delete(participant)
        session.flush()
        for run_id in ids:
            empty(session, session.get_one(tables.Run, run_id), f"withdrawn-{letters(12)}")
        _tell(session, study, _pseudonym() if themselves else None)
    overwrite_freed(database_url())


def _tell(session: Session, study: tables.Study, pseudonym: str | None) -> None:
    """Records the withdrawal, from no address: that would lead back."""
    by = By(pseudonym, Door.BROWSER) if pseudonym else None
    audit_log.record(session, None, "participant withdrew", now_ms(), by=by, subject=study.name)


def _pseudonym() -> str:
    return f"W{letters(6)}"


def _anonymise(participant_id: int, themselves: bool) -> None:
    with writing() as session:
        participant, study = locked(session, participant_id)
        ids, old, new = own_runs(session, participant), participant.code, _pseudonym()
        rename_reviewer(session, ids, old, new)
        forget_answers(session, participant_id)
        audit_log.erase(session, [session.get_one(tables.Run, run_id) for run_id in ids], now_ms(), actor=old)
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
        participant.completion_code, participant.stage = None, ParticipantStage.WITHDRAWN
        participant.outside_id = None
        session.add(participant)
        _tell(session, study, new if themselves else None)
