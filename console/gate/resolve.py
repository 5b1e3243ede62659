"""Resolution of an open check: the decision that the agent gets, and the start of an allowed action.

`console.review.resolution` combines the reviewers' decisions; this module turns the result into the agent's decision.
An agent can fetch an approval repeatedly until it begins the action; `begin` writes the intent to run the action once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlmodel import Session, col, delete, func, not_, or_, select

from console.auth import audit_log
from console.auth.people import roles_of
from console.errors import Refused
from console.gate.limits import check_facts, record_uses
from console.gate.policy import Ruling, Then, policy_store
from console.gate.request import CheckRequest, GateDecision, Reason, Ruled, state_terms
from console.gate.store import FAILED, begin_action, find_person_asking, intent_of, set_outcome
from console.review.access import read_terms
from console.review.resolution import Resolution, ResolutionReason, list_current_decisions, resolve_decisions
from console.runs import is_current, run_options
from console.trajectory import Outcome
from storage import tables
from storage.queue import claims, deliver
from storage.queue.transaction import Transaction
from storage.tables import UNREVIEWED, ItemStatus, SlotStatus

_REASONS = {
    ResolutionReason.APPROVED: Reason.APPROVED,
    ResolutionReason.EDITED: Reason.EDITED,
    ResolutionReason.RESPONDED: Reason.RESPONDED,
}
"""The agent's reason for each reason of a resolution; any other reason becomes a rejection."""

_DENIES = "A rule of the policy denies the action that the reviewers let run."
_LEAVES_TO_OTHERS = (
    "The policy requires other reviewers or entry points for the reviewers' edit, or forbids edits. "
    "Submit the edited action itself."
)
_WITHDRAWN = "The policy no longer allows this approved action, so it may not begin. Submit the action again."
STILL_WAITS = "No one has decided yet, so the check is still pending. Submit the check again, or fetch it by its id."
WORDS = {
    Reason.REJECTED: "The reviewers did not let this action run.",
    Reason.RESPONDED: "The reviewers answered instead of letting this action run.",
    Reason.DENIED: "A rule of the policy denies this action.",
    Reason.TIMEOUT: "No one decided in time.",
    Reason.BUDGET_SPENT: "The inspection budget is spent, so no one could review this action.",
    Reason.CANCELLED: "The check was withdrawn before a decision, so the action may not run.",
    Reason.DETECTOR_FAILED: "The detector failed and no one reviewed this action, so it may not run.",
    Reason.ALREADY_HANDED_OUT: "This action has already begun, and an approval is given only once. "
    "Find out whether the action ran. If this is another task, use another task_id.",
    Reason.VOID: "The console was restored from a backup, so this check is void. Submit the check again.",
}
STOPPED = "An operator stopped the run, so its agents may not act. Stop, and submit the check again only when told to."


@dataclass(frozen=True, slots=True)
class OpenCheck:
    """A stored check: its run, its request and its row of table `ask`."""

    run: tables.Run
    request: CheckRequest
    ask: tables.Ask


@dataclass(frozen=True, slots=True)
class WaitState:
    """The time now, and whether the agent's deadline has passed (`late`) or the agent stopped waiting (`cancelled`)."""

    now_ms: int
    late: bool = False
    cancelled: bool = False


ANEW = (
    Reason.TIMEOUT,
    Reason.CANCELLED,
    Reason.BUDGET_SPENT,
    Reason.DETECTOR_FAILED,
    Reason.DENIED,
    Reason.SHADOW,
    Reason.VOID,
)
"""Reasons without a person's decision; the same request may be submitted again."""


def find_stored_answer(session: Session, check: OpenCheck) -> GateDecision | None:
    """Return the stored decision on a request, or None if the request is open or may be submitted again.

    An unflagged action also runs only once if its task has an id; without an id, the request may be for another task.
    """
    ask = check.ask
    intent = intent_of(session, check.request, ask.trajectory_id)
    if intent is not None and ask.answer == Reason.NOT_FLAGGED and not check.request.named:
        return None
    if intent is not None:
        return _decision_already_begun(session, check, intent)
    if ask.action is not None:
        return _repeat_go_ahead(session, check, ask.action)
    if ask.answer is None or ask.answer in ANEW:
        return None
    return _repeat_decision(session, check)


def _decision_already_begun(session: Session, check: OpenCheck, intent: tables.Intent) -> GateDecision:
    given = {"action": intent.action, "decision_id": intent.decision_id, "intent_id": intent.id}
    return _make_decision(session, check, Reason.ALREADY_HANDED_OUT, **given)


