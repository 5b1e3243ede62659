"""A question comes in: the run's policy rules on it, then it is known and answered, known and open, or new."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from console.database import now_ms, reading, writing
from console.gate import store as recording
from console.gate.judge import Ruled, Tightened, judge_request, store_answered, store_request
from console.gate.policy import CheckFacts, Then
from console.gate.policy import store as policy_store
from console.gate.policy.rules import PolicyMode
from console.gate.request import CheckRequest
from console.gate.resolve import OpenCheck, again, rejected_before
from console.gate.run import current, open_budget
from console.gate.store import intend, latest
from console.gate.types import GateDecision, Reason
from console.gate.wait import Cancellation, Wait, expire_abandoned
from storage import tables
from storage.engine import engine
from storage.errors import StorageError

_TRIES = 5


@dataclass(frozen=True, slots=True)
class SubmitOptions:
    """Where and how one question is asked: the database, the run, who asks, how long the agent waits.

    `critical` are the caller's own patterns: what they match is at least judged, whatever the policy allows.
    """

    url: str
    run: str
    agent: str = ""
    critical: tuple[str, ...] = ()
    tightened: Tightened = field(default_factory=Tightened)
    timeout_ms: int | None = None
    cancel: Cancellation | None = None

    def deadline_ms(self, at_ms: int, ruled: Ruled) -> int | None:
        """When an agent that asks at `at_ms` stops waiting, the caller's time or the rule's; None for never."""
        stated = ruled.ruling.deadline_s
        waits = [self.timeout_ms, None if stated is None else round(stated * 1_000)]
        return min((at_ms + wait for wait in waits if wait is not None), default=None)


def submit(terms: SubmitOptions, asked: CheckRequest) -> GateDecision | Wait:
    """The answer where there is one at once, otherwise the wait for it; raises Unknown and StorageError."""
    for _ in range(_TRIES):
        with reading(terms.url) as session:
            run = current(session, terms.run)
            ruled = _ruled(session, terms, run, asked)
            known = None if ruled is None else _known(session, terms, run, asked, ruled)
        if ruled is None:
            with writing(terms.url) as session:
                policy_store.begin(session, session.get_one(tables.Run, run.id), now_ms())
            continue
        found = _answered(terms, run, ruled, known or asked)
        if found is not None:
            return found
    raise StorageError("The same question is being asked by several agents at once; ask again in a moment.")


def _answered(
    terms: SubmitOptions, run: tables.Run, ruled: Ruled, known: GateDecision | OpenCheck | CheckRequest
) -> GateDecision | Wait | None:
    """The answer or the wait; None where another process stored the question in between."""
    if isinstance(known, GateDecision):
        _note_unknown(terms, run, known)
        return known
    if isinstance(known, OpenCheck):
        return _reconnected(terms, known, ruled)
    if ruled.version.policy.mode is PolicyMode.SHADOW:
        return _by_policy(terms, run, known, ruled, Reason.SHADOW)
    if ruled.ruling.then is Then.ALLOW:
        return _allowed(terms, run, known, ruled)
    if ruled.ruling.then is Then.DENY:
        return _by_policy(terms, run, known, ruled, Reason.DENIED)
    return _new(terms, run, known, ruled)


def _ruled(session: Session, terms: SubmitOptions, run: tables.Run, asked: CheckRequest) -> Ruled | None:
    """What the stored policy says, None where the run has none yet."""
    version = policy_store.effective(session, run, asked.record.task_id)
    if version is None:
        return None
    facts = CheckFacts(asked.action, terms.agent, run.environment, asked.record.instruction)
    return Ruled(version, policy_store.rule_on(version, facts, terms.critical), terms.tightened)


def _known(
    session: Session, terms: SubmitOptions, run: tables.Run, asked: CheckRequest, ruled: Ruled
) -> GateDecision | OpenCheck | CheckRequest | None:
    """The stored answer, the open case, or the question as it has to be asked now; None where that does not matter."""
    if ruled.ruling.then is Then.ALLOW or ruled.version.policy.mode is PolicyMode.SHADOW:
        return None
    ask = latest(session, run, asked)
    if ask is None:
        before = rejected_before(session, run, asked)
        return asked if before is None or ruled.ruling.then is Then.DENY else before
    case = OpenCheck(run, asked, ask)
    answered = again(session, case)
    if answered is not None and not (answered.approved and ruled.ruling.then is not Then.JUDGE):
        return answered
    if ask.answer is None and ruled.ruling.then is not Then.DENY:
        session.expunge(ask)
        return case
    return replace(asked, follows=ask.id)


def _allowed(terms: SubmitOptions, run: tables.Run, asked: CheckRequest, ruled: Ruled) -> GateDecision:
    # A power cut may lose the last counts; nothing rests on them, and a durable write would cost more than the rest.
    quick = engine(terms.url).execution_options(sqlite_begin="IMMEDIATE")
    with Session(quick) as session, session.begin():
        policy_store.count_allowed(session, run, ruled.version, ruled.ruling)
    return GateDecision(True, asked.action, "", Reason.NOT_CRITICAL)


def _by_policy(
    terms: SubmitOptions, run: tables.Run, asked: CheckRequest, ruled: Ruled, reason: Reason
) -> GateDecision | None:
    """The policy's own answer, stored as such; None where another process stored the question in between."""
    then, because = ruled.ruling.then, ruled.ruling.because
    if reason is Reason.SHADOW:
        words = f"The policy only watches; it would have said {then} (rule {ruled.ruling.rule})."
    else:
        words = f"A rule of the policy ({ruled.ruling.rule}) denies this action{': ' + because if because else '.'}"
    try:
        with writing(terms.url) as session:
            known = latest(session, run, asked)
            if known is None or (known.answer != reason and reason is Reason.DENIED):
                follows = replace(asked, follows=known.id if known else None)
                store_answered(session, run, follows, ruled, reason, now_ms())
    except IntegrityError:
        return None
    return GateDecision(reason is Reason.SHADOW, asked.action, words, reason)


