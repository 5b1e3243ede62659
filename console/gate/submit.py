"""Submission of a request: apply the policy, then return a stored decision, resume a check or judge a new request."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import SystemRandom
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from console import runs
from console.auth.audit_log import span
from console.database import now_ms, reading, review_queue, writing
from console.detection import audit_draws
from console.detection.detectors import Detector, Verdict, detector
from console.detection.routing import OWN_DETECTOR, routing_name
from console.detection.verdicts import judge_as_row
from console.errors import Refused
from console.gate.checks import Cancellation, Wait, find_ask, find_earlier_answer
from console.gate.limits import check_facts, has_room, record_uses, refuse_waiting
from console.gate.policy import Then, policy_store
from console.gate.policy.rules import DEADLINE_S
from console.gate.request import NOBODY, Asker, CheckRequest, GateDecision, Reason, Ruled, Tightened, bind_asker
from console.gate.resolve import ANEW, STOPPED, OpenCheck, find_stored_answer
from console.gate.store import (
    FAILED,
    RunSpec,
    begin_action,
    create_run,
    latest_ask,
    load_run,
    mark_unreported,
    store_answered,
    store_request,
)
from console.gate.unchecked_values import NOT_BY_A_DETECTOR, explain_unchecked_value
from console.runs import run_options
from console.trajectory.checkpoints import Checkpoint
from storage import tables
from storage.errors import StorageError
from storage.queue.claims import withdraw_items
from storage.queue.transaction import Transaction
from storage.tables import ItemStatus

_TRIES = 5


@dataclass(frozen=True, slots=True)
class SubmitOptions:
    """Options of a submission: the database, the run, the agent, and its waiting time.

    `opens` creates the run if it does not exist. `critical` holds the caller's own patterns; an action that matches one
    is at least judged. `begins` lets an unflagged action begin at once, for an agent that waits for the decision.
    `beats` is true if the agent sends heartbeats while it waits.
    """

    url: str
    run: RunSpec
    critical: tuple[str, ...] = ()
    tightened: Tightened = field(default_factory=Tightened)
    timeout_ms: int | None = None
    cancel: Cancellation | None = None
    asker: Asker = NOBODY
    opens: bool = False
    begins: bool = False
    beats: bool = True

    def deadline_ms(self, at_ms: int, ruled: Ruled) -> int:
        """Return the deadline of a request at `at_ms`: the rule's, else the agent's, else `DEADLINE_S`.

        An agent that waits within its call can only shorten the rule's deadline; any other agent can come back later.
        """
        stated, own_ms = ruled.ruling.deadline_s, self.timeout_ms
        if stated is None:
            return at_ms + (DEADLINE_S * 1_000 if own_ms is None else own_ms)
        rule_ms = round(stated * 1_000)
        return at_ms + (min(own_ms, rule_ms) if self.begins and own_ms is not None else rule_ms)

    def wait_until_ms(self, at_ms: int, deadline_ms: int) -> int:
        """Return the end of the agent's own wait, at the deadline at the latest."""
        return deadline_ms if self.timeout_ms is None else min(at_ms + self.timeout_ms, deadline_ms)

    def beats_under(self, ruled: Ruled) -> bool:
        """Return whether the check ends if its heartbeats stop; a rule's deadline keeps it open."""
        return self.beats and (not ruled.ruling.stays or (self.begins and self.timeout_ms is not None))


@span("gate check")
def submit(options: SubmitOptions, request: CheckRequest) -> GateDecision | Wait:
    """Return the decision on a request, or a `Wait` for the decision.

    Raise Refused if the run was deleted or is of another kind, and StorageError if several agents submit the request at
    once.
    """
    request = bind_asker(request, options.asker)
    for _ in range(_TRIES):
        with reading(options.url) as session:
            run = load_run(session, options.run)
            if run is not None and run_options(run).stopped:
                return GateDecision(False, request.action, STOPPED, Reason.CANCELLED)
            ruled = None if run is None else _rule_request(session, options, run, request)
            known = None if run is None or ruled is None else _find_known(session, run, request, ruled)
        if run is None and not options.opens:
            raise Refused(f"Run {options.run.name!r} was deleted since this gate opened it. Create the gate again.")
        if run is None:
            create_run(options.url, options.run)
            continue
        if ruled is None:
            # With PostgreSQL, another process can store a policy between our look and our write.
            with suppress(IntegrityError), writing(options.url) as session:
                policy_store.ensure_policy(session, session.get_one(tables.Run, run.id), now_ms(), ())
            continue
        answer = _try_answer(options, run, ruled, known or request)
        if answer is not None:
            return answer
    raise StorageError("Several agents submitted the same check at once. Submit the check again in a moment.")


