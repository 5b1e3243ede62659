"""Page events: reports from a participant's browser about the page of an item, validated before they are stored.

Away times (another tab or window) and idle times are reported in every study. Opened steps, scrolling and keys are
reported only if the design has an interaction trace; the consent page then mentions the trace. Typed text is never
reported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlmodel import Session, col, func, select

from console.auth import audit_log
from console.database import database_url, now_ms, reading, writing
from console.studies.sessions import joining
from console.studies.sessions.lifecycle import design_of
from console.studies.sessions.stages import explain_closed
from console.studies.sessions.steps import list_own_runs
from storage import tables
from storage.tables import SlotStatus

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
