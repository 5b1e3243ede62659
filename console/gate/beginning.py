"""A question comes in: known and answered, known and open, or new and to be judged."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from console.database import now_ms, reading, writing
from console.gate import recording
from console.gate.answer import GateDecision, Reason
from console.gate.asking import judged, store
from console.gate.handing import again
from console.gate.opening import current, open_budget
from console.gate.question import Question
from console.gate.replies import Case, Policies
from console.gate.stored import intend, latest
from console.gate.waiting import Cancellation, Wait, expire_abandoned
from storage import tables
from storage.errors import StorageError

_TRIES = 5


@dataclass(frozen=True, slots=True)
class Terms:
    """Where and how one question is asked: the database, the run, how long the agent waits, and what follows then."""

    url: str
    run: str
    policies: Policies
    timeout_ms: int | None = None
    cancel: Cancellation | None = None

    def deadline_ms(self, at_ms: int) -> int | None:
        """When an agent that asks at `at_ms` stops waiting, None for never."""
        return None if self.timeout_ms is None else at_ms + self.timeout_ms


def begin(terms: Terms, asked: Question) -> GateDecision | Wait:
    """The answer where there is one at once, otherwise the wait for it; raises Unknown and StorageError."""
    for _ in range(_TRIES):
        with reading(terms.url) as session:
            run = current(session, terms.run)
            known = _known(session, terms, run, asked)
        if isinstance(known, GateDecision):
            _note_unknown(terms, run, known)
            return known
        if isinstance(known, Case):
            return _reconnected(terms, known)
        found = _new(terms, run, known)
        if found is not None:
            return found
    raise StorageError("The same question is being asked by several agents at once; ask again in a moment.")


def _known(session: Session, terms: Terms, run: tables.Run, asked: Question) -> GateDecision | Case | Question:
    """The stored answer, the open case, or the question as it has to be asked now."""
    ask = latest(session, run, asked)
    if ask is None:
        return asked
    case = Case(run, asked, ask, terms.policies)
    answered = again(session, case)
    if answered is not None:
        return answered
    if ask.answer is None:
        session.expunge(ask)
        return case
    return replace(asked, follows=ask.id)


def _note_unknown(terms: Terms, run: tables.Run, known: GateDecision) -> None:
    """An agent that asks about an action it was let run does not know whether it ran; nor do we without a result."""
    if known.reason is Reason.ALREADY_HANDED_OUT and known.intent_id is not None:
        with writing(terms.url) as session:
            recording.lose(session, run, known.intent_id, now_ms())


def _reconnected(terms: Terms, case: Case) -> Wait:
    at_ms = now_ms()
    deadline_ms = terms.deadline_ms(at_ms)
    with writing(terms.url) as session:
        ask = session.get_one(tables.Ask, case.ask.id)
        ask.heartbeat_ms, ask.deadline_ms = at_ms, deadline_ms
        session.add(ask)
    return Wait(terms.url, case, deadline_ms, terms.cancel, at_ms)


def _new(terms: Terms, run: tables.Run, asked: Question) -> GateDecision | Wait | None:
    """The question judged and stored; None where another process stored it in between."""
    verdict = judged(run, asked)
    at_ms = now_ms()
    if verdict["flagged"]:
        open_budget(terms.url, run, asked.record.trial)
        expire_abandoned(terms.url, run.id or 0, at_ms)
    deadline_ms = terms.deadline_ms(at_ms)
    try:
        with writing(terms.url) as session:
            ask = store(session, run, asked, verdict, deadline_ms, at_ms)
            if not verdict["flagged"]:
                intent_id = intend(session, asked, ask.trajectory_id, asked.action, None, at_ms)
                return GateDecision(
                    True, asked.action, "", Reason.NOT_FLAGGED, score=verdict["score"], intent_id=intent_id
                )
    except IntegrityError:
        # Two agents wrote the same question or task in the same moment; the second looks again.
        return None
    return Wait(terms.url, Case(run, asked, ask, terms.policies), deadline_ms, terms.cancel, at_ms)
