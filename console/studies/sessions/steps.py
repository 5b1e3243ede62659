"""The steps of a participant through the study, and the reports from a participant's browser about the page of an item.

Steps can be repeated; steps out of order are refused. Reports are validated before they are stored. Away times (another
tab or window) and idle times are reported in every study. Opened steps, scrolling and keys are reported only if the
design has an interaction trace; the consent page then mentions the trace. Typed text is never reported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlmodel import Session, col, func, select

from console.auth import audit_log
from console.database import database_url, now_ms, reading, review_queue, writing
from console.errors import Refused, Unknown
from console.language import _
from console.review import decisions
from console.studies.sessions import condition_run, joining, next_item, seeded_items
from console.studies.sessions.answering import end_part, leave_part
from console.studies.sessions.condition_run import Progress, is_attended, is_playing
from console.studies.sessions.lifecycle import design_of
from console.studies.sessions.position import OVER, TOO_EARLY, Position, current_assignment, read_position, washout_end
from console.studies.sessions.stages import (
    ParticipantStage,
    explain_closed,
    is_open,
    list_assignments,
    lock_participant,
    next_stage,
    refuse_unless_open,
)
from storage import tables
from storage.queue import Claim
from storage.tables import SlotStatus, StudyStatus


def find_position(participant_id: int, at_ms: int | None = None) -> Position:
    """Return the participant's position with the next item claimed; create the practice items first if necessary."""
    with reading() as session:
        place = read_position(session, participant_id, now_ms() if at_ms is None else at_ms)
    if place is not None:
        return place
    seeded_items.create_practice(participant_id)
    _leave_practice(participant_id)
    return find_position(participant_id, at_ms)


def acknowledge(participant_id: int) -> None:
    """Move on from the explanation of a practice item; after the last practice item, the conditions begin."""
    with reading() as session:
        participant = session.get_one(tables.Participant, participant_id)
        refuse_unless_open(session.get_one(tables.Study, participant.study_id))
        run_id = participant.practice_run_id if participant.stage == ParticipantStage.PRACTICE else None
    if run_id is None:
        return
    if explained := review_queue().due(run_id=run_id, now_ms=now_ms()):
        review_queue().mark_delivered(decision_ids=explained, now_ms=now_ms())
    _leave_practice(participant_id)


def begin(participant_id: int, progress: Progress | None = None) -> None:
    """Begin the introduced condition: end a break if there is one, and let the agents play their first trials."""
    end_break(participant_id)
    with reading() as session:
        _who, rows = _find_open_conditions(session, participant_id)
    now = current_assignment(rows)
    if now is None:
        return
    _play_alone([row for row in rows if not is_attended(now) or row.position < now.position], progress)
    if not is_attended(now):
        _go_on(participant_id)
        return
    run = condition_run.begin(now.id or 0, progress)
    if is_playing(run):
        seeded_items.create_checks(now.id or 0)
        condition_run.mark_playing(run, playing=False)


def hand_over(participant_id: int, progress: Progress | None = None) -> None:
    """End the round: the agents get the decisions and try again. Raise Refused if the round still has items."""
    with reading() as session:
        participant, rows = _find_open_conditions(session, participant_id)
        now = current_assignment(rows)
        run = session.get(tables.Run, now.run_id) if now and now.run_id else None
        fresh = now if run and not is_playing(run) else None
        if fresh and run and next_item.list_items_ahead(session, participant.code, fresh, run):
            raise Refused(_("This round still has items for you. Decide on them first."))
    if now is None:
        _go_on(participant_id)
    elif not is_attended(now):
        begin(participant_id, progress)
    elif run:
        _hand_over(participant, now, run, progress)


def end_break(participant_id: int) -> None:
    """End the break; raise Refused, worded for the participant, if the wash-out is not over."""
    with writing() as session:
        participant, study = lock_participant(session, participant_id)
        refuse_unless_open(study)
        if participant.stage == ParticipantStage.BREAK:
            if washout_end(design_of(study), participant, list_assignments(session, participant_id)) > now_ms():
                raise Refused(_(TOO_EARLY))
            participant.stage = ParticipantStage.WORKING
            session.add(participant)