def _note_unknown(terms: SubmitOptions, run: tables.Run, known: GateDecision) -> None:
    """An agent that asks about an action it was let run does not know whether it ran; nor do we without a result."""
    if known.reason is Reason.ALREADY_HANDED_OUT and known.intent_id is not None:
        with writing(terms.url) as session:
            recording.lose(session, run, known.intent_id, now_ms())


def _reconnected(terms: SubmitOptions, case: OpenCheck, ruled: Ruled) -> Wait:
    at_ms = now_ms()
    deadline_ms = terms.deadline_ms(at_ms, ruled)
    with writing(terms.url) as session:
        ask = session.get_one(tables.Ask, case.ask.id)
        ask.heartbeat_ms, ask.deadline_ms = at_ms, deadline_ms
        session.add(ask)
    return Wait(terms.url, case, deadline_ms, terms.cancel, at_ms)


def _new(terms: SubmitOptions, run: tables.Run, asked: CheckRequest, ruled: Ruled) -> GateDecision | Wait | None:
    """The question judged and stored; None where another process stored it in between."""
    verdict = judge_request(run, asked, terms.tightened)
    at_ms = now_ms()
    if ruled.asks(verdict):
        open_budget(terms.url, run, asked.record.trial)
        expire_abandoned(terms.url, run.id or 0, at_ms)
    deadline_ms = terms.deadline_ms(at_ms, ruled)
    try:
        with writing(terms.url) as session:
            ask = store_request(session, run, asked, verdict, ruled, deadline_ms, at_ms)
            if not ruled.asks(verdict):
                intent_id = intend(session, asked, ask.trajectory_id, asked.action, None, at_ms)
                return GateDecision(
                    True, asked.action, "", Reason.NOT_FLAGGED, score=verdict["score"], intent_id=intent_id
                )
    except IntegrityError:
        # Two agents wrote the same question or task in the same moment; the second looks again.
        return None
    return Wait(terms.url, OpenCheck(run, asked, ask), deadline_ms, terms.cancel, at_ms)