def _repeat_go_ahead(session: Session, check: OpenCheck, action: str) -> GateDecision:
    """Return the approval again, for an agent that lost it before beginning the action."""
    feedback = resolve_decisions(list_current_decisions(session, check.ask.item_id), check.request.action).feedback
    given = {"action": action, "decision_id": check.ask.decision_id, "feedback": feedback}
    return _make_decision(session, check, Reason(check.ask.answer or Reason.APPROVED), approved=True, **given)


def begin(session: Session, check: OpenCheck, now_ms: int) -> GateDecision:
    """Write the intent to run the allowed action, once; on a second call, return `already_handed_out`.

    Raise Refused if the check has no approval.
    """
    if check.ask.item_id is not None:
        claims.lock_item(Transaction.joined(session), check.ask.item_id)
        session.refresh(check.ask)
    intent = intent_of(session, check.request, check.ask.trajectory_id)
    if intent is not None:
        return _decision_already_begun(session, check, intent)
    # A check that was stored while its run was being stopped is still open.
    answer = Reason.CANCELLED if _is_stopped(session, check) else check.ask.answer
    if answer in (Reason.VOID, Reason.CANCELLED):
        return _make_decision(session, check, Reason(answer))
    if check.ask.action is None:
        raise Refused(
            f"Check {check.ask.token} has no approval, so its action may not begin. Begin approved actions only."
        )
    if _reason_to_withhold(session, check, check.ask.action, now_ms):
        return _make_decision(session, check, Reason.DENIED, feedback=_WITHDRAWN)
    if session.get_one(tables.Trajectory, check.ask.trajectory_id).n_steps > check.ask.step:
        # The agent went on as if the action had run, so it may have.
        return _make_decision(session, check, Reason.ALREADY_HANDED_OUT, action=check.ask.action)
    place = (check.ask.trajectory_id, check.ask.step)
    intent_id = begin_action(session, check.run, place, check.ask.action, check.ask.decision_id, now_ms)
    return replace(_repeat_go_ahead(session, check, check.ask.action), intent_id=intent_id)


def may_have_answer(session: Session, item_id: int, now_ms: int) -> bool:
    """Return whether the item may have a decision now, or can no longer get a decision; read once, without a lock."""
    item = session.get_one(tables.Item, item_id)
    if item.status == ItemStatus.DECIDED:
        return _is_due(session, item_id, now_ms)
    return item.status not in UNREVIEWED or _is_spent(session, item)


def list_quiet(session: Session, tokens: Collection[str]) -> set[str]:
    """Return the tokens of the checks for which `may_have_answer` is certainly false, by one statement."""
    ask, item, budget, slot = tables.Ask, tables.Item, tables.Budget, tables.Slot
    of_trial = (col(budget.run_id) == item.run_id, col(budget.trial) == item.trial, col(budget.scope) == "")
    spent = select(budget.id).where(*of_trial, col(budget.used) >= col(budget.cap)).exists()
    claimed = select(slot.id).where(col(slot.item_id) == item.id, col(slot.status) == SlotStatus.CLAIMED).exists()
    unspent = or_(col(item.open_slots) == 0, not_(spent), claimed)
    pending = select(ask.token).join(item, col(item.id) == ask.item_id).where(col(item.status).in_(UNREVIEWED), unspent)
    return set(session.exec(pending.where(col(ask.token).in_(tokens))))


def resolve(session: Session, check: OpenCheck, state: WaitState) -> GateDecision | None:
    """Return the decision and mark it as delivered, or return None if the agent has to keep waiting."""
    item_id = check.ask.item_id or 0
    claims.lock_item(Transaction.joined(session), item_id)
    session.refresh(check.ask)
    item = session.get_one(tables.Item, item_id)
    if check.ask.answer is not None:
        return find_stored_answer(session, check) or _make_decision(session, check, Reason(check.ask.answer))
    if item.status in UNREVIEWED:
        return _unanswered(session, check, item, state)
    if item.status == ItemStatus.DECIDED and _is_decided_late(session, check):
        return _answer_late(session, check, state.now_ms)
    if item.status == ItemStatus.DECIDED and not _is_due(session, item_id, state.now_ms):
        # Wait for a decision that came in time even beyond the deadline, since it may be a rejection.
        return _make_decision(session, check, Reason.CANCELLED) if state.cancelled else None
    if item.status == ItemStatus.DECIDED:
        return _deliver(session, check, state.now_ms)
    if item.status == ItemStatus.DELIVERED:
        return _repeat_decision(session, check)
    reason = Reason.TIMEOUT if item.status == ItemStatus.EXPIRED else Reason.CANCELLED
    return _close_check(session, check, reason, state.now_ms)


