"""What several answers to an item come to: nothing runs unless all of them let the same action run."""

import pytest

from console.review.resolution import Resolution, ResolutionReason, resolve_decisions
from console.trajectory.checkpoints import digest
from storage.tables import Decision, DecisionKind

PENDING = "refund[12]"
CHEAPER = "refund[9]"
DEARER = "refund[15]"


def answer(kind, edited=None, words="", bound_to=None):
    """What is given to `decided`: kind, edited action, words, and the action that the answer was made for."""
    return kind, edited, words, bound_to or edited or PENDING


def decided(answers):
    """The answers as decisions 1, 2, 3, ..."""
    return [
        Decision(
            id=number,
            decision=kind,
            edited_action=edited,
            feedback_text=words,
            action_digest=digest(bound_to),
            reviewer=f"reviewer-{number}",
        )
        for number, (kind, edited, words, bound_to) in enumerate(answers, 1)
    ]


APPROVE, REJECT = answer(DecisionKind.APPROVE), answer(DecisionKind.REJECT)
RESPOND = answer(DecisionKind.RESPOND, words="Ask the user first.")
ESCALATE = answer(DecisionKind.ESCALATE, words="Not mine to say.")
EDIT, OTHER_EDIT = answer(DecisionKind.EDIT, CHEAPER), answer(DecisionKind.EDIT, DEARER)

CASES = {
    "no answers": ([], None, "unanswered", None),
    "one approval": ([APPROVE], PENDING, "approved", 1),
    "one rejection": ([REJECT], None, "rejected", 1),
    "one response": ([RESPOND], None, "responded", 1),
    "one edit": ([EDIT], CHEAPER, "edited", 1),
    "two approvals": ([APPROVE, APPROVE], PENDING, "approved", 2),
    "two equal edits": ([EDIT, EDIT], CHEAPER, "edited", 2),
    "two different edits": ([EDIT, OTHER_EDIT], None, "conflicting", 2),
    "an approval and an edit": ([APPROVE, EDIT], None, "conflicting", 2),
    "an edit and an approval": ([EDIT, APPROVE], None, "conflicting", 2),
    "an approval and a rejection": ([APPROVE, REJECT], None, "rejected", 2),
    "an edit and a rejection": ([EDIT, REJECT], None, "rejected", 2),
    "an approval and a response": ([APPROVE, RESPOND], None, "responded", 2),
    "a response and a rejection": ([RESPOND, REJECT], None, "rejected", 1),
    "two responses": ([RESPOND, RESPOND], None, "responded", 1),
    "an approval of another action": (
        [answer(DecisionKind.APPROVE, bound_to="refund[99]")],
        None,
        "made for another action",
        1,
    ),
    "an edit bound to another action": (
        [answer(DecisionKind.EDIT, CHEAPER, bound_to=PENDING)],
        None,
        "made for another action",
        1,
    ),
    "one of two approvals of another action": (
        [APPROVE, answer(DecisionKind.APPROVE, bound_to="refund[99]")],
        None,
        "made for another action",
        2,
    ),
    "an edit that names no action": ([answer(DecisionKind.EDIT)], None, "made for another action", 1),
    "an approval with another action": (
        [answer(DecisionKind.APPROVE, CHEAPER)],
        None,
        "made for another action",
        1,
    ),
    "an escalation alone": ([ESCALATE], None, "unanswered", None),
    "an escalation and an approval": ([ESCALATE, APPROVE], PENDING, "approved", 2),
    "an escalation and a rejection": ([ESCALATE, REJECT], None, "rejected", 2),
}


@pytest.mark.parametrize(("answers", "action", "reason", "decision_id"), CASES.values(), ids=CASES)
def test_what_answers_come_to(answers, action, reason, decision_id):
    found = resolve_decisions(decided(answers), PENDING)
    assert (found.action, found.reason, found.decision_id) == (action, reason, decision_id)
    assert found.edited == (reason == "edited")


def test_the_order_of_answers_does_not_decide_whether_an_action_runs():
    for answers, action, reason, _ in CASES.values():
        turned = resolve_decisions(decided(answers[::-1]), PENDING)
        assert (turned.action, turned.reason) == (action, reason)


def test_the_words_of_every_answer_are_kept_in_order():
    answers = [answer(DecisionKind.REJECT, words="Too dear."), APPROVE, RESPOND]
    assert resolve_decisions(decided(answers), PENDING).feedback == "Too dear.\nAsk the user first."


def test_words_of_an_escalation_are_for_colleagues_not_for_the_agent():
    assert resolve_decisions(decided([ESCALATE, RESPOND]), PENDING).feedback == "Ask the user first."


def test_nothing_was_said_where_nobody_answered():
    assert resolve_decisions([], PENDING) == Resolution(None, ResolutionReason.UNANSWERED)
