"""Page events: what a participant's browser tells of the page of an item, checked before it is kept.

Away (another tab or window) and idle times are told in every study; steps opened, scrolls and keys only where the
design asks for an interaction trace, which the consent page then says. No text that somebody types is ever among them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlmodel import Session, col, func, select

from console.database import now_ms, writing
from console.studies.sessions import joining
from console.studies.sessions.lifecycle import design_of
from console.studies.sessions.stages import not_open
from console.studies.sessions.steps import own_runs
from storage import tables

ALWAYS = ("away", "idle")
TRACED = ("opened", "closed", "scrolled", "key")
IDLE_S = 30
"""Without a key, a click, a scroll or a move of the mouse for so long somebody counts as idle."""

_MOST_AT_ONCE = 200
_MOST = 50_000
_LONGEST_MS = 24 * 3_600_000
_DETAIL = re.compile(r"[a-z0-9+?.]{0,20}")


def keep_events(secret: str, sent: Mapping[str, Any]) -> bool:
    """Keeps the events that a participant's page sent of one item; False where it is none of theirs, or no such thing.

    What cannot be a page event is left out: it comes from a browser, where anybody may send anything.
    """
    item_id, events = sent.get("item"), sent.get("events")
    if not isinstance(item_id, int) or not isinstance(events, list):
        return False
    with writing() as session:
        participant = joining.found(session, secret)
        study = session.get(tables.Study, participant.study_id) if participant else None
        item = session.get(tables.Item, item_id) if abs(item_id) < 2**62 else None
        if participant is None or study is None or item is None or not_open(study):
            return False
        if item.run_id not in own_runs(session, participant):
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
    """The event as a row of nobody's yet, None where it is none."""
    if not isinstance(event, dict) or event.get("kind") not in kinds:
        return None
    detail, times = event.get("detail", ""), [event.get("ms"), event.get("lasted_ms", 0)]
    if not isinstance(detail, str) or not _DETAIL.fullmatch(detail):
        return None
    if not all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= _LONGEST_MS for one in times):
        return None
    told = {"kind": event["kind"], "detail": detail, "ms": times[0], "lasted_ms": times[1]}
    return tables.PageEvent(**told, at_ms=now_ms())
