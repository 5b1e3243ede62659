"""Resolving an open check: what its agent is answered, and how a go-ahead begins.

What the reviewers' answers come to is `console.review.resolution`; here it becomes the decision that the agent gets. A
go-ahead may be fetched again until its agent says that it begins, which is the intent to run: that is said once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sqlalchemy import Integer, Select, bindparam
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, func, select

from console.auth.identity import roles_of
from console.errors import Refused
from console.gate.policy import CheckFacts, Ruling, Then, policy_store
from console.gate.policy.rules import PolicyMode
from console.gate.request import CheckRequest
from console.gate.store import FAILED, intent_of, set_outcome
from console.gate.types import GateDecision, Reason
from console.review.decisions import Terms
from console.review.reasons import words_to_agent
from console.review.resolution import Resolution, ResolutionReason, current_answers, resolution
from console.runs import audit_log
from console.runs.current_decisions import is_current
from console.runs.trajectory_rows import intend
from console.trajectory import Outcome
from console.trajectory.checkpoints import digest
from storage import tables
from storage.queue import answering, claims
from storage.queue.transaction import Transaction
from storage.tables import UNREVIEWED, DecisionKind, ItemStatus, SlotStatus

_REASONS = {
    ResolutionReason.APPROVED: Reason.APPROVED,
    ResolutionReason.EDITED: Reason.EDITED,
    ResolutionReason.RESPONDED: Reason.RESPONDED,
}
"""Reasons of a resolution as the agent gets them; any other is a rejection."""

_DENIES = "A rule of the policy denies what the reviewers let run."
_LEAVES_TO_OTHERS = (
    "For what the reviewers wrote the policy wants more or other people, other doors or no edit; ask for it itself."
)
_WITHDRAWN = "The policy no longer gives this go-ahead, so nothing may begin; ask again."
_WORDS = {
    Reason.REJECTED: "The reviewers did not let this action run.",
    Reason.RESPONDED: "The reviewers answered instead of letting this action run.",
    Reason.DENIED: "A rule of the policy denies this action.",
    Reason.TIMEOUT: "Nobody decided in time.",
    Reason.BUDGET_SPENT: "The inspection budget is spent, so nobody could look at this action.",
    Reason.CANCELLED: "The question was taken back before anybody decided, so the action was not let run.",
    Reason.DETECTOR_FAILED: "The detector failed and nobody looked at this action, so it was not let run.",
    Reason.ALREADY_HANDED_OUT: "The go-ahead for exactly this action has begun before and is not given twice: "
    "find out whether it ran. If this is another task, give it a task_id of its own.",
}


@dataclass(frozen=True, slots=True)
class OpenCheck:
    """One request in its run, as stored."""

    run: tables.Run
    request: CheckRequest
    ask: tables.Ask


@dataclass(frozen=True, slots=True)
class WaitState:
    """When we look, and whether the agent has waited long enough (`late`) or wants no answer (`cancelled`)."""

    now_ms: int
    late: bool = False
    cancelled: bool = False


ANEW = (Reason.TIMEOUT, Reason.CANCELLED, Reason.BUDGET_SPENT, Reason.DETECTOR_FAILED, Reason.DENIED, Reason.SHADOW)
"""Nobody gave these answers: the same request may be made anew."""


def stored_answer(session: Session, check: OpenCheck) -> GateDecision | None:
    """The answer to a request that was answered before, None where it is open or may be made anew.

    An action that nobody doubted runs once too, if its task has an id; without one it may well be another task.
    """
    ask = check.ask
    intent = intent_of(session, check.request, ask.trajectory_id)
    if intent is not None and ask.answer == Reason.NOT_FLAGGED and not check.request.named:
        return None
    if intent is not None:
        return _begun_before(session, check, intent)
    if ask.action is not None:
        return _fetched_again(session, check, ask.action)
    if ask.answer is None or ask.answer in ANEW:
        return None
    return _repeated(session, check)


def _begun_before(session: Session, check: OpenCheck, intent: tables.Intent) -> GateDecision:
    """What is answered about a go-ahead that has begun."""
    given = {"action": intent.action, "decision_id": intent.decision_id, "intent_id": intent.id}
    return _decision(session, check, Reason.ALREADY_HANDED_OUT, **given)


def _fetched_again(session: Session, check: OpenCheck, action: str) -> GateDecision:
    """The go-ahead as it was given, for an agent that lost it on the way and has not begun."""
    feedback = resolution(current_answers(session, check.ask.item_id), check.request.action).feedback
    given = {"action": action, "decision_id": check.ask.decision_id, "feedback": feedback}
    return _decision(session, check, Reason(check.ask.answer or Reason.APPROVED), approved=True, **given)


def begin(session: Session, check: OpenCheck, now_ms: int) -> GateDecision:
    """Writes the intent to run the action that was allowed, once; a second time it is `already_handed_out`.

    Raises Refused where the check has no go-ahead.
    """
    if check.ask.item_id is not None:
        claims.locked_item(Transaction.joined(session), check.ask.item_id)
        session.refresh(check.ask)
    intent = intent_of(session, check.request, check.ask.trajectory_id)
    if intent is not None:
        return _begun_before(session, check, intent)
    if check.ask.action is None:
        raise Refused(f"Check {check.ask.token} has no go-ahead, so nothing may begin.")
    if _withheld(session, check, check.ask.action):
        return _decision(session, check, Reason.DENIED, feedback=_WITHDRAWN)
    if session.get_one(tables.Trajectory, check.ask.trajectory_id).n_steps > check.ask.step:
        # The agent went on as if the action had run, so it may have.
        return _decision(session, check, Reason.ALREADY_HANDED_OUT, action=check.ask.action)
    given = (check.ask.action, check.ask.decision_id, now_ms)
    intent_id = intend(session, check.ask.trajectory_id, check.ask.step, *given)
    return replace(_fetched_again(session, check, check.ask.action), intent_id=intent_id)


def anything_new(session: Session, item_id: int, now_ms: int) -> bool:
    """Whether the item may have an answer by now, or can no longer get one; one look without a lock."""
    item = session.get_one(tables.Item, item_id)
    if item.status == ItemStatus.DECIDED:
        return _is_due(session, item_id, now_ms)
    return item.status not in UNREVIEWED or _is_spent(session, item)


def resolve(session: Session, check: OpenCheck, state: WaitState) -> GateDecision | None:
    """The answer if there is one now, written as handed out; None while the agent has to wait."""
    item_id = check.ask.item_id or 0
    claims.locked_item(Transaction.joined(session), item_id)
    session.refresh(check.ask)
    item = session.get_one(tables.Item, item_id)
    if check.ask.answer is not None:
        return stored_answer(session, check) or _decision(session, check, Reason(check.ask.answer))
    if item.status in UNREVIEWED:
        return _unanswered(session, check, item, state)
    if item.status == ItemStatus.DECIDED and _is_decided_late(session, check):
        return _too_late(session, check, state.now_ms)
    if item.status == ItemStatus.DECIDED and not _is_due(session, item_id, state.now_ms):
        # An answer that came in time is waited for, even beyond the deadline, since it may be a no.
        return _decision(session, check, Reason.CANCELLED) if state.cancelled else None
    if item.status == ItemStatus.DECIDED:
        return _delivered(session, check, state.now_ms)
    if item.status == ItemStatus.DELIVERED:
        return _repeated(session, check)
    reason = Reason.TIMEOUT if item.status == ItemStatus.EXPIRED else Reason.CANCELLED
    return _closed(session, check, reason, state.now_ms)


def _unanswered(session: Session, check: OpenCheck, item: tables.Item, state: WaitState) -> GateDecision | None:
    if state.cancelled:
        return _withdrawn(session, check, Reason.CANCELLED, state.now_ms)
    if _is_spent(session, item):
        return _withdrawn(session, check, Reason.BUDGET_SPENT, state.now_ms)
    if not state.late:
        return None
    if check.ask.deadline_ms is None or check.ask.deadline_ms > state.now_ms:
        # Somebody has asked the same since and still waits: the item stays theirs.
        return _decision(session, check, Reason.TIMEOUT)
    return _withdrawn(session, check, Reason.TIMEOUT, state.now_ms)


def _withdrawn(session: Session, check: OpenCheck, reason: Reason, now_ms: int) -> GateDecision:
    """Takes the item out of the queue; the action does not run."""
    item_id = check.ask.item_id or 0
    answers = current_answers(session, item_id)
    status = ItemStatus.EXPIRED if reason is Reason.TIMEOUT else ItemStatus.CANCELLED
    if not (reason is Reason.TIMEOUT and _is_held(session, item_id)):
        claims.withdraw_items(Transaction.joined(session), [item_id], status, now_ms)
    if reason is Reason.BUDGET_SPENT and _detector_failed(session, item_id):
        reason = Reason.DETECTOR_FAILED
    detail = {"item_id": item_id, "let run": False, "action": check.request.action}
    audit_log.record(
        session, check.run, f"gate: {reason}", now_ms, actor="gate", subject=f"item {item_id}", detail=detail
    )
    return _closed(session, check, reason, now_ms, feedback=resolution(answers, check.request.action).feedback)


def _is_decided_late(session: Session, check: OpenCheck) -> bool:
    """Whether an answer came after the deadline; one that did makes the whole late."""
    deadline_ms = check.ask.deadline_ms
    answers = current_answers(session, check.ask.item_id)
    return deadline_ms is not None and any(answer.decided_ms > deadline_ms for answer in answers)


def _too_late(session: Session, check: OpenCheck, now_ms: int) -> GateDecision:
    """The decision stays recorded, and its words reach the agent; it lets nothing run."""
    answers, item_id = current_answers(session, check.ask.item_id), check.ask.item_id
    detail = {"item_id": item_id, "decided after the deadline": True, "let run": False}
    kind = f"gate: {Reason.TIMEOUT}"
    audit_log.record(session, check.run, kind, now_ms, actor="gate", subject=f"item {item_id}", detail=detail)
    feedback = resolution(answers, check.request.action).feedback
    return _closed(session, check, Reason.TIMEOUT, now_ms, feedback=feedback)


def _delivered(session: Session, check: OpenCheck, now_ms: int) -> GateDecision:
    """Marks the decisions as delivered and keeps what they allow, to be fetched until it begins."""
    decision = tables.Decision
    due = select(decision.id).where(decision.item_id == check.ask.item_id, is_current())
    answering.deliver(Transaction.joined(session), sorted(id for id in session.exec(due) if id is not None), now_ms)
    agreed, reason = _agreed(session, check)
    if agreed.action is not None and (because := _withheld(session, check, agreed.action)):
        return _denied(session, check, agreed, because, now_ms)
    if agreed.action is not None:
        return _let_run(session, check, reason, agreed.action, agreed.decision_id, now_ms, agreed.feedback)
    set_outcome(session, check.run, check.ask.trajectory_id, Outcome.REJECTED)
    return _closed(session, check, reason, now_ms, decision_id=agreed.decision_id, feedback=agreed.feedback)


def _denied(session: Session, check: OpenCheck, agreed: Resolution, because: str, now_ms: int) -> GateDecision:
    """What people let run and a rule withholds by now, or withholds as they edited it; it does not run."""
    detail = {"item_id": check.ask.item_id, "let run": False, "action": agreed.action}
    subject = f"item {check.ask.item_id}"
    audit_log.record(session, check.run, f"gate: {Reason.DENIED}", now_ms, actor="gate", subject=subject, detail=detail)
    words = f"{because} {agreed.feedback}".strip()
    return _closed(session, check, Reason.DENIED, now_ms, decision_id=agreed.decision_id, feedback=words)


def _withheld(session: Session, check: OpenCheck, action: str) -> str | None:
    """Why the policy does not give that go-ahead by now, None where it does.

    It denies the action, asks a person about what a detector alone let pass, or leaves what reviewers wrote to others.
    """
    request = check.request
    version = policy_store.effective(session, check.run, request.record.task_id)
    if version is None or version.policy.mode is PolicyMode.SHADOW:
        return None
    facts = CheckFacts(action, request.asker.name, check.run.environment or "", request.record.instruction)
    found = policy_store.rule_on(version, facts)
    if found.then is Then.DENY or (found.then is Then.ASK and check.ask.answer == Reason.NOT_FLAGGED):
        return _DENIES
    return _LEAVES_TO_OTHERS if action != request.action and _is_left_to_others(session, check, found) else None


def _is_left_to_others(session: Session, check: OpenCheck, found: Ruling) -> bool:
    """Whether the rule on an edited action wants more people than wrote it, or others, other doors, or no edit."""
    answers, terms = current_answers(session, check.ask.item_id), Terms(found.decisions or None, found.who, found.doors)
    if found.then is Then.ALLOW:
        return False
    return len(answers) < found.reviews or any(_refuses(session, terms, answer) for answer in answers)


def _refuses(session: Session, terms: Terms, answer: tables.Decision) -> bool:
    roles = session.exec(select(tables.Person.roles).where(tables.Person.name == answer.reviewer)).first()
    return terms.refusal(answer.decision, answer.reviewer, roles_of(roles) if roles else (), answer.door) is not None


def _repeated(session: Session, check: OpenCheck) -> GateDecision:
    """What the reviewers said, as often as it is asked for; no go-ahead comes of what another check was given."""
    agreed, reason = _agreed(session, check)
    if agreed.action is not None:
        given = {"action": agreed.action, "decision_id": agreed.decision_id}
        return _decision(session, check, Reason.ALREADY_HANDED_OUT, **given)
    return _decision(session, check, reason, decision_id=agreed.decision_id, feedback=agreed.feedback)


def _agreed(session: Session, check: OpenCheck) -> tuple[Resolution, Reason]:
    agreed = resolution(current_answers(session, check.ask.item_id), check.request.action)
    return agreed, _REASONS.get(agreed.reason, Reason.REJECTED)


def _let_run(
    session: Session,
    check: OpenCheck,
    reason: Reason,
    action: str,
    decision_id: int | None,
    now_ms: int,
    feedback: str = "",
) -> GateDecision:
    check.ask.action, check.ask.decision_id = action, decision_id
    set_outcome(session, check.run, check.ask.trajectory_id, Outcome.RUNNING)
    given = {"action": action, "decision_id": decision_id, "feedback": feedback}
    return _closed(session, check, reason, now_ms, approved=True, **given)


def _is_spent(session: Session, item: tables.Item) -> bool:
    """Whether a review is missing that nobody has begun and no unit is left for."""
    budget = tables.Budget
    if not item.open_slots:
        return False
    of_trial = select(budget).where(budget.run_id == item.run_id, budget.trial == item.trial, budget.scope == "")
    state = session.exec(of_trial).first()
    if state is None or state.cap is None or state.used < state.cap:
        return False
    return not _is_held(session, item.id or 0)


def _is_held(session: Session, item_id: int) -> bool:
    """Whether a reviewer is at work on the item."""
    slot = tables.Slot
    held = select(func.count()).where(col(slot.item_id) == item_id, col(slot.status) == SlotStatus.CLAIMED)
    return session.exec(held).one() > 0


def _is_due(session: Session, item_id: int, now_ms: int) -> bool:
    decision = tables.Decision
    last = select(func.max(decision.deliverable_ms)).where(
        decision.item_id == item_id, is_current(), col(decision.delivered_ms).is_(None)
    )
    due_ms = session.exec(last).one()
    return due_ms is None or due_ms <= now_ms


def _detector_failed(session: Session, item_id: int) -> bool:
    item = session.get_one(tables.Item, item_id)
    verdict = session.get(tables.Verdict, item.verdict_id) if item.verdict_id else None
    return verdict is not None and FAILED in verdict.parameters


def _closed(session: Session, check: OpenCheck, reason: Reason, now_ms: int, **more: Any) -> GateDecision:
    """The decision, written as the answer of the check."""
    check.ask.answer, check.ask.answered_ms = reason, now_ms
    session.add(check.ask)
    return _decision(session, check, reason, **more)


def _decision(session: Session, check: OpenCheck, reason: Reason, **more: Any) -> GateDecision:
    """A decision that lets nothing run unless `more` says so; where no person left words, ours stand there."""
    score, token = _score(session, check), check.ask.token
    bare = GateDecision(False, check.request.action, "", reason, check.ask.item_id, score=score, check_id=token)
    decision = replace(bare, **more)
    return decision if decision.feedback else replace(decision, feedback=_WORDS.get(reason, ""))


def _score(session: Session, check: OpenCheck) -> float | None:
    """The score of the verdict that asked a person; where none did, that of the run's detector."""
    verdict, item = tables.Verdict, tables.Item
    if check.ask.item_id is not None:
        asking = select(verdict.score).join(item, col(item.verdict_id) == verdict.id)
        return session.exec(asking.where(item.id == check.ask.item_id)).first()
    statement = select(verdict.score).where(
        verdict.trajectory_id == check.ask.trajectory_id,
        verdict.step == check.request.step,
        verdict.kind == "action",
        verdict.detector == (check.run.detector or "rules"),
    )
    return session.exec(statement).first()


def rejected_before(session: Session, run: tables.Run, request: CheckRequest) -> GateDecision | None:
    """The rejection of exactly this action earlier in the same task, whatever the steps before it; None without one.

    A task without an id of its own may well be another one, so there nothing is repeated;
    nor is what another agent was told.
    """
    if not request.named:
        return None
    asked = {"run_id": run.id, "task": request.record.task_id, "instruction": request.record.instruction}
    asked |= {"agent_id": request.asker.agent_id, "digest": digest(request.action)}
    decision_id = session.connection().execute(_rejections(), asked).scalar()
    if decision_id is None:
        return None
    found = session.get_one(tables.Decision, decision_id)
    words = f"This action was already rejected in this task. {words_to_agent(found)}".strip()
    return GateDecision(False, request.action, words, Reason.ALREADY_REJECTED, found.item_id, found.id)


# Built once, because every critical action asks for it.
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