def find_own_claim(session: Session, participant: tables.Participant, item_id: int) -> Claim:
    """Return the participant's claim on an item of their own runs; raise Refused for any other item."""
    item = session.get(tables.Item, item_id)
    if item is None or item.run_id not in list_own_runs(session, participant):
        raise Refused(_("That item is not assigned to you. Reload the page."))
    return decisions.get_claim(session, item_id, participant.code)


def refuse_late(session: Session, participant: tables.Participant) -> None:
    """Raise Refused, worded for the participant, if the study or the participant's part has ended."""
    if participant.stage in OVER:
        raise Refused(_("Your participation has ended, so your input was not recorded. You can close this page."))
    study = session.get_one(tables.Study, participant.study_id)
    if study.status != StudyStatus.OPEN:
        was = _(
            "The study was {status} in the meantime, so your input was not sent. If you wrote a text, it is saved as a "
            "draft."
        )
        raise Refused(was.format(status=_(study.status)))


def list_own_runs(session: Session, participant: tables.Participant) -> tuple[int, ...]:
    """Return the ids of all runs of the participant."""
    rows = list_assignments(session, participant.id)
    ids = [participant.practice_run_id, *(row.run_id for row in rows), *(row.checks_run_id for row in rows)]
    return tuple(run_id for run_id in ids if run_id is not None)


def _find_open_conditions(session: Session, participant_id: int) -> tuple[tables.Participant, list[tables.Assignment]]:
    """Return the participant and their open conditions, in order; raise Refused in another stage."""
    participant = session.get(tables.Participant, participant_id)
    if participant is None:
        raise Unknown("participant", participant_id)
    if participant.stage in OVER:
        raise Refused(_("You have finished. Thank you."))
    refuse_unless_open(session.get_one(tables.Study, participant.study_id))
    if participant.stage not in (ParticipantStage.WORKING, ParticipantStage.BREAK):
        raise Refused(_("Another step of the study comes first. Reload the page to see this step."))
    return participant, [row for row in list_assignments(session, participant_id) if is_open(row)]


def _hand_over(
    participant: tables.Participant, now: tables.Assignment, run: tables.Run, progress: Progress | None
) -> None:
    condition_run.mark_playing(run, playing=True)
    seeded_items.hand_over(now.id or 0, participant.code)
    condition_run.hand_over(run, now, participant.code, progress)
    with reading() as session:
        ahead = next_item.list_items_ahead(session, participant.code, now, run)
    if not ahead:
        with reading() as session:
            rows = [row for row in list_assignments(session, participant.id) if is_open(row)]
        # Before the last attended condition ends, the remaining unattended ones are played.
        if sum(map(is_attended, rows)) == 1:
            _play_alone([row for row in rows if not is_attended(row)], progress)
        _go_on(participant.id or 0, ended=now.id)


def _play_alone(rows: Sequence[tables.Assignment], progress: Progress | None) -> None:
    for row in rows:
        condition_run.play_alone(row.id or 0, progress)


def _go_on(participant_id: int, ended: int | None = None) -> None:
    """Mark the ended condition, if any, as done; move on to questionnaires, a break, the next condition or the end."""
    with writing() as session:
        participant, study = lock_participant(session, participant_id)
        if ended is not None:
            condition_run.mark_done(session, session.get_one(tables.Assignment, ended))
        if participant.stage != ParticipantStage.WORKING:
            return
        leave = leave_part if ended is None else end_part
        leave(session, participant, design_of(study))
        session.add(participant)


def _leave_practice(participant_id: int) -> None:
    with writing() as session:
        participant, study = lock_participant(session, participant_id)
        if participant.stage != ParticipantStage.PRACTICE:
            return
        answers = [
            decisions.find_decision_on_item(session, probe.item_id, participant.code)
            for probe in next_item.practice_probes(session, participant)
        ]
        if all(answer and answer.delivered_ms is not None for answer in answers):
            participant.stage = next_stage(design_of(study), ParticipantStage.PRACTICE)
            session.add(participant)


