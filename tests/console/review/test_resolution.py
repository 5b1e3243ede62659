"""What several answers to an item come to: nothing runs unless all of them let the same action run."""

import pytest
from sqlmodel import select

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.detection import batch
from console.gate import Gate
from console.review import blinding, decisions
from console.review.resolution import (
    Resolution,
    ResolutionReason,
    _describe_halted,
    describe_consequence,
    resolve_decisions,
)
from console.runs import ingest
from console.trajectory.checkpoints import digest
from console.trials import replay
from storage import tables
from storage.tables import Decision, DecisionKind
from tests.logs import purchase, write_log

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


@pytest.fixture
def archive(tmp_path, data_dir):
    ingest.import_file(write_log(tmp_path / "log.jsonl", purchase(0, wrong=True)), "log", "auto", lambda _: None)
    batch.detect("log", ["rules"])


def answered(name, decision, **more):
    """(the presentation of the next item, what the answer to it comes to)"""
    with reading() as session:
        run = runs.get(session, name)
        claim = decisions.claim_next_item(review_queue(), session, run, "Ada", now_ms())
        shown = blinding.build_review_view(session, review_queue(), run, claim, "Ada", unblinded=False).presentation
    row = decisions.submit(review_queue(), run, claim, "Ada", decisions.ReviewDecision(decision, **more), now_ms())
    with reading() as session:
        return shown, describe_consequence(session, run, session.get_one(tables.Decision, row.id))


@pytest.mark.parametrize(("decision", "said"), [("approve", "Marked as correct."), ("reject", "Marked as incorrect.")])
def test_an_archive_is_judged_and_never_says_that_its_action_waits(archive, decision, said):
    shown, came = answered("log", decision)
    assert (shown.heading, shown.stamp, came) == ("The critical action", "from a log", said)
    assert {step.stamp for step in shown.steps} == {"", "from a log"}


@pytest.mark.parametrize(("decision", "said"), [("approve", "counts"), ("reject", "does not count")])
def test_a_replay_says_that_what_was_recorded_counts_or_not(archive, decision, said):
    replay.start_replay("again", "log", "rules")
    shown, came = answered("again", decision)
    assert (shown.heading, shown.stamp) == ("The agent is about to", "pending in this replay")
    assert said in came
    assert "can take" not in came


def test_only_where_an_agent_waits_may_an_action_run(data_dir):
    for number, (decision, said) in enumerate(
        (("approve", "Approved. The agent can take the action."), ("reject", "does not run"))
    ):
        Gate(f"desk{number}", "full-validation", undo_s=0).ask("Refund.", [], "refund(5)")
        shown, came = answered(f"desk{number}", decision)
        assert shown.stamp == "not run yet"
        assert said in came


def test_after_the_action_has_run_the_decision_says_so(data_dir):
    cases = (
        ("approve", {}, "Approved. The action has run."),
        ("edit", {"edited_action": "refund(4)"}, "Edited. Your action ran instead."),
    )
    for kind, more, said in cases:
        gate = Gate(f"ran-{kind}", "full-validation", undo_s=0)
        waiting = gate.ask("Refund.", [], "refund(5)")
        answered(f"ran-{kind}", kind, **more)
        gate.done(gate.begin(waiting.look()), "refunded")
        with reading() as session:
            run, decision = runs.get(session, f"ran-{kind}"), tables.Decision
            row = session.exec(select(decision).order_by(decision.id.desc())).first()
            told = describe_consequence(session, run, row)
        assert told.startswith(said)
        assert "can take" not in told


def test_an_approval_among_several_or_after_the_deadline_promises_nothing(data_dir):
    Gate("two", "full-validation", undo_s=0, reviews_per_item=2).ask("Refund.", [], "refund(5)")
    assert "if every other reviewer" in answered("two", "approve")[1]
    Gate("late", "full-validation", undo_s=0).ask("Refund.", [], "refund(5)")
    with reading() as session:
        run = runs.get(session, "late")
        claim = decisions.claim_next_item(review_queue(), session, run, "Ada", now_ms())
    with writing() as session:
        session.exec(tables.Ask.__table__.update().values(deadline_ms=now_ms() - 1))
    assert claim.item_id
    assert "after the agent's deadline" in answered("late", "approve")[1]


@pytest.mark.parametrize("trials", [1, 2])
def test_without_feedback_no_agent_tries_again_with_feedback(trials):
    for mode, has_feedback in (("nl", True), ("binary", False)):
        run = tables.Run(name="part", kind="live", study_id=1, trials=trials, feedback_mode=mode)
        assert ("feedback" in _describe_halted(run, tables.Item(trial=0))) is has_feedback
    assert decisions.name_decision("respond") == "feedback only"
    assert decisions.name_decision("reject") == "rejected"