def _try_answer(
    options: SubmitOptions, run: tables.Run, ruled: Ruled, known: GateDecision | OpenCheck | CheckRequest
) -> GateDecision | Wait | None:
    """Return the decision or the `Wait`, or None if another process stored the request in between."""
    if isinstance(known, GateDecision):
        _lose_unreported(options, run, known)
        return known
    if isinstance(known, OpenCheck):
        return _resume_wait(options, known, ruled)
    if ruled.version.is_shadow:
        return _answer_by_policy(options, run, known, ruled, Reason.SHADOW)
    if ruled.ruling.then is Then.ALLOW:
        return _allowed(options, run, known, ruled)
    if ruled.ruling.then is Then.DENY:
        return _answer_by_policy(options, run, known, ruled, Reason.DENIED)
    return _judge_new(options, run, known, ruled)


def _rule_request(session: Session, options: SubmitOptions, run: tables.Run, request: CheckRequest) -> Ruled | None:
    """Return the ruling of the stored policy, or None if the run has no policy yet."""
    version = policy_store.effective_version(session, run, request.record.task_id)
    if version is None:
        return None
    facts = check_facts(session, version, run, request, request.action, now_ms())
    found = version.rule_on(facts, options.critical)
    if request.hints.changed and found.then in (Then.ALLOW, Then.JUDGE):
        # The rule was written for the definition that the tool had before.
        found = replace(found, then=Then.ASK)
    return Ruled(version, found, options.tightened)


def _find_known(
    session: Session, run: tables.Run, request: CheckRequest, ruled: Ruled
) -> GateDecision | OpenCheck | CheckRequest | None:
    """Return the stored decision, the open check, or the request to store; None if the ruling needs no check."""
    if ruled.version.is_shadow:
        return None
    if ruled.ruling.then is Then.ALLOW:
        # Beyond its limit the rule asks a person, whose rejection stays valid.
        return _answered(session, run, request, ruled) if ruled.ruling.uses else None
    ask = latest_ask(session, run, request)
    if ask is None:
        return _answered(session, run, request, ruled) or request
    check = OpenCheck(run, request, ask)
    answer = find_stored_answer(session, check)
    if answer is not None and not _is_stricter_now(ruled, answer):
        return answer
    if ask.answer is None and ruled.ruling.then is not Then.DENY:
        session.expunge(ask)
        return check
    return _answered(session, run, request, ruled) or replace(request, follows=ask.id)


def _answered(session: Session, run: tables.Run, request: CheckRequest, ruled: Ruled) -> GateDecision | None:
    return None if ruled.ruling.then is Then.DENY else find_earlier_answer(session, run, request)


def _is_stricter_now(ruled: Ruled, answer: GateDecision) -> bool:
    """Return whether the policy now withholds an approval; under `ask`, a person's approval remains valid."""
    then, judged = ruled.ruling.then, answer.reason is Reason.NOT_FLAGGED
    return answer.approved and (then is Then.DENY or (then is Then.ASK and judged))


def _allowed(
    options: SubmitOptions, run: tables.Run, request: CheckRequest, ruled: Ruled
) -> GateDecision | Wait | None:
    """Allow and store an action; beyond a limit of its rule, ask a person instead."""
    # A power cut may lose the last of these rows: no check rests on them, and durable ones would cost more than all the
    # rest. They are in one commit with their count, and a killed process loses none.
    uses, at_ms = bool(ruled.ruling.uses), now_ms()
    with writing(options.url, durable=uses) as session:
        allowed = not uses or has_room(session, run, request, ruled, at_ms)
        if allowed:
            record_uses(session, run, request, ruled, at_ms)
            agent = request.asker.name
            policy_store.store_allowed(session, run, ruled.version, ruled.ruling, request.action, agent, at_ms)
    if not allowed:
        return _ask_beyond_limit(options, run, request, ruled)
    return GateDecision(True, request.action, "", Reason.NOT_CRITICAL)


