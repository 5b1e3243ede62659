"""Checks of the gate by their ids, which only their own agents know, for callers that hold no request."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, func, select

from console.database import now_ms, reading, writing
from console.errors import Refused, Unknown
from console.gate import store
from console.gate.request import Asker, CheckRequest
from console.gate.resolve import OpenCheck, begin, stored_answer
from console.gate.types import GateDecision, Reason
from console.gate.wait import Wait
from console.trajectory import Outcome, from_json
from storage import tables

_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class CheckId:
    """The name of a check: 128 random bits, written as hexadecimal digits, which cannot be guessed."""

    token: str

    def __str__(self) -> str:
        return self.token


def check_id(text: str) -> CheckId:
    """The check that such a text names; raises Unknown."""
    if not _ID.fullmatch(text):
        raise Unknown("check", text)
    return CheckId(text)


def check_id_of_item(session: Session, item_id: int) -> CheckId | None:
    """The check whose item it is, None where no agent asked about it."""
    ask = tables.Ask
    token = session.exec(select(ask.token).where(ask.item_id == item_id).order_by(col(ask.id).desc())).first()
    return None if token is None else CheckId(token)


def reopened(url: str, at: CheckId, asker: Asker, *, beats: bool) -> Wait | GateDecision:
    """The wait for the answer to a check, or the reply where there is one; raises Unknown for another agent's.

    Whatever the asking agent said, a check that nobody answers in time lets nothing run here.
    """
    with reading(url) as session:
        check = _opened(session, at, asker)
        if check.ask.item_id is None:
            return _answered(session, check)
        session.expunge_all()
    # Who begins to wait with a heartbeat says so at the first look.
    beaten_ms = check.ask.heartbeat_ms if check.ask.beats or not beats else 0
    return Wait(url, check, check.ask.deadline_ms or 0, beaten_ms=beaten_ms, beats=beats)


def begun(url: str, at: CheckId, asker: Asker) -> GateDecision:
    """The go-ahead with its intent written; a second time it is `already_handed_out` and its execution unknown.

    Raises Unknown for another agent's check, Refused where there is no go-ahead.
    """
    try:
        with writing(url) as session:
            check = _opened(session, at, asker)
            decision = begin(session, check, now_ms())
            if decision.reason is Reason.ALREADY_HANDED_OUT and decision.intent_id is not None:
                store.lose(session, check.run, decision.intent_id, now_ms())
            return decision
    except IntegrityError:
        # On a server, another process of the agent began in the same moment.
        with reading(url) as session:
            return _answered(session, _opened(session, at, asker))


def record_result(session: Session, at: CheckId, asker: Asker, observation: str, now_ms: int) -> bool:
    """Stores what came of the action; False where it was in already.

    Raises Unknown for another agent's check and Refused where no action has begun.
    """
    check = _opened(session, at, asker)
    intent = store.intent_of(session, check.request, check.ask.trajectory_id)
    if intent is None and check.ask.action is not None:
        raise Refused(f"Check {at} has not begun: POST /api/v1/checks/{at}/begin just before the action runs.")
    if intent is None:
        raise Refused(f"Check {at} has no go-ahead, so there is no result to record.")
    if intent.finished_ms is not None:
        return False
    store.finish(session, check.run, intent.id or 0, observation, now_ms)
    return True


def oldest_waiting_ms(session: Session) -> int | None:
    """When the oldest item came in that still lacks a review (ms since 1970), over all runs."""
    return session.exec(select(func.min(tables.Item.created_ms)).where(tables.Item.open_slots > 0)).one()


def _opened(session: Session, at: CheckId, asker: Asker) -> OpenCheck:
    ask = session.exec(select(tables.Ask).where(tables.Ask.token == at.token)).first()
    if ask is None or ask.agent_id != asker.agent_id:
        raise Unknown("check", str(at))
    run = session.get_one(tables.Run, ask.run_id)
    return OpenCheck(run, replace(_request(session, ask), asker=asker), ask)


def _answered(session: Session, check: OpenCheck) -> GateDecision:
    answer = stored_answer(session, check)
    if answer is None:
        raise Unknown("check", check.ask.token)
    return answer


def _request(session: Session, ask: tables.Ask) -> CheckRequest:
    """The request as it came in, cut back where the trajectory has gone on since."""
    record = from_json(session.get_one(tables.TrajectoryBody, ask.trajectory_id).body)
    action = record.critical_action or ""
    if len(record.steps) > ask.step:
        taken = record.steps[ask.step]
        action = str(taken.extra.get("instead_of") or taken.action)
    before = record.steps[: ask.step]
    asked = replace(record, steps=before, critical_action=action, outcome=Outcome.PAUSED)
    return CheckRequest(asked, action, True, ask.digest)
