"""A request submitted: known and answered, known and open, or new, so that it is judged and stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.detection.detectors import Detector, Verdict, detector
from console.detection.verdicts import verdict_row
from console.gate.request import CheckRequest
from console.gate.resolve import OpenCheck, Policies, stored_answer
from console.gate.store import FAILED, current_run, latest_ask, lose, store_request
from console.gate.types import GateDecision, Reason
from console.gate.wait import Cancellation, Wait, expire_abandoned
from console.runs.trajectory_rows import intend
from storage import tables
from storage.errors import StorageError

_TRIES = 5


@dataclass(frozen=True, slots=True)
class SubmitOptions:
    """Where and how a request is submitted: the database, the run, how long the agent waits, and what follows then."""

    url: str
    run: str
    policies: Policies
    timeout_ms: int | None = None
    cancel: Cancellation | None = None

    def deadline_ms(self, at_ms: int) -> int | None:
        """When an agent that asks at `at_ms` stops waiting, None for never."""
        return None if self.timeout_ms is None else at_ms + self.timeout_ms


def submit(options: SubmitOptions, request: CheckRequest) -> GateDecision | Wait:
    """The answer where there is one at once, otherwise the wait for it; raises Unknown and StorageError."""
    for _ in range(_TRIES):
        with reading(options.url) as session:
            run = current_run(session, options.run)
            known = _known(session, options, run, request)
        if isinstance(known, GateDecision):
            _lose_unreported(options, run, known)
            return known
        if isinstance(known, OpenCheck):
            return _reconnected(options, known)
        answer = _judged(options, run, known)
        if answer is not None:
            return answer
    raise StorageError("The same question is being asked by several agents at once; ask again in a moment.")


def _known(
    session: Session, options: SubmitOptions, run: tables.Run, request: CheckRequest
) -> GateDecision | OpenCheck | CheckRequest:
    """The stored answer, the open check, or the request as it has to be stored now."""
    ask = latest_ask(session, run, request)
    if ask is None:
        return request
    check = OpenCheck(run, request, ask, options.policies)
    answer = stored_answer(session, check)
    if answer is not None:
        return answer
    if ask.answer is None:
        session.expunge(ask)
        return check
    return replace(request, follows=ask.id)


def _lose_unreported(options: SubmitOptions, run: tables.Run, known: GateDecision) -> None:
    """An agent that asks about an action it was let run does not know whether it ran; nor do we without a result."""
    if known.reason is Reason.ALREADY_HANDED_OUT and known.intent_id is not None:
        with writing(options.url) as session:
            lose(session, run, known.intent_id, now_ms())


def _reconnected(options: SubmitOptions, check: OpenCheck) -> Wait:
    at_ms = now_ms()
    deadline_ms = options.deadline_ms(at_ms)
    with writing(options.url) as session:
        ask = session.get_one(tables.Ask, check.ask.id)
        ask.heartbeat_ms, ask.deadline_ms = at_ms, deadline_ms
        session.add(ask)
    return Wait(options.url, check, deadline_ms, options.cancel, at_ms)


def _judged(options: SubmitOptions, run: tables.Run, request: CheckRequest) -> GateDecision | Wait | None:
    """What comes of the request, judged and stored; None where another process stored it in between."""
    verdict = _judge(run, request)
    at_ms = now_ms()
    if verdict["flagged"]:
        _open_budget(options.url, run, request.record.trial)
        expire_abandoned(options.url, run.id or 0, at_ms)
    deadline_ms = options.deadline_ms(at_ms)
    try:
        with writing(options.url) as session:
            ask = store_request(session, run, request, verdict, deadline_ms, at_ms)
            if not verdict["flagged"]:
                intent_id = intend(session, ask.trajectory_id, request.step, request.action, None, at_ms)
                return GateDecision(
                    True, request.action, "", Reason.NOT_FLAGGED, score=verdict["score"], intent_id=intent_id
                )
    except IntegrityError:
        # Two agents wrote the same request or task in the same moment; the second looks again.
        return None
    return Wait(options.url, OpenCheck(run, request, ask, options.policies), deadline_ms, options.cancel, at_ms)


def _judge(run: tables.Run, request: CheckRequest) -> dict[str, Any]:
    """The verdict of the run's detector as a row; one that breaks is a flag with the error as its rationale."""
    name, seen = run.detector or "rules", request.checkpoint
    try:
        judge = detector(name)
        row = verdict_row(run, judge, judge.threshold if run.threshold is None else run.threshold, 0, seen)
        if 0.0 <= row["score"] <= 1.0:
            return row
        reason = f"its score is {row['score']!r}, which is not between 0 and 1"
    except Exception as failure:
        # Whatever breaks in a detector, the action must not run for it.
        reason = f"{type(failure).__name__}: {failure}"
    broken = Verdict(1.0, f"The detector failed ({reason}), so a person has to look.", parameters={FAILED: True})
    stand_in = Detector(name, "", lambda _checkpoint, _seed: broken)
    return verdict_row(run, stand_in, run.threshold or stand_in.threshold, 0, seen) | {"flagged": True}


def _open_budget(url: str, run: tables.Run, trial: int) -> None:
    """Opens the trial's budget with the run's cap, unless it is open."""
    with reading(url) as session:
        cap = runs.cap(session, run)
    runs.open_budgets(review_queue(url), run.id or 0, [trial], cap)