def _ask_beyond_limit(
    options: SubmitOptions, run: tables.Run, request: CheckRequest, ruled: Ruled
) -> GateDecision | Wait | None:
    """Ask a person about an action for which the limit of its rule has no room."""
    asking = replace(ruled, ruling=replace(ruled.ruling, then=Then.ASK))
    with reading(options.url) as session:
        known = _find_known(session, run, request, asking)
    return _try_answer(options, run, asking, known or request)


def _answer_by_policy(
    options: SubmitOptions, run: tables.Run, request: CheckRequest, ruled: Ruled, reason: Reason
) -> GateDecision | None:
    """Store and return the policy's decision, or return None if another process stored the request in between."""
    then, because = ruled.ruling.then, ruled.ruling.because
    if reason is Reason.SHADOW:
        words = f"The policy is in shadow mode. Its ruling would be {then} (rule {ruled.ruling.rule})."
    else:
        words = f"A rule of the policy ({ruled.ruling.rule}) denies this action{': ' + because if because else '.'}"
    try:
        with writing(options.url) as session:
            known = latest_ask(session, run, request)
            if known is not None and known.answer is None and known.item_id is not None:
                # No agent waits for it any more; the budget that its reviewers hold is released.
                withdraw_items(Transaction.joined(session), [known.item_id], ItemStatus.CANCELLED, now_ms())
            is_open = known is None or known.answer is None or known.answer in ANEW
            if known is None or (known.answer != reason and (is_open or reason is Reason.DENIED)):
                follows = replace(request, follows=known.id if known else None)
                store_answered(session, run, follows, ruled, reason, now_ms())
    except IntegrityError:
        return None
    return GateDecision(reason is Reason.SHADOW, request.action, words, reason)


def _lose_unreported(options: SubmitOptions, run: tables.Run, known: GateDecision) -> None:
    """Mark an action as possibly executed if its agent submits it again without a result."""
    if known.reason is Reason.ALREADY_HANDED_OUT and known.intent_id is not None:
        with writing(options.url) as session:
            mark_unreported(session, run, known.intent_id, now_ms())


def _resume_wait(options: SubmitOptions, check: OpenCheck, ruled: Ruled) -> Wait | None:
    """Return the resumed `Wait`, or None if a restore has removed the check since.

    A repeated request can shorten the first deadline but never extend it.
    """
    at_ms = now_ms()
    with writing(options.url) as session:
        ask = find_ask(session, check.ask.token)
        if ask is None:
            return None
        ask.heartbeat_ms, ask.beats = at_ms, options.beats_under(ruled)
        session.add(ask)
        deadline_ms = ask.deadline_ms
    own_ms = options.deadline_ms(at_ms, ruled)
    deadline_ms = own_ms if deadline_ms is None else min(own_ms, deadline_ms)
    return _wait(options, check, ruled, at_ms, deadline_ms)


def _wait(options: SubmitOptions, check: OpenCheck, ruled: Ruled, at_ms: int, deadline_ms: int) -> Wait:
    until_ms = options.wait_until_ms(at_ms, deadline_ms)
    return Wait(options.url, check, until_ms, options.cancel, at_ms, options.beats_under(ruled))


def _judge_new(
    options: SubmitOptions, run: tables.Run, request: CheckRequest, ruled: Ruled
) -> GateDecision | Wait | None:
    """Judge and store the request; return its decision or `Wait`, or None if another process stored the request."""
    verdict = _judge(run, request, options.tightened)
    at_ms = now_ms()
    options_of_run = run_options(run)
    if options_of_run.audited and ruled.ruling.then is Then.JUDGE:
        audited = audit_draws.get_probability(options_of_run, verdict["score"] or 0.0)
        # An agent cannot predict this number.
        number, after = SystemRandom().random(), options_of_run.audits_after
        ruled = replace(ruled, audited=audited, number=number, audits_after=after)
    if ruled.asks(verdict) or ruled.is_audit:
        _open_budget(options.url, run, request.record.trial)
        review_queue(options.url).expire_overdue(run_id=run.id or 0, now_ms=at_ms)
    deadline_ms = options.deadline_ms(at_ms, ruled)
    # What is not flagged and has not begun may be lost: without its check nothing begins, and `begin` keeps both.
    durable, beats = bool(options.begins or ruled.asks(verdict) or ruled.ruling.uses), options.beats_under(ruled)
    try:
        with writing(options.url, durable=durable) as session:
            if ruled.asks(verdict):
                refuse_waiting(session, options.asker, at_ms)
            is_limited = bool(ruled.ruling.uses) and not ruled.asks(verdict)
            is_within = not is_limited or has_room(session, run, request, ruled, at_ms)
            if is_within:
                ask = store_request(session, run, request, verdict, ruled, deadline_ms, at_ms, beats=beats)
                record_uses(session, run, request, ruled, at_ms, ask["token"])
                if not ruled.asks(verdict):
                    return _not_flagged(session, options, run, request, ask, verdict["score"])
    except IntegrityError:
        # Two agents wrote the same request or task in the same moment; the second looks again.
        return None
    if not is_within:
        return _ask_beyond_limit(options, run, request, ruled)
    check = OpenCheck(run, request, tables.Ask(**ask))
    return _wait(options, check, ruled, at_ms, deadline_ms)


