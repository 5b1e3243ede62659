"""Open checks: waiting for a decision, access to a check by its id, and earlier answers that hold for a request.

An earlier answer is a rejection in the same task, or an answer that a restore carried over.

Only the agent that submitted a check receives its id.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NewType, Protocol

from sqlalchemy import BindParameter, Boolean, Integer, Select, and_, bindparam, or_
from sqlalchemy import select as sa_select
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlmodel import Session, col, func, select, update

from console.database import now_ms, reading, review_queue, writing
from console.errors import Refused, Unknown
from console.gate import store
from console.gate.request import Asker, CheckRequest, GateDecision, Reason
from console.gate.resolve import (
    STOPPED,
    WORDS,
    OpenCheck,
    WaitState,
    begin,
    find_stored_answer,
    list_quiet,
    may_have_answer,
    resolve,
)
from console.review.access import get_review_terms
from console.review.resolution import feedback_to_agent
from console.runs import is_current
from console.trajectory import Outcome, from_json
from console.trajectory.checkpoints import digest
from storage import tables
from storage.errors import StorageError
from storage.tables import DecisionKind

HEARTBEAT_MS = 2_000
_ID_OF_REPLY = "Use the id from the reply to your submission."
_ID = re.compile(r"[0-9a-f]{32}")
_log = logging.getLogger(__name__)


class Cancellation(Protocol):
    """A signal to stop waiting: a threading.Event or any object like it."""

    def is_set(self) -> bool:
        """Return whether the wait has to stop."""
        ...


@dataclass(slots=True)
class Wait:
    """The wait of one agent for one decision until `deadline_ms`; `beats` is true if the agent sends heartbeats."""

    url: str
    check: OpenCheck
    deadline_ms: int
    cancel: Cancellation | None = None
    beaten_ms: int = 0
    beats: bool = True
    _gives_up_s: float = field(init=False)

    def __post_init__(self) -> None:
        # Measured here, so that a clock that is set back does not extend the wait.
        self._gives_up_s = time.monotonic() + (self.deadline_ms - now_ms()) / 1_000

    def look(self) -> GateDecision | None:
        """Return the decision, or None if the check is pending.

        Raise a database error only after the deadline or a cancellation; log earlier errors.
        """
        at_ms = now_ms()
        late = at_ms >= self.deadline_ms or time.monotonic() >= self._gives_up_s
        cancelled = self.cancel is not None and self.cancel.is_set()
        try:
            if late or cancelled or self._look_for_answer(at_ms):
                return self._resolve(WaitState(at_ms, late, cancelled))
            self._beat(at_ms)
        except (DBAPIError, StorageError) as away:
            if late or cancelled:
                raise
            _log.warning("The gate could not reach its database (%s) and tries again.", away)
        return None

    def is_over(self, at_ms: int) -> bool:
        """Return whether the wait has ended at this time or is cancelled."""
        is_late = at_ms >= self.deadline_ms or time.monotonic() >= self._gives_up_s
        return is_late or (self.cancel is not None and self.cancel.is_set())

    def is_beat_due(self, at_ms: int) -> bool:
        """Return whether the next heartbeat is due."""
        return not 0 <= at_ms - self.beaten_ms < HEARTBEAT_MS

    def withdraw(self) -> GateDecision | None:
        """Stop waiting and remove the item from the queue unless the item is decided."""
        return self._resolve(WaitState(now_ms(), cancelled=True))

    def _look_for_answer(self, at_ms: int) -> bool:
        with reading(self.url) as session:
            ask = find_ask(session, self.check.ask.token)
            found = ask is None or may_have_answer(session, ask.item_id or 0, at_ms)
        if found:
            # An expired claim releases its unit, so the budget may not be spent after all.
            review_queue(self.url).sweep(now_ms=at_ms)
        return found

    def _resolve(self, state: WaitState) -> GateDecision | None:
        with writing(self.url) as session:
            ask = find_ask(session, self.check.ask.token)
            if ask is None:
                gone = "This check no longer exists: the console was restored from a backup, or its run was deleted."
                return replace(_void(self.check), feedback=f"{gone} Submit it again.")
            return resolve(session, replace(self.check, ask=ask), state)

    def _beat(self, at_ms: int) -> None:
        if self.is_beat_due(at_ms):
            _beat_all(self.url, [self], at_ms)


def find_news(url: str, waits: Sequence[Wait]) -> list[Wait]:
    """Send the heartbeats of all waits of a database, and return the waits for which `look` may find a decision.

    The number of statements does not depend on the number of waits. If the database is unreachable, return the ended
    waits.
    """
    at_ms = now_ms()
    over = [wait for wait in waits if wait.is_over(at_ms)]
    try:
        with reading(url) as session:
            quiet = list_quiet(session, [wait.check.ask.token for wait in waits])
        _beat_all(url, [wait for wait in waits if wait.check.ask.token in quiet and wait.is_beat_due(at_ms)], at_ms)
    except (DBAPIError, StorageError) as away:
        _log.warning("The gate could not reach its database (%s) and tries again.", away)
        return over
    return [wait for wait in waits if wait.check.ask.token not in quiet or wait in over]


def _beat_all(url: str, waits: Sequence[Wait], at_ms: int) -> None:
    """Store the heartbeats of these waits in one transaction."""
    if not waits:
        return
    for wait in waits:
        wait.beaten_ms = at_ms
    with writing(url) as session:
        ask = tables.Ask
        for beats in (True, False):
            beaten = {"heartbeat_ms": at_ms} | ({"beats": True} if beats else {})
            tokens = [wait.check.ask.token for wait in waits if wait.beats is beats]
            if tokens:
                session.execute(update(ask).where(col(ask.token).in_(tokens)).values(**beaten))


def find_ask(session: Session, token: str) -> tables.Ask | None:
    """Return the row of table `ask` of a check, or None if a restore or a deletion has removed the row.

    The row is found by its token, because row numbers are reused after a restore.
    """
    return session.exec(select(tables.Ask).where(tables.Ask.token == token)).first()


def _void(check: OpenCheck) -> GateDecision:
    return GateDecision(False, check.request.action, WORDS[Reason.VOID], Reason.VOID, check_id=check.ask.token)


CheckId = NewType("CheckId", str)
"""The id of a check: 128 random bits as hexadecimal digits."""


def check_id(text: str) -> CheckId:
    """Parse the id of a check; raise Unknown if the text is not a valid id."""
    if not _ID.fullmatch(text):
        raise Unknown("check", text, by="id", advice=_ID_OF_REPLY)
    return CheckId(text)


def check_id_of_item(session: Session, item_id: int) -> CheckId | None:
    """Return the id of the latest check that led to an item, or None if the item has no check."""
    ask = tables.Ask
    token = session.exec(select(ask.token).where(ask.item_id == item_id).order_by(col(ask.id).desc())).first()
    return None if token is None else CheckId(token)


def open_wait(url: str, at: CheckId, asker: Asker, *, beats: bool) -> Wait | GateDecision:
    """Return the decision on a check, or a `Wait` for the decision; raise Unknown if another agent owns it.

    If a check is not decided before its deadline, its action may not run. A check whose rule sets the deadline takes no
    heartbeats, so that its agent can leave.
    """
    with reading(url) as session:
        check = _open_check(session, at, asker)
        if check.ask.item_id is None:
            return _stored_decision(session, check)
        beats = beats and not get_review_terms(session, check.ask.item_id).stays
        session.expunge_all()
    # An agent that starts to wait with a heartbeat sends it at the first look.
    beaten_ms = check.ask.heartbeat_ms if check.ask.beats or not beats else 0
    return Wait(url, check, check.ask.deadline_ms or 0, beaten_ms=beaten_ms, beats=beats)


def begin_check(url: str, at: CheckId, asker: Asker) -> GateDecision:
    """Record the intent to run the action and return the approval; on a second call, return `already_handed_out`.

    Raise Unknown if another agent owns the check, and Refused if the check has no approval.
    """
    try:
        with writing(url) as session:
            check = _open_check(session, at, asker)
            decision = begin(session, check, now_ms())
            if decision.reason is Reason.ALREADY_HANDED_OUT and decision.intent_id is not None:
                store.mark_unreported(session, check.run, decision.intent_id, now_ms())
            return decision
    except IntegrityError:
        # With PostgreSQL, another process of the agent began at the same moment.
        with reading(url) as session:
            return _stored_decision(session, _open_check(session, at, asker))


def record_result(session: Session, at: CheckId, asker: Asker, observation: str, now_ms: int) -> bool:
    """Store the result of the action; return False if a result is already stored.

    Raise Unknown if another agent owns the check, and Refused if the action has not begun.
    """
    check = _open_check(session, at, asker)
    intent = store.intent_of(session, check.request, check.ask.trajectory_id)
    if intent is None and check.ask.action is not None:
        raise Refused(f"Check {at} has not begun. Send POST /api/v1/checks/{at}/begin just before the action runs.")
    if intent is None:
        raise Refused(f"Check {at} has no approval, so a result cannot be recorded. Begin approved actions only.")
    if intent.finished_ms is not None:
        return False
    store.store_result(session, check.run, intent, observation, now_ms)
    return True


def oldest_waiting_ms(session: Session) -> int | None:
    """Return the creation time (ms since 1970) of the oldest item that lacks a review, or None if there is none."""
    return session.exec(select(func.min(tables.Item.created_ms)).where(tables.Item.open_slots > 0)).one()


def _open_check(session: Session, at: CheckId, asker: Asker) -> OpenCheck:
    ask = find_ask(session, at)
    if ask is None or ask.agent_id != asker.agent_id:
        raise Unknown("check", at, by="id", advice=_ID_OF_REPLY)
    run = session.get_one(tables.Run, ask.run_id)
    return OpenCheck(run, replace(_request_as_asked(session, ask), asker=asker), ask)


def _stored_decision(session: Session, check: OpenCheck) -> GateDecision:
    answer = find_stored_answer(session, check)
    if answer is None and check.ask.answer == Reason.VOID:
        return _void(check)
    if answer is None and check.ask.answer == Reason.CANCELLED:
        return GateDecision(False, check.request.action, STOPPED, Reason.CANCELLED, check_id=check.ask.token)
    if answer is None:
        raise Unknown("check", check.ask.token, by="id", advice=_ID_OF_REPLY)
    return answer


def _request_as_asked(session: Session, ask: tables.Ask) -> CheckRequest:
    """Return the request as the agent submitted it, without the steps added to the trajectory since then."""
    record = from_json(session.get_one(tables.TrajectoryBody, ask.trajectory_id).body)
    action = record.critical_action or ""
    if len(record.steps) > ask.step:
        action = record.steps[ask.step].action
    before = record.steps[: ask.step]
    asked = replace(record, steps=before, critical_action=action, outcome=Outcome.PAUSED)
    return CheckRequest(asked, action, True, ask.digest)


def find_earlier_answer(session: Session, run: tables.Run, request: CheckRequest) -> GateDecision | None:
    """Return the earlier answer that also holds for this request, or None if there is none.

    The answer is a rejection in the same task, or an answer that a restore carried over from the replaced database.
    """
    return _rejected_before(session, run, request) or _carried_answer(session, run, request)


def _carried_answer(session: Session, run: tables.Run, request: CheckRequest) -> GateDecision | None:
    """Return the answer to a request whose action began, or was rejected, after the backup that was restored.

    Without a task id, the whole request must be equal; an unflagged action may then run again, as in another task.
    """
    record = request.record
    asked = {"run": run.name, "request": request.digest, "named": request.named, "task": record.task_id}
    asked |= {"instruction": digest(record.instruction), "action": digest(request.action), "trial": record.trial}
    asked |= {"step": request.step, "agent_id": request.asker.agent_id}
    carried_id = session.connection().execute(_carried(), asked).scalar()
    if carried_id is None:
        return None
    found = session.get_one(tables.CarriedCheck, carried_id)
    if found.begun:
        return GateDecision(False, request.action, WORDS[Reason.ALREADY_HANDED_OUT], Reason.ALREADY_HANDED_OUT)
    return GateDecision(False, request.action, _repeat_rejection(found), Reason.ALREADY_REJECTED)


def _repeat_rejection(found: tables.Decision | tables.CarriedCheck) -> str:
    return f"This action was already rejected in this task. {feedback_to_agent(found)}".strip()


@cache
def _carried() -> Select[Any]:
    carried = tables.Table.metadata.tables["carried_check"].c
    named: BindParameter[bool] = bindparam("named", type_=Boolean)
    same_place = and_(carried.trial == bindparam("trial"), carried.step == bindparam("step"))
    same_action = and_(
        named,
        carried.task_key == bindparam("task"),
        carried.instruction_digest == bindparam("instruction"),
        carried.action_digest == bindparam("action"),
        carried.agent_id.is_not_distinct_from(bindparam("agent_id", type_=Integer)),
        or_(carried.begun.is_(False), same_place),
    )
    same_request = and_(
        carried.digest == bindparam("request"),
        or_(named, carried.begun.is_(False), carried.answer.is_distinct_from(Reason.NOT_FLAGGED.value)),
    )
    return (
        sa_select(carried.id)
        .where(carried.run == bindparam("run"), or_(same_request, same_action))
        .order_by(carried.begun.desc(), carried.id.desc())
        .limit(1)
    )


def _rejected_before(session: Session, run: tables.Run, request: CheckRequest) -> GateDecision | None:
    """Return the earlier rejection of exactly this action in the same task, or None if there is none.

    The steps before the action may differ. A task without an id has no earlier rejection, since the request may be for
    another task. A rejection holds only for the agent that received it.
    """
    if not request.named:
        return None
    asked = {"run_id": run.id, "task": request.record.task_id, "instruction": request.record.instruction}
    asked |= {"agent_id": request.asker.agent_id, "digest": digest(request.action)}
    decision_id = session.connection().execute(_rejections(), asked).scalar()
    if decision_id is None:
        return None
    found = session.get_one(tables.Decision, decision_id)
    return GateDecision(
        False, request.action, _repeat_rejection(found), Reason.ALREADY_REJECTED, found.item_id, found.id
    )


# Built once, because every critical action needs it.
@cache
def _rejections() -> Select[Any]:
    task, record, ask, decision = tables.Task, tables.Trajectory, tables.Ask, tables.Decision
    return (
        sa_select(col(decision.id))
        .join(ask, col(ask.item_id) == decision.item_id)
        .join(record, col(record.id) == ask.trajectory_id)
        .join(task, col(task.id) == record.task_id)
        .where(col(task.run_id) == bindparam("run_id"), col(task.task_key) == bindparam("task"))
        .where(col(task.instruction) == bindparam("instruction"), col(ask.answer) == Reason.REJECTED.value)
        .where(col(ask.agent_id).is_not_distinct_from(bindparam("agent_id", type_=Integer)))
        .where(col(decision.decision) == DecisionKind.REJECT.value)
        .where(col(decision.action_digest) == bindparam("digest"), is_current())
        .order_by(col(decision.id).desc())
    )