def _unanswered(session: Session, check: OpenCheck, item: tables.Item, state: WaitState) -> GateDecision | None:
    if state.cancelled:
        return _withdraw_item(session, check, Reason.CANCELLED, state.now_ms)
    if _is_spent(session, item):
        return _withdraw_item(session, check, Reason.BUDGET_SPENT, state.now_ms)
    if not state.late:
        return None
    if check.ask.deadline_ms is None or check.ask.deadline_ms > state.now_ms:
        # The rule gives a person more time, or another agent has submitted the same request since and still waits.
        return _make_decision(session, check, Reason.TIMEOUT, feedback=STILL_WAITS)
    return _withdraw_item(session, check, Reason.TIMEOUT, state.now_ms)


def _withdraw_item(session: Session, check: OpenCheck, reason: Reason, now_ms: int) -> GateDecision:
    """Remove the item from the queue and return a decision that does not allow the action."""
    item_id = check.ask.item_id or 0
    answers = list_current_decisions(session, item_id)
    status = ItemStatus.EXPIRED if reason is Reason.TIMEOUT else ItemStatus.CANCELLED
    if not (reason is Reason.TIMEOUT and _is_claimed(session, item_id)):
        claims.withdraw_items(Transaction.joined(session), [item_id], status, now_ms)
    if reason is Reason.BUDGET_SPENT and _detector_failed(session, item_id):
        reason = Reason.DETECTOR_FAILED
    detail = {"item_id": item_id, "let run": False, "action": check.request.action}
    audit_log.record(session, check.run, f"gate: {reason}", now_ms, by="gate", subject=f"item {item_id}", detail=detail)
    return _close_check(
        session, check, reason, now_ms, feedback=resolve_decisions(answers, check.request.action).feedback
    )


def _is_decided_late(session: Session, check: OpenCheck) -> bool:
    """Return whether any of the decisions came after the deadline."""
    deadline_ms = check.ask.deadline_ms
    answers = list_current_decisions(session, check.ask.item_id)
    return deadline_ms is not None and any(answer.decided_ms > deadline_ms for answer in answers)


def _answer_late(session: Session, check: OpenCheck, now_ms: int) -> GateDecision:
    """Return a timeout with the reviewers' feedback; their late decisions are kept but do not allow the action."""
    answers, item_id = list_current_decisions(session, check.ask.item_id), check.ask.item_id
    detail = {"item_id": item_id, "decided after the deadline": True, "let run": False}
    kind = f"gate: {Reason.TIMEOUT}"
    audit_log.record(session, check.run, kind, now_ms, by="gate", subject=f"item {item_id}", detail=detail)
    feedback = resolve_decisions(answers, check.request.action).feedback
    return _close_check(session, check, Reason.TIMEOUT, now_ms, feedback=feedback)


def _deliver(session: Session, check: OpenCheck, now_ms: int) -> GateDecision:
    """Mark the decisions as delivered and return the gate's decision; store an approved action until it begins."""
    decision = tables.Decision
    due = select(decision.id).where(decision.item_id == check.ask.item_id, is_current())
    deliver(Transaction.joined(session), sorted(id for id in session.exec(due) if id is not None), now_ms)
    agreed, reason = _agreed(session, check)
    if agreed.action is not None and (because := _reason_to_withhold(session, check, agreed.action, now_ms)):
        return _deny_withheld(session, check, agreed, because, now_ms)
    if agreed.action is not None:
        check.ask.action, check.ask.decision_id = agreed.action, agreed.decision_id
        if agreed.action != check.request.action:
            _count_edit(session, check, agreed.action, now_ms)
        set_outcome(session, check.run, check.ask.trajectory_id, Outcome.RUNNING)
        given = {"action": agreed.action, "decision_id": agreed.decision_id, "feedback": agreed.feedback}
        return _close_check(session, check, reason, now_ms, approved=True, **given)
    set_outcome(session, check.run, check.ask.trajectory_id, Outcome.REJECTED)
    return _close_check(session, check, reason, now_ms, decision_id=agreed.decision_id, feedback=agreed.feedback)


def _deny_withheld(session: Session, check: OpenCheck, agreed: Resolution, because: str, now_ms: int) -> GateDecision:
    """Deny an action, or its edit, that the reviewers allowed but that a rule now withholds."""
    detail = {"item_id": check.ask.item_id, "let run": False, "action": agreed.action}
    subject = f"item {check.ask.item_id}"
    audit_log.record(session, check.run, f"gate: {Reason.DENIED}", now_ms, by="gate", subject=subject, detail=detail)
    words = f"{because} {agreed.feedback}".strip()
    return _close_check(session, check, Reason.DENIED, now_ms, decision_id=agreed.decision_id, feedback=words)