def _not_flagged(
    session: Session,
    options: SubmitOptions,
    run: tables.Run,
    request: CheckRequest,
    ask: dict[str, Any],
    score: float | None,
) -> GateDecision:
    intent_id = None
    if options.begins:
        place = (ask["trajectory_id"], request.step)
        intent_id = begin_action(session, run, place, request.action, None, ask["asked_ms"])
    given: dict[str, Any] = {"score": score, "intent_id": intent_id, "check_id": ask["token"]}
    return GateDecision(True, request.action, "", Reason.NOT_FLAGGED, **given)


def _judge(run: tables.Run, request: CheckRequest, tightened: Tightened) -> dict[str, Any]:
    """Return, as a row, the verdict of the first detector that flags: the run's, the caller's or `rules`.

    If no detector flags, return the first verdict. Flag this verdict if only a person can check a value, or if nothing
    could be checked. The caller's detector and threshold can only add to the flags of `rules` at its own threshold.
    """
    seen, rows = request.checkpoint, list[dict[str, Any]]()
    for name in _judges(run, tightened):
        rows.append(_verdict(run, name, seen, tightened))
        if rows[-1]["flagged"]:
            return rows[-1]
    unchecked = explain_unchecked_value(seen, rows)
    if unchecked is None:
        return rows[0]
    return rows[0] | {"flagged": True, "rationale": f"{NOT_BY_A_DETECTOR} {unchecked}"}


def _judges(run: tables.Run, tightened: Tightened) -> list[str]:
    named = (routing_name(run), tightened.detector, OWN_DETECTOR)
    return [name for name in dict.fromkeys(named) if name is not None]


def _threshold(judge: Detector, run: tables.Run, tightened: Tightened) -> float:
    """Return the lowest threshold of the run, the caller and the detector; the threshold of `rules` is never raised."""
    of_run = run.threshold if judge.name == routing_name(run) else None
    of_caller = tightened.threshold if judge.name in (routing_name(run), tightened.detector) else None
    its_own = judge.threshold if judge.name == OWN_DETECTOR or of_run is None else None
    return min(value for value in (of_run, of_caller, its_own) if value is not None)


def _verdict(run: tables.Run, name: str, seen: Checkpoint, tightened: Tightened) -> dict[str, Any]:
    """Return the detector's verdict as a row; if the detector fails, flag the action with the error as rationale."""
    try:
        judge = detector(name)
        row = judge_as_row(run, judge, _threshold(judge, run, tightened), 0, seen, now_ms())
        # A verdict without a score is flagged: the model declined to judge.
        if row["score"] is None or 0.0 <= row["score"] <= 1.0:
            return row
        reason = f"its score is {row['score']!r}, which is not between 0 and 1"
    except Exception as failure:
        # A failing detector must not let the action run.
        reason = f"{type(failure).__name__}: {failure}"
    broken = Verdict(1.0, f"The detector failed ({reason}), so a person has to decide.", parameters={FAILED: True})
    stand_in = Detector(name, "", lambda _checkpoint, _seed: broken)
    return judge_as_row(run, stand_in, run.threshold or stand_in.threshold, 0, seen, now_ms()) | {"flagged": True}


def _open_budget(url: str, run: tables.Run, trial: int) -> None:
    with reading(url) as session:
        cap = runs.cap(session, run)
    review_queue(url).open_budgets(run.id or 0, [trial], cap)
