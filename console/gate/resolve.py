"""An answer is handed out once: the delivery and the intent to run the action are one transaction.

What was decided about a question, in words: one reading of the reviewers' answers, told as often as asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlmodel import Session, col, func, select

from console.gate.judge import FAILED
from console.gate.request import CheckRequest
from console.gate.store import intend, intent_of, move
from console.gate.types import GateDecision, Reason
from console.review.resolution import RUNS_ACTION, current_answers
from console.runs import audit_log
from console.trajectory import Outcome
from console.trajectory.checkpoints import digest
from storage import tables
from storage.queue import answering, places
from storage.queue.transaction import Transaction
from storage.tables import DecisionKind, ItemStatus, SlotStatus

_WORDS = {
    Reason.REJECTED: "The reviewers did not let this action run.",
    Reason.RESPONDED: "The reviewers answered instead of letting this action run.",
    Reason.DENIED: "A rule of the policy denies this action.",
    Reason.SHADOW: "",
    Reason.TIMEOUT: "Nobody decided in time.",
    Reason.BUDGET_SPENT: "The inspection budget is spent, so nobody could look at this action.",
    Reason.CANCELLED: "The question was taken back before anybody decided, so the action was not let run.",
    Reason.DETECTOR_FAILED: "The detector failed and nobody looked at this action, so it was not let run.",
    Reason.ALREADY_HANDED_OUT: "The go-ahead for exactly this action was given before and is not given twice: "
    "find out whether it ran. If this is another task, give it a task_id of its own.",
}


@dataclass(frozen=True, slots=True)
class OpenCheck:
    """One question in its run, as stored."""

    run: tables.Run
    question: CheckRequest
    ask: tables.Ask


class Resolution(NamedTuple):
    """What the answers of an item come to: the action to run (None for none) and the decision that says so."""

    reason: Reason
    action: str | None
    decision_id: int | None
    feedback: str


def resolve(case: OpenCheck, answers: Sequence[tables.Decision]) -> Resolution:
    """All reviewers must want the same action, and each answer must be bound to it; otherwise nothing runs."""
    feedback = "\n".join(answer.feedback_text for answer in answers if answer.feedback_text)
    against = [answer for answer in answers if answer.decision not in RUNS_ACTION]
    if against or not answers:
        spoken = bool(against) and all(answer.decision == DecisionKind.RESPOND for answer in against)
        return Resolution(
            Reason.RESPONDED if spoken else Reason.REJECTED, None, against[0].id if against else None, feedback
        )
    wanted = {answer.edited_action or case.question.action for answer in answers}
    action, decisive = wanted.pop(), answers[-1]
    if wanted or any(answer.action_digest != digest(action) for answer in answers):
        return Resolution(Reason.REJECTED, None, decisive.id, feedback)
    edited = all(answer.decision == DecisionKind.EDIT for answer in answers)
    return Resolution(Reason.EDITED if edited else Reason.APPROVED, action, decisive.id, feedback)


def told_again(session: Session, case: OpenCheck, answers: Sequence[tables.Decision]) -> GateDecision:
    """What the reviewers said, as often as it is asked for; a go-ahead is not repeated."""
    found = resolve(case, answers)
    if found.action is not None:
        return reply(session, case, Reason.ALREADY_HANDED_OUT, action=found.action, decision_id=found.decision_id)
    return reply(session, case, found.reason, decision_id=found.decision_id, feedback=found.feedback)


def closed(session: Session, case: OpenCheck, reason: Reason, now_ms: int, **more: Any) -> GateDecision:
    """The reply, written as the answer of the question."""
    case.ask.answer, case.ask.answered_ms = reason, now_ms
    session.add(case.ask)
    return reply(session, case, reason, **more)


def reply(session: Session, case: OpenCheck, reason: Reason, **more: Any) -> GateDecision:
    """A decision that lets nothing run unless `more` says so; where no person left words, ours stand there."""
    bare = GateDecision(False, case.question.action, "", reason, case.ask.item_id, score=_score(session, case))
    decision = replace(bare, **more)
    return decision if decision.feedback else replace(decision, feedback=_WORDS.get(reason, ""))


def _score(session: Session, case: OpenCheck) -> float | None:
    verdict = tables.Verdict
    statement = select(verdict.score).where(
        verdict.trajectory_id == case.ask.trajectory_id,
        verdict.step == case.question.step,
        verdict.kind == "action",
        verdict.detector == (case.run.detector or "rules"),
    )
    return session.exec(statement).first()


_WAITING = (ItemStatus.PENDING, ItemStatus.CLAIMED)
_ANEW = (Reason.TIMEOUT, Reason.CANCELLED, Reason.BUDGET_SPENT, Reason.DETECTOR_FAILED, Reason.DENIED, Reason.SHADOW)
"""Nobody gave these answers: the same question may be asked anew."""


@dataclass(frozen=True, slots=True)
class WaitState:
    """When we look, and whether the agent has waited long enough (`late`) or wants no answer (`cancelled`)."""

    now_ms: int
    late: bool = False
    cancelled: bool = False


def again(session: Session, case: OpenCheck) -> GateDecision | None:
    """The answer to a question that was answered before, None where it is open or may be asked anew.

    An action that nobody doubted runs once too, if its task has an id; without one it may well be another task.
    """
    ask = case.ask
    intent = intent_of(session, case.question, ask.trajectory_id)
    if ask.answer == Reason.NOT_FLAGGED and not case.question.named:
        return reply(session, case, Reason.NOT_FLAGGED, approved=True, intent_id=intent.id if intent else None)
    if intent is not None:
        given = {"action": intent.action, "decision_id": intent.decision_id, "intent_id": intent.id}
        return reply(session, case, Reason.ALREADY_HANDED_OUT, **given)
    if ask.answer is None or ask.answer in _ANEW:
        return None
    return told_again(session, case, current_answers(session, ask.item_id))


def anything_new(session: Session, item_id: int, now_ms: int) -> bool:
    """Whether the item may have an answer by now, or can no longer get one; one look without a lock."""
    item = session.get_one(tables.Item, item_id)
    if item.status == ItemStatus.DECIDED:
        return _is_due(session, item_id, now_ms)
    return item.status not in _WAITING or _is_spent(session, item)


def settled(session: Session, case: OpenCheck, moment: WaitState) -> GateDecision | None:
    """The answer if there is one now, written as handed out; None while the agent has to wait."""
    item_id = case.ask.item_id or 0
    places.locked_item(Transaction.joined(session), item_id)
    session.refresh(case.ask)
    item = session.get_one(tables.Item, item_id)
    if case.ask.answer is not None:
        return again(session, case) or reply(session, case, Reason(case.ask.answer))
    if item.status in _WAITING:
        return _unanswered(session, case, item, moment)
    if item.status == ItemStatus.DECIDED and not _is_due(session, item_id, moment.now_ms):
        # An answer that came in time is waited for, even beyond the deadline, since it may be a no.
        return reply(session, case, Reason.CANCELLED) if moment.cancelled else None
    if item.status == ItemStatus.DECIDED:
        return _delivered(session, case, moment.now_ms)
    if item.status == ItemStatus.DELIVERED:
        return told_again(session, case, current_answers(session, item_id))
    reason = Reason.TIMEOUT if item.status == ItemStatus.EXPIRED else Reason.CANCELLED
    return closed(session, case, reason, moment.now_ms)


def _unanswered(session: Session, case: OpenCheck, item: tables.Item, moment: WaitState) -> GateDecision | None:
    if moment.cancelled:
        return _withdrawn(session, case, Reason.CANCELLED, moment.now_ms)
    if _is_spent(session, item):
        return _withdrawn(session, case, Reason.BUDGET_SPENT, moment.now_ms)
    if not moment.late:
        return None
    if case.ask.deadline_ms is None or case.ask.deadline_ms > moment.now_ms:
        # Somebody has asked the same since and still waits: the item stays theirs.
        return reply(session, case, Reason.TIMEOUT)
    return _withdrawn(session, case, Reason.TIMEOUT, moment.now_ms)


def _withdrawn(session: Session, case: OpenCheck, reason: Reason, now_ms: int) -> GateDecision:
    """Takes the item out of the queue; the action does not run."""
    item_id = case.ask.item_id or 0
    answers = current_answers(session, item_id)
    status = ItemStatus.EXPIRED if reason is Reason.TIMEOUT else ItemStatus.CANCELLED
    places.withdraw_items(Transaction.joined(session), [item_id], status, now_ms)
    if reason is Reason.BUDGET_SPENT and _detector_failed(session, item_id):
        reason = Reason.DETECTOR_FAILED
    detail = {"item_id": item_id, "let run": False, "action": case.question.action}
    audit_log.record(
        session, case.run, f"gate: {reason}", now_ms, actor="gate", subject=f"item {item_id}", detail=detail
    )
    return closed(session, case, reason, now_ms, feedback=resolve(case, answers).feedback)


def _delivered(session: Session, case: OpenCheck, now_ms: int) -> GateDecision:
    """Marks the decisions as delivered and writes the intent to run what they allow."""
    decision = tables.Decision
    due = select(decision.id).where(decision.item_id == case.ask.item_id, col(decision.superseded).is_(False))
    answering.deliver(Transaction.joined(session), sorted(id for id in session.exec(due) if id is not None), now_ms)
    found = resolve(case, current_answers(session, case.ask.item_id))
    if found.action is not None:
        return _let_run(session, case, found.reason, found.action, found.decision_id, now_ms, found.feedback)
    move(session, case.run, case.ask.trajectory_id, Outcome.REJECTED)
    return closed(session, case, found.reason, now_ms, decision_id=found.decision_id, feedback=found.feedback)


def _let_run(
    session: Session,
    case: OpenCheck,
    reason: Reason,
    action: str,
    decision_id: int | None,
    now_ms: int,
    feedback: str = "",
) -> GateDecision:
    intent_id = intend(session, case.question, case.ask.trajectory_id, action, decision_id, now_ms)
    move(session, case.run, case.ask.trajectory_id, Outcome.RUNNING)
    given = {"action": action, "decision_id": decision_id, "intent_id": intent_id, "feedback": feedback}
    return closed(session, case, reason, now_ms, approved=True, **given)


def _is_spent(session: Session, item: tables.Item) -> bool:
    """Whether a review is missing that nobody has begun and no unit is left for."""
    slot, budget = tables.Slot, tables.Budget
    if not item.open_slots:
        return False
    funds = select(budget).where(budget.run_id == item.run_id, budget.trial == item.trial, budget.scope == "")
    found = session.exec(funds).first()
    if found is None or found.cap is None or found.used < found.cap:
        return False
    begun = select(func.count()).where(col(slot.item_id) == item.id, col(slot.status) == SlotStatus.CLAIMED)
    return session.exec(begun).one() == 0


def _is_due(session: Session, item_id: int, now_ms: int) -> bool:
    decision = tables.Decision
    last = select(func.max(decision.deliverable_ms)).where(
        decision.item_id == item_id, col(decision.superseded).is_(False), col(decision.delivered_ms).is_(None)
    )
    due_ms = session.exec(last).one()
    return due_ms is None or due_ms <= now_ms


def _detector_failed(session: Session, item_id: int) -> bool:
    item = session.get_one(tables.Item, item_id)
    verdict = session.get(tables.Verdict, item.verdict_id) if item.verdict_id else None
    return verdict is not None and FAILED in verdict.parameters


def rejected_before(session: Session, run: tables.Run, question: CheckRequest) -> GateDecision | None:
    """The rejection of exactly this action earlier in the same task, whatever the steps before it; None without one.

    A task without an id of its own may well be another one, so there nothing is repeated.
    """
    if not question.named:
        return None
    task, record, ask, decision = tables.Task, tables.Trajectory, tables.Ask, tables.Decision
    statement = (
        select(decision)
        .join(ask, col(ask.item_id) == decision.item_id)
        .join(record, col(record.id) == ask.trajectory_id)
        .join(task, col(task.id) == record.task_id)
        .where(task.run_id == run.id, task.task_key == question.record.task_id, ask.answer == Reason.REJECTED)
        .where(task.instruction == question.record.instruction, decision.decision == DecisionKind.REJECT)
        .where(decision.action_digest == digest(question.action), col(decision.superseded).is_(False))
        .order_by(col(decision.id).desc())
    )
    found = session.exec(statement).first()
    if found is None:
        return None
    words = f"This action was already rejected in this task. {found.feedback_text}".strip()
    return GateDecision(False, question.action, words, Reason.ALREADY_REJECTED, found.item_id, found.id)