def _count_edit(session: Session, check: OpenCheck, action: str, now_ms: int) -> None:
    version = policy_store.effective_version(session, check.run, check.request.record.task_id)
    if version is not None and not version.is_shadow:
        found = version.rule_on(check_facts(session, version, check.run, check.request, action, now_ms))
        session.execute(delete(tables.LimitUse).where(col(tables.LimitUse.token) == check.ask.token))
        record_uses(session, check.run, check.request, Ruled(version, found), now_ms, check.ask.token)


def _reason_to_withhold(session: Session, check: OpenCheck, action: str, now_ms: int) -> str | None:
    """Return the reason why the policy now withholds this approval, or None if there is none.

    The policy may deny the action, ask a person about an action that only a detector passed, or require other
    reviewers.
    """
    request = check.request
    version = policy_store.effective_version(session, check.run, request.record.task_id)
    if version is None or version.is_shadow:
        return None
    found = version.rule_on(check_facts(session, version, check.run, request, action, now_ms))
    if found.then is Then.DENY or (found.then is Then.ASK and check.ask.answer == Reason.NOT_FLAGGED):
        return _DENIES
    return _LEAVES_TO_OTHERS if action != request.action and _is_left_to_others(session, check, found) else None


def _is_left_to_others(session: Session, check: OpenCheck, found: Ruling) -> bool:
    """Return whether an edit has too few reviews for the policy, or has a review that the policy does not accept."""
    answers = list_current_decisions(session, check.ask.item_id)
    if found.then is Then.ALLOW:
        return False
    stated = state_terms(found, check.ask.asked_ms, find_person_asking(session, check.request.asker))
    return len(answers) < found.reviews or any(_refuses(session, stated, answer) for answer in answers)


def _refuses(session: Session, stated: Mapping[str, Any], answer: tables.Decision) -> bool:
    terms = read_terms(session, stated, answer.decided_ms)
    roles = session.exec(select(tables.Person.roles).where(tables.Person.name == answer.reviewer)).first()
    return terms.refusal(answer.decision, answer.reviewer, roles_of(roles) if roles else (), answer.door) is not None


def _repeat_decision(session: Session, check: OpenCheck) -> GateDecision:
    """Return the reviewers' decision again, except an approval that another check has already received."""
    agreed, reason = _agreed(session, check)
    if agreed.action is not None:
        given = {"action": agreed.action, "decision_id": agreed.decision_id}
        return _make_decision(session, check, Reason.ALREADY_HANDED_OUT, **given)
    return _make_decision(session, check, reason, decision_id=agreed.decision_id, feedback=agreed.feedback)


def _agreed(session: Session, check: OpenCheck) -> tuple[Resolution, Reason]:
    agreed = resolve_decisions(list_current_decisions(session, check.ask.item_id), check.request.action)
    return agreed, _REASONS.get(agreed.reason, Reason.REJECTED)


def _is_spent(session: Session, item: tables.Item) -> bool:
    """Return whether the item lacks a review, no one has claimed it, and no budget is left."""
    budget = tables.Budget
    if not item.open_slots:
        return False
    of_trial = select(budget).where(budget.run_id == item.run_id, budget.trial == item.trial, budget.scope == "")
    state = session.exec(of_trial).first()
    if state is None or state.cap is None or state.used < state.cap:
        return False
    return not _is_claimed(session, item.id or 0)


def _is_claimed(session: Session, item_id: int) -> bool:
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


def _close_check(session: Session, check: OpenCheck, reason: Reason, now_ms: int, **more: Any) -> GateDecision:
    """Return the decision and store it as the answer of the check."""
    check.ask.answer, check.ask.answered_ms = reason, now_ms
    session.add(check.ask)
    return _make_decision(session, check, reason, **more)


def _make_decision(session: Session, check: OpenCheck, reason: Reason, **more: Any) -> GateDecision:
    """Return a decision that allows nothing unless `more` overrides it; add default feedback if there is none."""
    score, token = _score(session, check), check.ask.token
    bare = GateDecision(False, check.request.action, "", reason, check.ask.item_id, score=score, check_id=token)
    decision = replace(bare, **more)
    if decision.feedback:
        return decision
    is_stopped = reason is Reason.CANCELLED and _is_stopped(session, check)
    return replace(decision, feedback=STOPPED if is_stopped else WORDS.get(reason, ""))


def _is_stopped(session: Session, check: OpenCheck) -> bool:
    return run_options(session.get_one(tables.Run, check.ask.run_id)).stopped


def _score(session: Session, check: OpenCheck) -> float | None:
    """Return the score of the item's verdict, or of the run's detector for a check without an item; None if missing."""
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
