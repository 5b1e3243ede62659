"""What was decided about a question, in words: one reading of the reviewers' answers, told as often as asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlmodel import Session, select

from console.gate.answer import GateDecision, Reason
from console.gate.question import Question
from console.review.resolution import RUNS_ACTION
from console.trajectory.checkpoints import digest
from storage import tables
from storage.tables import DecisionKind

APPROVE = "approve"
REJECT = "reject"

_WORDS = {
    Reason.REJECTED: "The reviewers did not let this action run.",
    Reason.RESPONDED: "The reviewers answered instead of letting this action run.",
    Reason.TIMEOUT: "Nobody decided in time.",
    Reason.BUDGET_SPENT: "The inspection budget is spent, so nobody could look at this action.",
    Reason.CANCELLED: "The question was taken back before anybody decided, so the action was not let run.",
    Reason.DETECTOR_FAILED: "The detector failed and nobody looked at this action, so it was not let run.",
    Reason.ALREADY_HANDED_OUT: "The go-ahead for exactly this action was given before and is not given twice: "
    "find out whether it ran. If this is another task, give it a task_id of its own.",
}


@dataclass(frozen=True, slots=True)
class Policies:
    """What happens where nobody answers in time, or nobody can any more: `reject` or `approve`."""

    on_timeout: str = REJECT
    on_spent_budget: str = REJECT


@dataclass(frozen=True, slots=True)
class Case:
    """One question in its run, as stored."""

    run: tables.Run
    question: Question
    ask: tables.Ask
    policies: Policies


class Ruling(NamedTuple):
    """What the answers of an item come to: the action to run (None for none) and the decision that says so."""

    reason: Reason
    action: str | None
    decision_id: int | None
    feedback: str


def ruling(case: Case, answers: Sequence[tables.Decision]) -> Ruling:
    """All reviewers must want the same action, and each answer must be bound to it; otherwise nothing runs."""
    feedback = "\n".join(answer.feedback_text for answer in answers if answer.feedback_text)
    against = [answer for answer in answers if answer.decision not in RUNS_ACTION]
    if against or not answers:
        spoken = bool(against) and all(answer.decision == DecisionKind.RESPOND for answer in against)
        return Ruling(
            Reason.RESPONDED if spoken else Reason.REJECTED, None, against[0].id if against else None, feedback
        )
    wanted = {answer.edited_action or case.question.action for answer in answers}
    action, decisive = wanted.pop(), answers[-1]
    if wanted or any(answer.action_digest != digest(action) for answer in answers):
        return Ruling(Reason.REJECTED, None, decisive.id, feedback)
    edited = all(answer.decision == DecisionKind.EDIT for answer in answers)
    return Ruling(Reason.EDITED if edited else Reason.APPROVED, action, decisive.id, feedback)


def told_again(session: Session, case: Case, answers: Sequence[tables.Decision]) -> GateDecision:
    """What the reviewers said, as often as it is asked for; a go-ahead is not repeated."""
    found = ruling(case, answers)
    if found.action is not None:
        return reply(session, case, Reason.ALREADY_HANDED_OUT, action=found.action, decision_id=found.decision_id)
    return reply(session, case, found.reason, decision_id=found.decision_id, feedback=found.feedback)


def closed(session: Session, case: Case, reason: Reason, now_ms: int, **more: Any) -> GateDecision:
    """The reply, written as the answer of the question."""
    case.ask.answer, case.ask.answered_ms = reason, now_ms
    session.add(case.ask)
    return reply(session, case, reason, **more)


def reply(session: Session, case: Case, reason: Reason, **more: Any) -> GateDecision:
    """A decision that lets nothing run unless `more` says so; where no person left words, ours stand there."""
    bare = GateDecision(False, case.question.action, "", reason, case.ask.item_id, score=_score(session, case))
    decision = replace(bare, **more)
    return decision if decision.feedback else replace(decision, feedback=_WORDS.get(reason, ""))


def _score(session: Session, case: Case) -> float | None:
    verdict = tables.Verdict
    statement = select(verdict.score).where(
        verdict.trajectory_id == case.ask.trajectory_id,
        verdict.step == case.question.step,
        verdict.kind == "action",
        verdict.detector == (case.run.detector or "rules"),
    )
    return session.exec(statement).first()
