"""A question comes in: known and answered, known and open, or new and to be judged."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from console.database import now_ms, reading, writing
from console.gate.judge import judge_request, store_request
from console.gate.request import CheckRequest
from console.gate.resolve import OpenCheck, Policies, again
from console.gate.run import current, open_budget
from console.gate.store import intend, latest, lose
from console.gate.types import GateDecision, Reason
from console.gate.wait import Cancellation, Wait, expire_abandoned
from storage import tables
from storage.errors import StorageError

_TRIES = 5


@dataclass(frozen=True, slots=True)
class SubmitOptions:
    """Where and how one question is asked: the database, the run, how long the agent waits, and what follows then."""

    url: str
    run: str
    policies: Policies
    timeout_ms: int | None = None
    cancel: Cancellation | None = None

    def deadline_ms(self, at_ms: int) -> int | None:
        """When an agent that asks at `at_ms` stops waiting, None for never."""
        return None if self.timeout_ms is None else at_ms + self.timeout_ms


def submit(terms: SubmitOptions, asked: CheckRequest) -> GateDecision | Wait:
    """The answer where there is one at once, otherwise the wait for it; raises Unknown and StorageError."""
    for _ in range(_TRIES):
        with reading(terms.url) as session:
            run = current(session, terms.run)
            known = _known(session, terms, run, asked)
        if isinstance(known, GateDecision):
            _note_unknown(terms, run, known)
            return known
        if isinstance(known, OpenCheck):
            return _reconnected(terms, known)
        found = _new(terms, run, known)
        if found is not None:
            return found
    raise StorageError("The same question is being asked by several agents at once; ask again in a moment.")


def _known(
    session: Session, terms: SubmitOptions, run: tables.Run, asked: CheckRequest
) -> GateDecision | OpenCheck | CheckRequest:
    """The stored answer, the open case, or the question as it has to be asked now."""
    ask = latest(session, run, asked)
    if ask is None:
        return asked
    case = OpenCheck(run, asked, ask, terms.policies)
    answered = again(session, case)
    if answered is not None:
        return answered
    if ask.answer is None:
        session.expunge(ask)
        return case
    return replace(asked, follows=ask.id)


def _note_unknown(terms: SubmitOptions, run: tables.Run, known: GateDecision) -> None:
    """An agent that asks about an action it was let run does not know whether it ran; nor do we without a result."""
    if known.reason is Reason.ALREADY_HANDED_OUT and known.intent_id is not None:
        with writing(terms.url) as session:
            lose(session, run, known.intent_id, now_ms())


def _reconnected(terms: SubmitOptions, case: OpenCheck) -> Wait:
    at_ms = now_ms()
    deadline_ms = terms.deadline_ms(at_ms)
    with writing(terms.url) as session:
        ask = session.get_one(tables.Ask, case.ask.id)
        ask.heartbeat_ms, ask.deadline_ms = at_ms, deadline_ms
        session.add(ask)
    return Wait(terms.url, case, deadline_ms, terms.cancel, at_ms)


def _new(terms: SubmitOptions, run: tables.Run, asked: CheckRequest) -> GateDecision | Wait | None:
    """The question judged and stored; None where another process stored it in between."""
    verdict = judge_request(run, asked)
    at_ms = now_ms()
    if verdict["flagged"]:
        open_budget(terms.url, run, asked.record.trial)
        expire_abandoned(terms.url, run.id or 0, at_ms)
    deadline_ms = terms.deadline_ms(at_ms)
    try:
        with writing(terms.url) as session:
            ask = store_request(session, run, asked, verdict, deadline_ms, at_ms)
            if not verdict["flagged"]:
                intent_id = intend(session, asked, ask.trajectory_id, asked.action, None, at_ms)
                return GateDecision(
                    True, asked.action, "", Reason.NOT_FLAGGED, score=verdict["score"], intent_id=intent_id
                )
    except IntegrityError:
        # Two agents wrote the same question or task in the same moment; the second looks again.
        return None
    return Wait(terms.url, OpenCheck(run, asked, ask, terms.policies), deadline_ms, terms.cancel, at_ms)