ALWAYS = ("away", "idle")
TRACED = ("opened", "closed", "scrolled", "key")
IDLE_S = 30
"""The seconds without a key press, click, scroll or mouse movement after which a person counts as idle."""

_MOST_AT_ONCE = 200
_MOST = 50_000
_LONGEST_MS = 24 * 3_600_000
_DETAIL = re.compile(r"[a-z0-9+?.]{0,20}")


def keep_events(secret: str, sent: Mapping[str, Any]) -> bool:
    """Store the valid page events of an item from a browser; return False if no event can be stored."""
    item_id, events = sent.get("item"), sent.get("events")
    if not isinstance(item_id, int) or not isinstance(events, list):
        return False
    with writing() as session:
        participant = joining.find_participant(session, secret)
        study = session.get(tables.Study, participant.study_id) if participant else None
        item = session.get(tables.Item, item_id) if abs(item_id) < 2**62 else None
        if participant is None or study is None or item is None or explain_closed(study):
            return False
        if item.run_id not in list_own_runs(session, participant):
            return False
        kinds = (*ALWAYS, *(TRACED if design_of(study).interaction_trace else ()))
        room = min(_MOST_AT_ONCE, _MOST - _count(session, participant))
        for one in events[: max(room, 0)]:
            if row := _row(one, kinds):
                row.study_id, row.participant_id, row.item_id = study.id or 0, participant.id or 0, item_id
                session.add(row)
    return True


def _count(session: Session, participant: tables.Participant) -> int:
    event = tables.PageEvent
    return session.exec(select(func.count()).where(col(event.participant_id) == participant.id)).one()


def _row(event: Any, kinds: Sequence[str]) -> tables.PageEvent | None:
    """Parse a page event; return None if it is invalid."""
    if not isinstance(event, dict) or event.get("kind") not in kinds:
        return None
    detail, times = event.get("detail", ""), [event.get("ms"), event.get("lasted_ms", 0)]
    if not isinstance(detail, str) or not _DETAIL.fullmatch(detail):
        return None
    if not all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= _LONGEST_MS for one in times):
        return None
    told = {"kind": event["kind"], "detail": detail, "ms": times[0], "lasted_ms": times[1]}
    return tables.PageEvent(**told, at_ms=now_ms())


SIGNAL_S = 10
"""The seconds between the signals of an open page."""

GONE_MS = 25_000
"""The longest gap between signals in ms that counts as an open page; browsers may suspend hidden pages."""

CLOSED = "page closed"
"""The event for a time without an open page; its detail holds `item`, `from_ms` and `until_ms`."""

_heard: dict[tuple[str, int], int] = {}


def note_signal(participant: tables.Participant, at_ms: int | None = None) -> None:
    """Record that the participant has an open page; if none was open before, store this time for the claimed item."""
    at_ms, who = now_ms() if at_ms is None else at_ms, (database_url(), participant.id or 0)
    before, _heard[who] = _heard.get(who), at_ms
    if before is not None and at_ms - before <= GONE_MS:
        return
    with reading() as session:
        held = _held(session, participant)
    if held is None:
        return
    slot, run = held
    # If this process has received no signal yet, the claim was last renewed when a page was rendered.
    since = max(slot.claimed_ms, slot.lease_until_ms - run.lease_ms if before is None else before)
    if at_ms - since > GONE_MS:
        gap = {"item": slot.item_id, "from_ms": since, "until_ms": at_ms}
        with writing() as session:
            audit_log.record(session, run, CLOSED, at_ms, by="study", subject=f"item {slot.item_id}", detail=gap)


def _held(session: Session, participant: tables.Participant) -> tuple[tables.Slot, tables.Run] | None:
    slot, item, run = tables.Slot, tables.Item, tables.Run
    statement = (
        select(slot, run)
        .join(item, col(item.id) == slot.item_id)
        .join(run, col(run.id) == item.run_id)
        .where(slot.reviewer == participant.code, slot.status == SlotStatus.CLAIMED)
        .where(col(run.id).in_(list_own_runs(session, participant)))
        .order_by(col(slot.claimed_ms).desc())
    )
    return session.exec(statement).first()
